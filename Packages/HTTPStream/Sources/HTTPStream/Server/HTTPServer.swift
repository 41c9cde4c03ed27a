internal import EventLoops
@_spi(Packages) public import StreamKit

#if Tracing
internal import Tracing
#endif

/// A server of HTTP/1.1 and HTTP/2: it reads requests from the connections that it accepts, and a handler responds to each.
///
/// ```swift
/// let server = try HTTPServer(port: 8080)
/// try await server.run { exchange in
///     try await exchange.respond(.ok, body: Array("hello\n".utf8))
/// }
/// ```
///
/// The server is small and strict: a request whose end two programs could find at different positions is refused with a 400, and
/// its connection is closed (RFC 9112 §11.2); every wait and every length has a limit (``Configuration``). Connections are kept,
/// pipelined requests are answered in order, and a client that waits for 100 (Continue) receives it when the handler reads the
/// body. The requests on a connection of HTTP/2 have a task each, and are answered as their handlers end.
///
/// Handlers run on the threads of the loops, many at once. A handler whose client disconnects is cancelled. Replaces `CFHTTPServer` and the combination of `CFSocket` with
/// `CFHTTPMessageAppendBytes`.
public final class HTTPServer: Sendable {
    /// The configuration of the server, with the value of ``Configuration/hosts`` that is in effect.
    public let configuration: Configuration

    /// The listener that accepts the connections.
    public let listener: StreamListener

    private let stopping = ServerStopping()
    private let date = DateLine()
    private let longLived: LongLivedLimit

    /// Listens at a port, on IPv6 and IPv4. Clients are served once ``run(_:)`` is called.
    ///
    /// - Parameters:
    ///   - port: the port; 0 for a free one, which ``port`` returns.
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

    /// Makes a server of sockets that are listening already.
    ///
    /// - Throws: as `StreamListener`; `EINVAL` for a property of `connections` that the configuration decides, and for settings that
    ///   contradict each other or are out of their range.
    public convenience init(
        sockets: [Socket], configuration: Configuration = Configuration()
    ) throws(StreamError) {
        let listener = try StreamListener(sockets: sockets, configuration: try HTTPServer.listening(configuration))
        self.init(listener, configuration)
    }

    private init(_ listener: StreamListener, _ configuration: Configuration) {
        self.listener = listener
        var configuration = configuration
        configuration.hosts = configuration.hosts ?? (HTTPServer.isLocal(listener) ? .local : .any)
        longLived = LongLivedLimit(
            configuration.maximumLongLivedConnections
                ?? LongLivedLimit.usual(of: listener.configuration.maximumConnections))
        self.configuration = configuration
    }

    /// Whether only this machine can connect to the server.
    private static func isLocal(_ listener: StreamListener) -> Bool {
        let addresses = listener.addresses
        return !addresses.isEmpty
            && addresses.allSatisfy { if case .ip(let address, _) = $0 { address.isLoopback } else { false } }
    }

    private static func listening(
        _ configuration: Configuration
    ) throws(StreamError) -> StreamListener.Configuration {
        var connections = configuration.connections
        for (name, decider) in [
            (StreamProperty<Duration>.readTimeout.name, "headTimeout, idleTimeout and bodyTimeout"),
            (StreamProperty<Duration>.writeTimeout.name, "writeTimeout"),
        ] where connections.properties.value(named: name) != nil {
            throw .serverDecides(name, instead: "HTTPServer.Configuration: \(decider)")
        }
        if let tls = connections.properties[.tls] {
            guard connections.tls == nil || connections.tls == tls else {
                throw .serverDecides("tls", instead: "StreamListener.Configuration.tls")
            }
            connections.tls = tls
        }
        connections.properties[.writeTimeout] = configuration.writeTimeout
        guard Configuration.streamsPerConnection.contains(configuration.maximumStreamsPerConnection) else {
            throw .outOfRange("maximumStreamsPerConnection", Configuration.streamsPerConnection)
        }
        if configuration.acceptsPriorKnowledge, configuration.versions == .http1 || connections.tls != nil {
            throw .serverDecides("acceptsPriorKnowledge", instead: "HTTPServer.Configuration: versions")
        }
        if let tls = connections.tls { connections.tls = try HTTPServer.offering(configuration.versions, tls) }
        return connections
    }

