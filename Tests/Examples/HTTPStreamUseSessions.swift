import Foundation
import HTTPStream

enum HTTPStreamUseSessions {
    static var url: URL { URL(fileURLWithPath: "/") }
    static var session: HTTPSession { HTTPSession() }
    static var saved: String? { nil }
    static var token: String { "" }
    static var api: URL { url }
    struct Login { func newToken() async throws -> String { token } }
    static var login: Login { Login() }
    struct Question: Encodable { var text: String }
    nonisolated(unsafe) static var configuration = HTTPSession.Configuration()
}
