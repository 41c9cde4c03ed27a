public import StreamKit

/// An HTTP/1.1 server: requests come out of the connections that it accepts, and a handler answers each.
///
/// ```swift
/// let server = try HTTPServer(port: 8080)
/// try await server.run { exchange in
///     try await exchange.respond(.ok, body: Array("hello\n".utf8))
/// }
/// ```
///
/// Small, and strict: a request whose end two programs could see in different places is refused with a 400 and ends its connection
/// (RFC 9112 §11.2); every wait and every length has a limit (``Configuration``). Connections are kept, requests that are sent ahead
/// are answered in their order, and a client that asks first gets its 100 (Continue) when the handler wants the body.
///
/// The handler runs on the thread of one of the loops, many at once. Replaces what `CFHTTPServer` and the recipe of `CFSocket` with
/// `CFHTTPMessageAppendBytes` do.
public final class HTTPServer: Sendable {
    /// Answers a request. What it throws makes the answer a 500, or cuts it short.
    public typealias Handler = @Sendable (HTTPServerExchange) async throws -> Void

    /// What it was made with.
    public let configuration: Configuration

    /// Who accepts the connections.
    public let listener: StreamListener

    private let connections = ServerConnections()
    private let date = DateLine()

    /// Listens at a port, on IPv6 and IPv4. Clients are served once ``run(_:)`` is called.
    ///
    /// - Parameters:
    ///   - port: the port; 0 takes a free one, which ``port`` tells.
    ///   - isLocal: listen on the loopback addresses only.
    ///   - configuration: TLS, limits and time limits.
    /// - Throws: as `StreamListener`; `EINVAL` for a property of `connections` that the configuration decides.
    public convenience init(
        port: UInt16, isLocal: Bool = false, configuration: Configuration = Configuration()
    ) throws(StreamError) {
        let listener = try StreamListener(
            port: port, isLocal: isLocal, configuration: try HTTPServer.listening(configuration))
        self.init(listener, configuration)
    }

    /// Takes over sockets that listen already.
    ///
    /// - Throws: as `StreamListener`; `EINVAL` for a property of `connections` that the configuration decides.
    public convenience init(
        sockets: [Socket], configuration: Configuration = Configuration()
    ) throws(StreamError) {
        let listener = try StreamListener(sockets: sockets, configuration: try HTTPServer.listening(configuration))
        self.init(listener, configuration)
    }

    private init(_ listener: StreamListener, _ configuration: Configuration) {
        self.listener = listener
        self.configuration = configuration
    }

    private static func listening(
        _ configuration: Configuration
    ) throws(StreamError) -> StreamListener.Configuration {
        var connections = configuration.connections
        for (name, decider) in [
            (StreamProperty<Duration>.readLimit.name, "headLimit, idleLimit and bodyLimit"),
            (StreamProperty<Duration>.writeLimit.name, "writeLimit"),
        ] where connections.properties.value(named: name) != nil {
            throw .serverDecides(name, instead: "HTTPServer.Configuration: \(decider)")
        }
        if let tls = connections.properties[.tls] {
            guard connections.tls == nil || connections.tls == tls else {
                throw .serverDecides("tls", instead: "StreamListener.Configuration.tls")
            }
            connections.tls = tls
        }
        connections.properties[.writeLimit] = configuration.writeLimit
        if connections.tls?.applicationProtocols.isEmpty == true {
            connections.tls?.applicationProtocols = ["http/1.1", "http/1.0"]
        }
        return connections
    }

    /// The port; nil once stopped.
    public var port: UInt16? { listener.port }

    /// Serves clients until ``stop(within:)`` is called or the task is cancelled; returns when the last request is answered.
    ///
    /// - Throws: as `StreamListener.run(_:)`.
    public func run(_ handler: @escaping Handler) async throws(StreamError) {
        try await listener.run { [configuration, connections, date] pair in
            await ServerConnection(pair, configuration, connections, date).serve(handler)
        }
    }

    /// Accepts no more connections, closes those that are idle, and has all others end with the answer under way.
    ///
    /// - Parameter grace: how long handlers may go on; then they are cancelled and their connections closed. Nil for as long as they
    ///   like.
    public func stop(within grace: Duration? = nil) {
        connections.stop()
        listener.stop(within: grace)
    }
}
