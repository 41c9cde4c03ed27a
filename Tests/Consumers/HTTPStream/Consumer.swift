import FoundationEssentials
import HTTPStream

/// Loads a page with a stream, then with a session, by one import; then serves it itself, and logs in to a server
/// that prefers Kerberos.
@main struct Consumer {
    static func main() async throws {
        guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
            fatalError("which URL?")
        }
        let stream = try ReadStream(httpURL: url)
        try stream.open()
        let response = try await stream.response()
        let body = try await stream.readAll(limit: 1000)
        let session = HTTPSession()
        let again = try await session.get(url)
        print("\(response.statusLine): \(body.count) bytes, the same from a session: \(body == again.body)")

        let server = try HTTPServer(port: 0, isLocal: true)
        let running = Task { try await server.run(echo) }
        guard let own = URL(string: "http://127.0.0.1:\(server.port ?? 0)/") else { return }
        var request = try HTTPRequest(method: .post, url: own)
        request.body = body
        print("the same from a server: \(try await session.load(request).body == body)")
        server.stop()
        try await running.value
        try await logIn(to: url.appending(path: "login"))
    }

    /// Logs in with Basic, because there is no Kerberos ticket or no Kerberos, then prints which schemes can be used.
    static func logIn(to url: URL) async throws {
        var configuration = HTTPSession.Configuration()
        configuration.prompt = { _ in AuthenticationPrompt.Answer(user: "joe", password: "secret") }
        print("logged in: \(try await HTTPSession(configuration).get(url).body.count) bytes")
        let stream = try ReadStream(httpURL: url)
        try stream.open()
        guard let authentication = HTTPAuthentication(response: try await stream.response()) else { return }
        print(authentication.explain())
    }

    /// A handler in a package without special settings, which reads and writes in tasks of its own.
    @Sendable static func echo(_ exchange: HTTPServerExchange) async throws {
        async let body = exchange.body()
        try await exchange.respond(.ok, body: body)
    }
}