    /// Adds the application protocols of the server to a configuration that has none.
    ///
    /// - Throws: `EINVAL` for a configuration that offers HTTP/2 although the server does not serve it, or does not offer it although the
    ///   server serves nothing else.
    private static func offering(
        _ versions: HTTPVersions, _ tls: TLSConfiguration
    ) throws(StreamError) -> TLSConfiguration {
        var tls = tls
        if tls.applicationProtocols.isEmpty {
            tls.applicationProtocols = versions.applicationProtocols
            if versions != .http2 { tls.applicationProtocols.append("http/1.0") }
        } else if (versions == .http1) == tls.applicationProtocols.contains(HTTPVersions.http2Protocol),
            versions != .automatic
        {
            throw .serverDecides(HTTPVersions.http2Protocol, instead: "HTTPServer.Configuration: versions")
        }
        return tls
    }

    /// Replaces the TLS configuration of the connections that are accepted from now on, for instance with a renewed certificate.
    ///
    /// ```swift
    /// try await server.reload(tls: TLSConfiguration(server: .read(file: "server.pem")))
    /// ```
    ///
    /// Neither the call nor `TLSIdentity.read(file:keyFile:password:within:)` reads files on the caller's thread.
    ///
    /// - Throws: as `StreamListener.reload(tls:)`; `EINVAL` for an application protocol that ``Configuration/versions`` excludes. The
    ///   previous configuration then remains in effect.
    public nonisolated(nonsending) func reload(tls: TLSConfiguration) async throws(StreamError) {
        try await listener.reload(tls: HTTPServer.offering(configuration.versions, tls))
    }

    /// As the asynchronous function, but reads the certificates on the calling thread, without a time limit.
    @available(*, noasync, message: "reads files on the calling thread; use await")
    public func reload(tls: TLSConfiguration) throws(StreamError) {
        try listener.reload(tls: HTTPServer.offering(configuration.versions, tls))
    }

    /// The port; nil once the server has stopped.
    public var port: UInt16? { listener.port }

    /// Serves clients until ``stop(within:)`` is called or the task is cancelled; returns after the last response.
    ///
    /// - Throws: as `StreamListener.run(_:)`.
    public func run(_ handler: @escaping Handler) async throws(StreamError) {
        #if Tracing
        let handler = RequestSpan.around(handler, configuration.tracer)
        #endif
        let context = ServerContext(
            configuration: configuration, stopping: stopping, date: date, longLived: longLived)
        try await listener.serve { client in await HTTPServer.serve(client, context, handler) }
    }

    /// Serves one connection, for tests without sockets.
    package static func serve(_ pair: StreamPair, _ configuration: Configuration, _ handler: @escaping Handler) async {
        let context = ServerContext(
            configuration: configuration, stopping: ServerStopping(), date: DateLine(),
            longLived: LongLivedLimit(configuration.maximumLongLivedConnections ?? .max))
        await serve(ServedConnection(pair), context, handler)
    }

    /// Serves a client with the version of HTTP that it has negotiated, or with which it begins.
    private static func serve(_ client: ServedConnection, _ context: ServerContext, _ handler: @escaping Handler) async
    {
        if client.pair[.tlsInformation]?.applicationProtocol == HTTPVersions.http2Protocol {
            await HTTP2ServerLink(client, context).serve(handler)
        } else {
            await HTTP1ServerConnection(client, context).serve(handler)
        }
    }

    /// Accepts no more connections, closes idle ones, and lets all others end with the current response. A connection is not idle once
    /// the first byte of a request has arrived. Clients of HTTP/2 are told with GOAWAY, and requests that are on their way are still answered.
    ///
    /// - Parameter grace: the time for which handlers may continue; then they are cancelled and their connections closed. Nil for
    ///   no limit.
    public func stop(within grace: Duration? = nil) {
        stopping.begin()
        listener.stop(within: grace)
    }
}
