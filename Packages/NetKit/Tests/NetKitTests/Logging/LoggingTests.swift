#if Logging
import EventLoops
import FTPStream
import FoundationEssentials
import HTTPAuth
import HTTPMessage
import InMemoryLogging
import Logging
import NetKit
import StreamKit
import StreamKitTesting
import Testing

/// The log messages of loads and sessions, with the trait `Logging`.
@Suite(.timeLimit(.minutes(5))) struct LoggingTests {
    private let log = InMemoryLogHandler()

    private var logger: Logger {
        var logger = Logger(label: "test") { [log] _ in log }
        logger.logLevel = .trace
        return logger
    }

    /// The messages, without the ports.
    private func lines(_ port: UInt16) -> [String] {
        log.entries.map { "\($0.level) \($0.message)".replacing(":\(port)", with: "") }
    }

    private func serving(
        _ handler: @escaping HTTPServer.Handler, _ body: (UInt16) async throws -> Void
    ) async throws {
        let server = try HTTPServer(port: 0, isLocal: true)
        let port = try #require(server.port)
        let running = Task { try await server.run(handler) }
        defer { server.stop(within: .zero) }
        try await body(port)
        server.stop(within: .zero)
        try await running.value
    }

    @Test("each request and redirect, with the connection, and no query")
    func redirects() async throws {
        try await serving { exchange in
            guard exchange.request.target.description.hasPrefix("/old") else {
                return try await exchange.respond(.ok, body: Array("here".utf8))
            }
            var fields = HTTPFields()
            try fields.set("/new?key=hidden", for: .location)
            try await exchange.respond(302, fields: fields, body: [])
        } _: { port in
            let url = try #require(URL(string: "http://ann:hidden@127.0.0.1:\(port)/old?token=hidden"))
            let stream = try ReadStream(httpURL: url)
            try stream.set(.http(\.followsRedirects), to: true)
            try stream.set(.logger, to: logger)
            try stream.open()
            _ = try await stream.readAll(limit: 100)
            stream.close()
            #expect(
                lines(port) == [
                    "debug connect 127.0.0.1: connected",
                    "debug GET http://127.0.0.1/old?…: HTTP/1.1 302 Found",
                    "debug Redirected",
                    "debug connect 127.0.0.1: connected",
                    "debug GET http://127.0.0.1/new?…: HTTP/1.1 200 OK",
                ])
            #expect(log.entries.dropFirst(2).first?.metadata == ["target": "http://127.0.0.1:\(port)/new"])
            #expect(!"\(log.entries)".contains("hidden"))
        }
    }

    @Test("each round of a login: the server and the scheme, but neither the user nor a secret")
    func logins() async throws {
        try await serving { exchange in
            // "ann:right" in base 64.
            guard exchange.request.fields[.authorization] == "Basic YW5uOnJpZ2h0" else {
                var fields = HTTPFields()
                try fields.set("Basic realm=\"staff\"", for: .wwwAuthenticate)
                return try await exchange.respond(.unauthorized, fields: fields, body: [])
            }
            try await exchange.respond(.ok, body: Array("in".utf8))
        } _: { port in
            var configuration = HTTPSession.Configuration()
            configuration.stores = CredentialSearchList(origins: [], proxies: [])
            configuration.options.pool = HTTPConnectionPool()
            configuration.prompt = { question in
                .init(user: "ann", password: question.failure == nil ? "wrong" : "right")
            }
            configuration.options.connection[.logger] = logger
            let url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
            let stream = try await HTTPSession(configuration).open(HTTPRequest(method: .get, url: url))
            #expect(try await stream.response().status == .ok)
            stream.close()
            #expect(
                lines(port).filter { $0.contains("Login") } == [
                    "debug Login begins", "debug Login refused", "debug Login begins", "debug Login accepted",
                ])
            #expect(lines(port).filter { $0.contains("GET") }.count == 3)
            let login = try #require(log.entries.first { "\($0.message)" == "Login begins" })
            #expect(login.metadata["scheme"] == "Basic")
            #expect(login.metadata["peer"] == "origin http://127.0.0.1:\(port)")
            let all = "\(log.entries)"
            for secret in ["ann", "wrong", "right", "YW5u"] { #expect(!all.contains(secret)) }
        }
    }

    /// The stream that a log handler uses, and its lines.
    private final class HandlerState: Sendable {
        let stream: Locked<ReadStream?>
        let lines = Locked<[String]>([])

        init(_ stream: ReadStream) {
            self.stream = Locked(stream)
        }
    }

    /// A log handler that reads properties of a stream.
    private struct StreamReadingHandler: LogHandler {
        let state: HandlerState
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let stream = state.stream.withLock { $0 }
            let steps = stream?.report.steps.count ?? -1
            _ = (stream?[.httpFinalURL], stream?[.ftpLastReply], stream?.status)
            state.lines.withLock { $0.append("\(event.message) after \(steps > 0)") }
        }
    }

    @Test("a log handler is called without a lock and may use the stream", arguments: ["http", "ftp"])
    func handlers(_ scheme: String) async throws {
        let server = try AnsweringServer(
            greeting: scheme == "ftp" ? "421 Later.\r\n" : "", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let url = try #require(URL(string: "\(scheme)://127.0.0.1:\(server.port)/"))
        let stream = try scheme == "ftp" ? ReadStream(ftpURL: url) : ReadStream(httpURL: url)
        let state = HandlerState(stream)
        try stream.set(.logger, to: Logger(label: "test") { _ in StreamReadingHandler(state: state) })
        try stream.open()
        _ = try? await stream.readAll(limit: 100)
        stream.close()
        state.stream.withLock { $0 = nil }
        let first = state.lines.withLock { $0 }.first
        #expect(first?.hasPrefix("connect 127.0.0.1:\(server.port): connected after true") == true)
    }

    @Test("a kept connection that is dead, and the request that is sent again")
    func retries() async throws {
        // Responds to one request of each connection, and closes the connection at the second.
        let listener = try StreamListener(port: 0, isLocal: true)
        let port = try #require(listener.port)
        let running = Task {
            try await listener.run { client in
                _ = try? await client.input.read(upTo: 4096)
                try? await client.output.writeAll(Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))
                _ = try? await client.input.read(upTo: 4096)
                client.close()
            }
        }
        defer { listener.stop(within: .zero) }
        let pool = HTTPConnectionPool()
        for _ in 0..<2 {
            let stream = try ReadStream(httpURL: try #require(URL(string: "http://127.0.0.1:\(port)/")))
            try stream.set(.http(\.keepsConnection), to: true)
            try stream.set(.http(\.pool), to: pool)
            try stream.set(.logger, to: logger)
            try stream.open()
            _ = try await stream.readAll(limit: 100)
            stream.close()
        }
        listener.stop(within: .zero)
        try await running.value
        let lines = lines(port)
        try #require(lines.count == 6, "\(lines)")
        #expect(lines[0] == "debug connect 127.0.0.1: connected")
        #expect(lines[1] == "debug GET http://127.0.0.1/: HTTP/1.1 204 No Content")
        #expect(lines[2].hasPrefix("info GET http://127.0.0.1/: "), "the server has hung up")
        #expect(lines[3] == "info Sending the request again: the kept connection was closed")
        #expect(lines[4] == lines[0] && lines[5] == lines[1])
    }
}
#endif
