import Foundation
import HTTPStream

enum HTTPStreamUseSessions {
    static var url: URL { URL(fileURLWithPath: "/") }
    static var session: HTTPSession { HTTPSession() }
    nonisolated(unsafe) static var configuration = HTTPSession.Configuration()
}
