import FoundationEssentials
import HTTPAuth

enum HTTPAuthLogInWithOtherClients {
    struct Reply {
        var status: Int
        var fields: [(String, String)]
        var body: [UInt8]
    }
    static func send(_ url: URL, _ fields: [(String, String)]) async throws -> Reply {
        preconditionFailure("only compiled")
    }
}
