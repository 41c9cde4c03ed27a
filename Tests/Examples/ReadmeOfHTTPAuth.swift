import HTTPAuth
import HTTPMessage

enum ReadmeOfHTTPAuth {
    static var response: HTTPResponse { preconditionFailure("only compiled") }
    static var request: HTTPRequest {
        get { preconditionFailure("only compiled") }
        set {}
    }
    static func send(_ request: HTTPRequest) async throws -> HTTPResponse { response }
}
