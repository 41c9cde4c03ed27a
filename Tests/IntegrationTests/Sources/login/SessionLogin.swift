import Foundation
import NetKit

/// The same with an `HTTPSession`, which handles the steps, the connections and the channel binding itself.
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
        for number in 0..<(Int(options["--times"] ?? "1") ?? 1) {
            if number > 0, let script = options["--between"] { try shell(script, "\(number)") }
            let other = number % 2 == 1 ? options["--also"].flatMap { URL(string: $0) } : nil
            let request = try HTTPRequest(method: body == nil ? .get : .post, url: other ?? url)
            do throws(StreamError) {
                let response = try await session.load(request, body: body.map { .bytes($0) })
                let text = String(decoding: response.body, as: UTF8.self)
                print("\(response.status.code) \(text.trimmingCharacters(in: .whitespacesAndNewlines))")
            } catch {
                guard let cause = error.underlying as? HTTPAuthError else { throw error }
                guard options["--between"] != nil else { throw cause }
                print("error \(cause.code) \(cause)")
            }
        }
    }

    private func shell(_ script: String, _ argument: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script, "sh", argument]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
    }

    private func makeSession() throws -> HTTPSession {
        var tls = TLSConfiguration()
        if let root = options["--root"] { tls.trust = .only(file: root) }
        var hops: [any StreamProxy] = []
        if let port = options["--socks"].flatMap({ UInt16($0) }) {
            hops.append(SOCKSProxy(host: "127.0.0.1", port: port))
        }
        if let port = options["--proxy"].flatMap({ UInt16($0) }) {
            hops.append(HTTPProxy(host: "localhost", port: port, tls: options["--proxy-tls"] == nil ? nil : tls))
        }
        var configuration = HTTPSession.Configuration()
        configuration.policy = settings.policy
        configuration.options.tls = tls
        configuration.proxies = hops.isEmpty ? .direct : .route(ProxyRoute(hops: hops))
        configuration.prompt = { [options] question in
            guard question.failure == nil, let user = options["--user"] else { return nil }
            let domain = options[question.space.role == .proxy ? "--proxy-domain" : "--domain"]
            return .init(user: user, password: options["--password"] ?? "", accountDomain: domain)
        }
        return HTTPSession(configuration)
    }
}
