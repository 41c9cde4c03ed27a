import Foundation
import HTTPServerKit

enum SourcesOfHTTPStream {
    struct User: Codable {}
    struct Users {
        subscript(id: Int) -> User? { nil }
        func find(_ id: Int) async -> User? { nil }
    }
    struct Note: Codable {
        var id: Int
        var title: String
    }
    struct Notes {
        func add(_ note: Note) async {}
    }
    struct Login {
        func newToken() async throws -> String { "" }
    }
    static var users: Users { Users() }
    static var notes: Notes { Notes() }
    static var note: Note { Note(id: id, title: "") }
    static var login: Login { Login() }
    static var id: Int { 0 }
    static var call: RoutedExchange { preconditionFailure("only compiled") }
    static var server: HTTPServer { preconditionFailure("only compiled") }
    static var exchange: HTTPServerExchange { preconditionFailure("only compiled") }
    static var events: EventStream { preconditionFailure("only compiled") }
    static var event: ServerSentEvent { ServerSentEvent("") }
    static var session: HTTPSession { HTTPSession() }
    static var stream: ReadStream { ReadStream(bytes: []) }
    static var response: HTTPResponse { preconditionFailure("only compiled") }
    static var upload: HTTPBody { HTTPBody.stream(length: size) { stream } }
    static var size: Int64 { 0 }
    static var frame: [UInt8] { [] }
    static var changes: AsyncStream<[UInt8]> { AsyncStream { $0.finish() } }
    static var bytes: [UInt8] { [] }
    static var saved: String? { nil }
    static var url: URL { URL(fileURLWithPath: "/") }
    static var urls: [URL] { [url] }
    static var api: URL { url }
    nonisolated(unsafe) static var router = Router()
    nonisolated(unsafe) static var configuration = HTTPSession.Configuration()
    static var request: HTTPRequest {
        get { preconditionFailure("only compiled") }
        set {}
    }
    static var options: HTTPOptions { HTTPOptions() }
    static func question(after answer: [UInt8]) -> [UInt8]? { nil }
    static func readPassword() -> String { "" }
}
