internal import EventLoops
public import HTTPMessage
public import HostResolver
public import StreamKit

#if Tracing
public import Tracing
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
    /// Responds to a request. If it throws, the response is a 500, or is cut short if it has begun.
    public typealias Handler = @Sendable (HTTPServerExchange) async throws -> Void

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
        try await listener.serve { client in await context.serve(client, handler) }
    }

    /// Serves one connection, for tests without sockets.
    package static func serve(_ pair: StreamPair, _ configuration: Configuration, _ handler: @escaping Handler) async {
        let context = ServerContext(
            configuration: configuration, stopping: ServerStopping(), date: DateLine(),
            longLived: LongLivedLimit(configuration.maximumLongLivedConnections ?? .max))
        await context.serve(ServedConnection(pair), handler)
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

extension HTTPServer {
    /// What a server accepts, and for how long it waits. Every limit has a default.
    public struct Configuration: Sendable {
        /// The connections: TLS, their number, backlog, loops.
        ///
        /// With TLS and without application protocols, the server offers those of ``versions``.
        public var connections = StreamListener.Configuration()

        /// The versions of HTTP that the server serves. Default ``HTTPVersions/automatic``: over TLS, HTTP/2 for the clients that choose it
        /// (ALPN, RFC 9113 §3.2), and HTTP/1.1 otherwise.
        ///
        /// With ``HTTPVersions/http2``, clients without TLS must begin with HTTP/2, and a request of HTTP/1.1 gets a 505. A request is the same
        /// for its handler in all versions; <doc:ServerVersions> lists what differs.
        public var versions = HTTPVersions.automatic

        /// Whether a client without TLS may begin with HTTP/2 because it knows that the server serves it (prior knowledge, RFC 9113 §3.3).
        /// Default false: over plain TCP, the server serves HTTP/1.1. Not needed with ``HTTPVersions/http2``; refused with ``HTTPVersions/http1``
        /// and with TLS, where the client negotiates. The former `Upgrade: h2c` is never accepted.
        public var acceptsPriorKnowledge = false

        /// The maximum number of requests at the same time on a connection of HTTP/2. Default 100; at least 1, at most 16,384. The server refuses
        /// others before a handler sees them, and their client may send them again.
        public var maximumStreamsPerConnection = 100

        static let streamsPerConnection = 1...16_384

        /// Whether the first bytes of a client without TLS may be those of HTTP/2.
        var acceptsUnnegotiatedHTTP2: Bool {
            connections.tls == nil && (acceptsPriorKnowledge || versions == .http2)
        }

        /// The limits of a request: 8 KiB per line, 64 KiB per head, 100 fields, 1 MiB of body. Beyond them, the response is 414,
        /// 431 or 413, and the connection is closed.
        public var limits: HTTPLimits

        /// The hosts for which the server responds (`HTTPRequest.authority`); requests for others get a 421. Default nil:
        /// ``Hosts/local`` for a server that listens on loopback addresses of the network only, and ``Hosts/any`` for others.
        ///
        /// A local server has no other protection from the pages that a browser on the same machine shows: the owner of a page's name
        /// can let it resolve to 127.0.0.1, and the page may then read what the server responds (DNS rebinding). Give a local server
        /// behind a proxy the names by which the proxy is reached, or ``Hosts/any``.
        public var hosts: Hosts?

        /// The time limit of a request's head: for the first request of a connection, from the beginning of the connection (after the TLS
        /// handshake) to the end of the head; for later ones, from their first byte. Default 10 s; then the response is 408. A client
        /// that has sent nothing gets no response.
        public var headTimeout: Duration = .seconds(10)

        /// The time for which a connection may be idle between two requests. Default 60 s; then it is closed without a response.
        ///
        /// While `connections.maximumConnections` is reached, the connection that has waited longest for its client is closed earlier,
        /// for the sake of another client (`StreamListener.Configuration.minimumWait`). That holds for every wait: for a request, for
        /// its body, and until the client takes the response.
        public var idleTimeout: Duration = .seconds(60)

        /// The time limit of the wait for each piece of a request's body. Default 30 s; then the response is 408.
        public var bodyTimeout: Duration = .seconds(30)

        /// The minimum rate at which a client must send a request's body, in bytes per second. All waits count, after the first
        /// ``bodyTimeout`` of them. Default 500; 0 for any rate. Below it, the response is 408. While a client is below it, its wait
        /// goes on: a byte now and then does not keep it from being closed for another client (``idleTimeout``).
        public var minimumBodyRate = 500

        /// The time limit until the client accepts each piece of a response. Default 30 s; then the connection is closed.
        public var writeTimeout: Duration = .seconds(30)

        /// The minimum rate at which a client must receive a response's body, in bytes per second. All waits count, after the
        /// first ``writeTimeout`` of them. Default 500; 0 for any rate. Below it, the connection is closed. Responses of up to 16
        /// KiB that are sent whole are not measured.
        public var minimumResponseRate = 500

        /// The time for which a handler may send nothing to a client that has ended its output. Default 10 s; then the handler's
        /// task is cancelled and the connection closed.
        ///
        /// Such a client is gone, or is still waiting for the response; only sending shows which. A client whose connection was
        /// reset is gone, and its handler is cancelled at once.
        public var halfClosedTimeout: Duration = .seconds(10)

        /// The maximum number of bytes of a request's body that the server reads and drops after the handler, in order to keep
        /// the connection. Default 256 KiB. It waits for them as in ``minimumBodyRate``, with ``lingerTimeout`` in place of
        /// ``bodyTimeout`` if that is shorter.
        public var unreadLength: Int64 = 256 * 1024

        /// The time for which the server reads and drops bytes that a client still sends after the last response on its
        /// connection. Closing at once could destroy the response (RFC 9112 §9.6). Default 2 s.
        public var lingerTimeout: Duration = .seconds(2)

        /// The maximum number of long-lived connections at the same time. Default nil: three quarters of
        /// `connections.maximumConnections`, rounded down, but at least 1.
        ///
        /// A connection is long-lived while it carries another protocol, such as a WebSocket
        /// (``HTTPServerExchange/switchProtocols(to:fields:)``), and once its handler says so
        /// (``HTTPServerExchange/declareLongLived()``), as event streams of HTTPServerKit do. It may be quiet for hours, and is not
        /// closed for the sake of other clients. Without a limit, a crowd of them would shut out all requests. Beyond it, the response
        /// is 503. Over HTTP/2, each stream that carries another protocol counts as a connection.
        public var maximumLongLivedConnections: Int?

        /// Whether connections are kept for further requests. Default true.
        public var keepsConnections = true

        /// Called with each error that a handler throws: the client received a 500, or a response that is visibly incomplete. Not
        /// called for clients that closed their connection.
        public var onError: (@Sendable (any Error) -> Void)?

        /// Called after each response, also after those that the server sends itself, with the facts of an access log or a metric.
        public var onResponse: (@Sendable (Record) -> Void)?

        #if Tracing
        /// The tracer of the requests, each of which is a span; nil (default) for that of the process,
        /// `InstrumentationSystem.tracer`.
        public var tracer: (any Tracer)?
        #endif

        /// The defaults stated at each property.
        public init() {
            var limits = HTTPLimits.default
            limits.lineLength = 8 * 1024
            limits.headLength = 64 * 1024
            limits.fieldCount = 100
            limits.bodyLength = 1 << 20
            self.limits = limits
        }
    }
}

extension HTTPServer {
    /// A request and its response, after the response has been sent or cut off.
    public struct Record: Sendable {
        /// The head of the request; nil if the server has refused it before its head was understood.
        public let request: HTTPRequest?
        /// The status of the response; nil if the connection ended before the response began.
        public let status: HTTPStatus?
        /// The number of bytes of the response's body that were sent, without chunk framing. A piece counts once all of it has been
        /// sent: if a body was cut off, its client may have received more.
        public let bodyLength: Int64
        /// Whether the whole response was sent.
        public let isComplete: Bool
        /// The address of the client, or of the proxy in front of it.
        public let remoteAddress: SocketAddress?
        /// The time from the end of the request's head to the end of the response; nil for a malformed request.
        public let duration: Duration?

        /// Makes a record, for tests of code that receives records.
        public init(
            request: HTTPRequest?, status: HTTPStatus?, bodyLength: Int64, isComplete: Bool = true,
            remoteAddress: SocketAddress? = nil, duration: Duration? = nil
        ) {
            self.request = request
            self.status = status
            self.bodyLength = bodyLength
            self.isComplete = isComplete
            self.remoteAddress = remoteAddress
            self.duration = duration
        }
    }
}

/// Whether a server has been told to stop, and what that leads to.
final class ServerStopping: Sendable {
    private struct State {
        var hasBegun = false
        var observers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }

    private let state = Locked(State())

    func begin() {
        let observers = state.withLock { state in
            state.hasBegun = true
            defer { state.observers = [:] }
            return state.observers
        }
        for observer in observers.values { observer() }
    }

    /// Calls `action` when ``begin()`` is called, at once if it has been, unless ``remove(_:)`` is called before.
    func observe(_ observer: AnyObject, _ action: @escaping @Sendable () -> Void) {
        let hasBegun = state.withLock { state in
            if !state.hasBegun { state.observers[ObjectIdentifier(observer)] = action }
            return state.hasBegun
        }
        if hasBegun { action() }
    }

    func remove(_ observer: AnyObject) {
        _ = state.withLock { $0.observers.removeValue(forKey: ObjectIdentifier(observer)) }
    }

    /// Waits until ``begin()`` is called or the task is cancelled.
    func wait() async {
        let waiter = OneShot<Void>()
        observe(waiter) { waiter.provide(()) }
        try? await waiter.value()
        remove(waiter)
    }
}

/// The long-lived connections of a server.
final class LongLivedLimit: Sendable {
    /// Counts as one of the connections as long as it exists.
    final class Permit: Sendable {
        private let limit: LongLivedLimit

        fileprivate init(_ limit: LongLivedLimit) { self.limit = limit }

        deinit { limit.count.withLock { $0 -= 1 } }
    }

    let maximum: Int
    private let count = Locked(0)

    init(_ maximum: Int) { self.maximum = maximum }

    /// The usual maximum of a server: all but a quarter, rounded up, of its connections, so that requests have room from 2 on.
    static func usual(of connections: Int) -> Int { max(1, connections - 1 - (connections - 1) / 4) }

    /// Permits one more connection; nil at the maximum.
    func permit() -> Permit? {
        let isPermitted = count.withLock { count in
            guard count < maximum else { return false }
            count += 1
            return true
        }
        return isPermitted ? Permit(self) : nil
    }
}
