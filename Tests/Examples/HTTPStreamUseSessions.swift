import Foundation
import HTTPStream

enum HTTPStreamUseSessions {
    static var url: URL { URL(fileURLWithPath: "/") }
    static var session: HTTPSession { HTTPSession() }
    static var saved: String? { nil }
    static var token: String { "" }
    struct Question: Encodable { var text: String }
    nonisolated(unsafe) static var configuration = HTTPSession.Configuration()
}
