import Foundation
import HTTPMessage
import HTTPStream

enum SourcesOfHTTPMessage {
    struct User: Codable { var name: String }
    struct Connection {
        func read() throws -> [UInt8] { [] }
        func write(_ bytes: [UInt8]) {}
    }
    static var connection: Connection { Connection() }
    static var session: HTTPSession { HTTPSession() }
    static var client: StreamPair { StreamPair.bound() }
    static var server: StreamPair { client }
    static var ofClient: PendingRequests { PendingRequests() }
    static var ofServer: PendingRequests { PendingRequests() }
    static var response: HTTPResponse { preconditionFailure("only compiled") }
    static var headers: [(String, String)] { [] }
    static var words: [String] { [] }
    static var text: String { "" }
    static var id: String { "" }
    static var type: String { "" }
    static var url: URL { URL(fileURLWithPath: "/") }
    static var bytes: [UInt8] { [] }
    nonisolated(unsafe) static var buffer: [UInt8] = []
    static var request: HTTPRequest {
        get { preconditionFailure("only compiled") }
        set {}
    }
}
