#if ServiceLifecycle
public import HTTPStream
public import ServiceLifecycle

/// A server as a service of swift-service-lifecycle.
///
/// ```swift
/// let service = HTTPService(try HTTPServer(port: 8080), router)
/// try await ServiceGroup(services: [service], gracefulShutdownSignals: [.sigterm], logger: logger).run()
/// ```
///
/// A graceful shutdown of the group accepts no more connections, and lets current requests end within a time limit.
public struct HTTPService: Service {
    /// The server.
    public let server: HTTPServer

    private let grace: Duration
    private let handler: HTTPServer.Handler

    /// Makes a service of a server and a router.
    ///
    /// - Parameters:
    ///   - server: The server, which is listening.
    ///   - router: The router.
    ///   - grace: The time for which current requests may continue after the beginning of a graceful shutdown; then their handlers
    ///     are cancelled. Default 10 s.
    public init(_ server: HTTPServer, _ router: Router, within grace: Duration = .seconds(10)) {
        self.init(server, within: grace) { exchange in try await router.handle(exchange) }
    }

    /// Makes a service of a server and a handler.
    ///
    /// - Parameters:
    ///   - server: The server, which is listening.
    ///   - grace: As for ``init(_:_:within:)``.
    ///   - handler: Responds to each request.
    public init(_ server: HTTPServer, within grace: Duration = .seconds(10), _ handler: @escaping HTTPServer.Handler) {
        self.server = server
        self.grace = grace
        self.handler = handler
    }

    /// Serves clients until the graceful shutdown of the group.
    ///
    /// - Throws: As `HTTPServer.run(_:)`.
    public func run() async throws {
        try await withGracefulShutdownHandler {
            try await server.run(handler)
        } onGracefulShutdown: {
            server.stop(within: grace)
        }
    }
}
#endif
