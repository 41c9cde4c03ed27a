import Foundation

enum ReadmeOfPeers {
    struct Client: Sendable {
        func get(_ url: String, trusting: String) async throws -> String { url }
    }
    static var myClient: Client { Client() }
}
