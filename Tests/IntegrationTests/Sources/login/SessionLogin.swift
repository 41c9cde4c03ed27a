import Foundation
import NetKit

/// The same by an `HTTPSession`, which does the rounds, the connections and the binding by itself.
struct SessionLogin {
    private let options: [String: String]
    private let settings: Settings

    init(_ options: [String: String], _ settings: Settings) {
        self.options = options
        self.settings = settings
    }

    func run(_ url: URL) async throws {
        let session = try makeSession()
        let body = options["--body"].flatMap { Int($0) }.map { [UInt8](repeating: 65, count: $0) }
        for _ in 0..<(Int(options["--times"] ?? "1") ?? 1) {
            let request = try HTTPRequest(method: body == nil ? .get : .post, url: url)
            do throws(StreamError) {
                let response = try await session.load(request, body: body.map { .bytes($0) })
                let text = String(decoding: response.body ?? [], as: UTF8.self)
                print("\(response.status.code) \(text.trimmingCharacters(in: .whitespacesAndNewlines))")
            } catch {
                if let cause = error.underlying as? HTTPAuthError { throw cause }
                throw error
            }
        }
    }

    private func makeSession() throws -> HTTPSession {
        var tls = TLSConfiguration()
        if let root = options["--root"] { tls.trust = .only(file: root) }
        let port = options["--proxy"].flatMap { UInt16($0) }
        var configuration = HTTPSession.Configuration()
        configuration.policy = settings.policy
        configuration.prepare = { [tls] (stream) throws(StreamError) in
            try stream.set(.tls, to: tls)
            if let port { try stream.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "localhost", port: port))]) }
        }
        configuration.prompt = { [options] question in
            guard question.failure == nil, let user = options["--user"] else { return nil }
            let domain = options[question.space.role == .proxy ? "--proxy-domain" : "--domain"]
            return .init(user: user, password: options["--password"] ?? "", accountDomain: domain)
        }
        return HTTPSession(configuration)
    }
}
