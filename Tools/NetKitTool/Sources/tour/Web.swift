import Foundation
import NetKitFoundation
import Peers

/// HTTP, from both ends.
enum Web {
    /// Runs a server while `body` is its client.
    static func serving(_ body: (UInt16) async throws -> String) async throws -> String {
        var configuration = HTTPServer.Configuration()
        configuration.hosts = .any  // as a proxy
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let serving = Task { try await server.run(answer) }
        defer { serving.cancel() }
        let story = try await body(server.port ?? 0)
        server.stop(within: .zero)
        try await serving.value
        return story
    }

    /// A site with a page, a redirect to it and a page that requires a login as ann. For a page of another host, it is a proxy that
    /// requires a login.
    @Sendable private static func answer(_ exchange: HTTPServerExchange) async throws {
        let ann = "Basic \(Data("ann:open sesame".utf8).base64EncodedString())"
        let fields = exchange.request.fields
        switch exchange.request.target.description {
        case "/": try await exchange.respond(.ok, body: Array("hello".utf8))
        case "/old": try await exchange.respond(301, fields: ["Location": "/"])
        case let target where target.hasPrefix("http:"):
            if fields[.proxyAuthorization] == ann {
                try await exchange.respond(.ok, body: Array("hello from beyond".utf8))
            } else {
                try await exchange.respond(407, fields: ["Proxy-Authenticate": "Basic realm=\"proxy\""])
            }
        default:
            if fields[.authorization] == ann { return try await exchange.respond(.ok, body: Array("hello, ann".utf8)) }
            try await exchange.respond(401, fields: ["WWW-Authenticate": "Basic realm=\"staff\""])
        }
    }

    static func load() async throws -> String {
        try await serving { port in
            let stream = try ReadStream(httpURL: try url(port, "/old"))
            try stream.set(.http(\.followsRedirects), to: true)
            try stream.open()
            let body = String(decoding: try await stream.readAll(limit: 100), as: UTF8.self)
            let requests = stream.report.steps.filter { if case .request = $0.kind { true } else { false } }
            stream.close()
            return "our server's '\(body)' through a redirect: "
                + requests.map(\.outcome.description).joined(separator: ", ")
        }
    }

    static func logIn() async throws -> String {
        try await serving { port in
            let asked = Locked("")
            let body = try await fetch(
                try url(port, "/private"),
                by: session { question in asked.withLock { $0 = question.space.description } })
            return "asked by \(asked.withLock { $0 }), logged in: '\(body)'"
        }
    }

    static func passAProxy() async throws -> String {
        try await serving { port in
            let asked = Locked("")
            var configuration = session { question in asked.withLock { $0 = question.space.description } }
            configuration.proxies = .route(ProxyRoute(HTTPProxy(host: "localhost", port: port)))
            guard let url = URL(string: "http://www.example.org/") else { throw Surprise("no URL") }
            let body = try await fetch(url, by: configuration)
            return "answered the 407 of \(asked.withLock { $0 }): '\(body)'"
        }
    }

    /// The tool with our server; `NETKIT` is its path.
    static func useTheTool() async throws -> String {
        guard let tool = ProcessInfo.processInfo.environment["NETKIT"] else {
            return "not built; Scripts/tour does that"
        }
        return try await serving { port in
            let got = try await Command(Program(tool), ["get", "--json", try url(port, "/").absoluteString]).run()
            let explained = try await Command(
                Program(tool), ["explain-auth", try url(port, "/private").absoluteString]
            ).run()
            guard got.status == 0, explained.status == 0 else { throw Surprise(got.errors + explained.errors) }
            let offer = explained.text.split(separator: "\n").dropFirst().first?.trimmingCharacters(in: .whitespaces)
            return "get --json: \(got.text.prefix(9))…, \(got.text.count) bytes of JSON; explain-auth: \(offer ?? "")"
        }
    }

    private static func url(_ port: UInt16, _ path: String) throws -> URL {
        guard let url = URL(string: "http://localhost:\(port)\(path)") else { throw Surprise("no URL") }
        return url
    }

    private static func session(_ prompted: @escaping @Sendable (AuthenticationPrompt) -> Void)
        -> HTTPSession.Configuration
    {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.prompt = { question in
            prompted(question)
            return .init(user: "ann", password: "open sesame")
        }
        return configuration
    }

    private static func fetch(_ url: URL, by configuration: HTTPSession.Configuration) async throws -> String {
        let stream = try await HTTPSession(configuration).open(HTTPRequest(method: .get, url: url))
        defer { stream.close() }
        return String(decoding: try await stream.readAll(limit: 100), as: UTF8.self)
    }
}
