internal import EventLoops
public import FoundationEssentials
@_spi(Packages) public import HTTPStream

/// A server within the process, for tests of code that uses an `HTTPSession`: without sockets, names and certificates.
///
/// ```swift
/// import Foundation
/// import HTTPStreamTesting
/// import Testing
///
/// let server = TestServer()
/// try server.enqueue(.ok, text: "hello")
/// let session = HTTPSession(server.configuration())
/// let page = try await session.get(URL(string: "https://www.example.org/page")!)
/// #expect(page.text == "hello")
/// #expect(server.requests.map { $0.url.path() } == ["/page"])
/// ```
///
/// Every URL of the session leads to this server, `http` or `https`, whatever its host. Everything else is as usual: the session parses
/// what the server sends, keeps connections, follows redirects, logs in, stores cookies and tries again. A request for which no
/// response was added receives a 500 that says so.
///
/// The server parses requests as `HTTPServer` does. It can also be given that server's handler, so that a service is tested as a
/// whole:
///
/// ```swift
/// let server = TestServer { exchange in try await router.handle(exchange) }
/// ```
public final class TestServer: Sendable {
    /// A request that arrived.
    public struct Request: Sendable {
        /// The URL: that of the connection, with the target of the request.
        public let url: URL
        /// The request, with its body.
        public let message: HTTPRequest
        /// The number of the connection that carried it, from 0.
        public let connection: Int

        /// The method.
        public var method: HTTPMethod { message.method }
        /// The fields.
        public var fields: HTTPFields { message.fields }
    }

    /// The behaviour of the server for one request.
    public struct Answer: Sendable {
        enum Action: Sendable {
            case respond(HTTPResponse)
            case cutOff(HTTPResponse, after: Int)
            case disconnect
            case silence
            case handle(HTTPServer.Handler)
        }

        let action: Action

        /// Sends a response with its body.
        public static func response(_ response: HTTPResponse) -> Answer { Answer(action: .respond(response)) }

        /// Sends a response that announces its whole body, ends it after some bytes, and closes the connection.
        public static func cutOff(_ response: HTTPResponse, after count: Int) -> Answer {
            Answer(action: .cutOff(response, after: count))
        }

        /// Closes the connection without a response.
        public static let disconnection = Answer(action: .disconnect)

        /// Sends nothing until the client closes the connection.
        public static let silence = Answer(action: .silence)

        /// Passes the request to a handler, which reads the body itself.
        public static func handler(_ handler: @escaping HTTPServer.Handler) -> Answer {
            Answer(action: .handle(handler))
        }
    }

    private struct State {
        var answers: [Answer] = []
        var requests: [Request] = []
        var connections = 0
    }

    private let state = Locked(State())
    private let server: HTTPServer.Configuration
    private let fallback: HTTPServer.Handler?

    /// Makes a server with the answers of ``enqueue(_:)-(TestServer.Answer)``.
    ///
    /// - Parameter handler: Responds to the requests for which no answer was added; nil for a 500.
    public init(_ handler: HTTPServer.Handler? = nil) {
        // The client is the subject of the test.
        var server = HTTPServer.Configuration.patient
        server.limits.bodyLength = .max
        self.server = server
        fallback = handler
    }

    /// The requests so far, in the order of their arrival. A request is added once its body has arrived, unless its answer is a
    /// handler.
    public var requests: [Request] { state.withLock { $0.requests } }

    /// The number of connections that were opened.
    public var connectionCount: Int { state.withLock { $0.connections } }

    /// Adds the answer for a further request.
    public func enqueue(_ answer: Answer) { state.withLock { $0.answers.append(answer) } }

    /// Adds a response.
    public func enqueue(_ response: HTTPResponse) { enqueue(.response(response)) }

    /// Adds a response with a body of text.
    ///
    /// - Throws: an error for invalid fields.
    public func enqueue(_ status: HTTPStatus, fields: HTTPFields = HTTPFields(), text: String = "") throws {
        var response = try HTTPResponse(status: status)
        response.fields = fields
        response.body = Array(text.utf8)
        enqueue(response)
    }

    /// Returns the configuration of a session whose loads lead to this server, without proxies.
    ///
    /// - Parameters:
    ///   - configuration: The other options. Its pool and its proxies are replaced.
    ///   - clock: The time of the session; nil for the real one.
    public func configuration(
        _ configuration: HTTPSession.Configuration = .init(), clock: ManualClock? = nil
    ) -> HTTPSession.Configuration {
        var configuration = configuration
        configuration.proxies = .direct
        configuration.time = clock ?? configuration.time
        configuration.options.pool = HTTPConnectionPool { [self] origin, loop in connect(to: origin, loop) }
        return configuration
    }

    /// Opens a connection to this server, and returns the client's end.
    private func connect(to origin: HTTPOrigin, _ loop: EventLoop) -> StreamPair {
        let port = origin.port == (origin.isSecure ? 443 : 80) ? "" : ":\(origin.port)"
        let base = URL(string: "\(origin.scheme)://\(URLAuthority.bracketed(origin.host))\(port)/")
        let (client, pair) = StreamPair.connected(loop: loop)
        let number = state.withLock { state in
            defer { state.connections += 1 }
            return state.connections
        }
        let server = server
        Task(executorPreference: loop) {
            do {
                try pair.open()
                await HTTPServer.serve(pair, server) { [self] exchange in
                    try await respond(exchange, at: base, number, pair)
                }
            } catch {
                // The client has closed the connection.
            }
            pair.close()
        }
        return client
    }

    private func respond(_ exchange: HTTPServerExchange, at base: URL?, _ number: Int, _ pair: StreamPair) async throws
    {
        let answer = state.withLock { state in state.answers.isEmpty ? nil : state.answers.removeFirst() }
        var action = answer?.action
        if action == nil, let fallback { action = .handle(fallback) }
        var message = exchange.request
        if case .handle? = action {} else { message.body = try await exchange.body() }
        let target = message.target
        let url = URL(string: "\(target.path ?? "/")\(target.query.map { "?\($0)" } ?? "")", relativeTo: base)
        guard let url = url?.absoluteURL else { return }
        let request = Request(url: url, message: message, connection: number)
        state.withLock { $0.requests.append(request) }
        switch action {
        case .respond(let response)?: try await exchange.respond(response)
        case .cutOff(var response, let count)?:
            let body = response.body
            response.body = []
            try await exchange.begin(response, length: Int64(body.count))
            try await exchange.write(Array(body.prefix(count)))
            pair.close()
        case .disconnect?: pair.close()
        case .silence?: await exchange.closed()
        case .handle(let handler)?: try await handler(exchange)
        case nil:
            let text = "TestServer: there is no answer for \(message.method) \(request.url.absoluteString)\n"
            try await exchange.respond(.internalServerError, body: Array(text.utf8))
        }
    }
}
