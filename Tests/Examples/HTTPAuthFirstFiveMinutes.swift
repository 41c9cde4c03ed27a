import Foundation
import HTTPAuth

enum HTTPAuthFirstFiveMinutes {
    static var response: HTTPResponse { preconditionFailure("only compiled") }
    static var request: HTTPRequest {
        get { preconditionFailure("only compiled") }
        set {}
    }
    static var authentication: HTTPAuthentication { preconditionFailure("only compiled") }
    static func send(_ request: HTTPRequest) async throws -> HTTPResponse { response }
}
