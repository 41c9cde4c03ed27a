public import HTTPMessage
public import StreamKit

#if Tracing
public import Tracing
#endif

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
        /// called for clients that closed their connection, and for errors of theirs, such as a body that is too long.
        public var onError: (@Sendable (any Error) -> Void)?

        /// Called after each response, also after those that the server sends itself, with the facts of an access log or a metric; not for
        /// the 431 of a head of HTTP/2 that exceeds the limits.
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
