package import EventLoops
internal import FoundationEssentials
@_spi(Packages) package import StreamKit

/// A pool of idle connections, which further requests with the same origin and options use.
///
/// ```swift
/// let pool = HTTPConnectionPool(limits: .init(perOrigin: 4, total: 32, idle: .seconds(15)))
/// let stream = ReadStream(request: request, pool: pool)
/// try stream.open()
/// for try await chunk in stream.chunks() { print(chunk.count, "bytes") }
/// pool.drain()
/// ```
///
/// The connection used last is taken first. Before a connection is used it is checked: one that the server has closed, or on
/// which it has sent anything, is dropped. The check is skipped for a request that may be sent twice, if the last response
/// arrived over plain TCP within the last 50 µs.
public final class HTTPConnectionPool: Sendable {
    /// The number of connections that are kept, and for how long.
    ///
    /// HTTP/2 connections, which requests share, are counted apart: one for each origin, and those in use as well. Above ``total``, any idle one
    /// ends.
    public struct Limits: Sendable, Hashable {
        /// Idle connections to one origin, or to one proxy that takes requests for many.
        public var perOrigin: Int
        /// Idle connections in total; the one idle for the longest time is closed first.
        public var total: Int
        /// The time for which a connection is kept idle.
        public var idle: Duration
        /// How long a server of HTTP/2 that leaves a request without an answer may send nothing at all; then the connection, which may be dead,
        /// takes no further requests.
        var silenceTimeout = Duration.seconds(5)

        /// Makes limits; by default 6 per origin, 64 in total, 30 s.
        public init(perOrigin: Int = 6, total: Int = 64, idle: Duration = .seconds(30)) {
            self.perOrigin = perOrigin
            self.total = total
            self.idle = idle
        }
    }

    /// The pool that streams use unless ``HTTPOptions/pool`` is set.
    public static let shared = HTTPConnectionPool()

    /// The limits of the pool.
    public let limits: Limits

    private let idle: IdlePool<HTTPConnection>
    private let sharedLinks = SharedLinks()

    /// Makes a separate pool, which shares nothing with others.
    ///
    /// - Parameters:
    ///   - limits: The number of connections that are kept, and for how long.
    ///   - ofOneUser: Whether all requests of the pool belong to one user. Connections are then reused regardless of the fields
    ///     `Authorization` and `Proxy-Authorization`. NTLM and Negotiate require this when the caller makes their fields, which
    ///     differ from leg to leg. In a pool of several users (the default), a connection on which such a field was sent carries
    ///     only requests with the same field.
    public init(limits: Limits = Limits(), ofOneUser: Bool = false) {
        self.limits = limits
        isOfOneLogin = ofOneUser
        idle = IdlePool(limits)
        connect = nil
    }

    /// Makes the pool of the one connection that belongs to a login.
    ///
    /// - Parameter other: the pool of the session.
    init(ofLogin other: HTTPConnectionPool) {
        limits = Limits(perOrigin: 1, total: 1)
        isOfOneLogin = true
        idle = IdlePool(limits)
        connect = other.connect
    }

    /// Makes a pool for tests, whose connections lead to a server within the process.
    ///
    /// - Parameters:
    ///   - limits: the number of connections that are kept, and for how long.
    ///   - connect: returns an unopened connection to an origin. It is used without TLS.
    package init(
        limits: Limits = Limits(), connect: @escaping @Sendable (HTTPOrigin, EventLoop) -> StreamPair
    ) {
        self.limits = limits
        isOfOneLogin = false
        idle = IdlePool(limits)
        self.connect = connect
    }

    /// Makes the connections; nil for those of the network.
    let connect: (@Sendable (HTTPOrigin, EventLoop) -> StreamPair)?

    /// Whether all requests of the pool belong to one login.
    let isOfOneLogin: Bool

    deinit { sharedLinks.drain() }

    /// The number of connections that are idle now.
    public var idleCount: Int { idle.count + sharedLinks.idleCount }

    /// Closes every idle connection now. A connection of HTTP/2 in use takes no further requests, and closes after the last one.
    public func drain() {
        for connection in idle.removeAll() { connection.close() }
        sharedLinks.drain()
    }

    /// Closes the idle connections on which a proxy accepted this login.
    func drop(of login: HTTPLogin) {
        for connection in idle.removeAll(where: { $0.key.uses(login) }) { connection.close() }
        sharedLinks.drain { $0.uses(login) }
    }

    // MARK: Connections of HTTP/2

    /// The connection that requests with this key share; nil if there is none.
    func shared(_ key: SharedLinks.Key) -> HTTP2ClientLink? { sharedLinks.link(key) }

    /// The connection that requests to `url` share, as for ``takeUsual(for:_:loop:at:trusting:dispose:)``; nil if there is none.
    ///
    /// - Parameter limits: the limits of the responses.
    func sharedUsual(
        for url: URL, _ properties: StreamProperties, _ limits: HTTPLimits, loop: ObjectIdentifier
    ) -> HTTP2ClientLink? {
        var text = url.absoluteString
        return text.withUTF8 { text in
            sharedLinks.link { $0.limits == limits && $0.key.isUsual(for: text, properties, loop: loop) }
        }
    }

    /// Makes an open connection one that requests share, unless there is one already, which is returned.
    ///
    /// - Parameter isKept: whether the connection is kept for further requests; otherwise it ends with its first one.
    func share(_ pair: StreamPair, _ key: SharedLinks.Key, isKept: Bool) -> HTTP2ClientLink {
        guard isKept, limits.total > 0, limits.perOrigin > 0 else {
            return HTTP2ClientLink(
                pair, key: key.connection, limits: key.limits, idleTimeout: nil, silenceTimeout: limits.silenceTimeout
            ) { _ in }
        }
        return sharedLinks.share(pair, key, limits)
    }

    /// As ``SharedLinks/open(_:waits:makePair:makeLink:)``.
    func open(
        _ key: SharedLinks.Key, waits: Bool, makePair: () -> StreamPair,
        makeLink: @escaping @Sendable (StreamPair) -> HTTP2ClientLink?
    ) throws(StreamError) -> SharedLinks.Opening {
        try sharedLinks.open(key, waits: waits, makePair: makePair, makeLink: makeLink)
    }

    /// Notes that an origin demands HTTP/1.1.
    func noteHTTP1(_ key: HTTPConnectionKey) { sharedLinks.noteHTTP1(key) }

    /// Whether an origin has demanded HTTP/1.1.
    func requiresHTTP1(_ key: HTTPConnectionKey) -> Bool { sharedLinks.requiresHTTP1(key) }

    /// Moves all idle connections to another pool.
    func handOver(to other: HTTPConnectionPool) {
        for connection in idle.removeAll() { other.put(connection) }
    }

    /// The time after a read that emptied a connection during which the connection counts as quiet, for a request that may be
    /// sent twice.
    ///
    /// It is no longer than the transit time of bytes from a near server: bytes that the server sends unexpectedly can be that
    /// late in any case, and no check sees them. If the server has ended the connection meanwhile, the request is sent again on a
    /// new one.
    static let trust = Duration.microseconds(50)

    /// Returns an idle connection for `key`, checked unless it is trusted; nil if there is none.
    ///
    /// - Parameters:
    ///   - trust: the time after a read that emptied the connection during which the check is skipped; see ``trust``.
    ///   - dispose: called with each connection that is unusable, to close it now or later.
    func take(
        _ key: HTTPConnectionKey, at now: Moment = .now, trusting trust: Duration = .zero,
        dispose: (HTTPConnection) -> Void
    ) -> HTTPConnection? {
        idle.take(where: { $0.key == key }, at: now, isUsable: { $0.isIdle(now, trusting: trust) }, dispose: dispose)
    }

    /// Returns an idle connection for requests to `url` without a route and a login of their own, checked unless it is trusted; nil if there
    /// is none, or if the URL is not written like the one for which it was opened. Otherwise as ``take(_:at:trusting:dispose:)``.
    ///
    /// - Parameter properties: the properties of the connection. Those of requests that are made with the same options are copies of each
    ///   other; others find a connection by its key only.
    func takeUsual(
        for url: URL, _ properties: StreamProperties, loop: ObjectIdentifier, at now: Moment, trusting trust: Duration,
        dispose: (HTTPConnection) -> Void
    ) -> HTTPConnection? {
        var text = url.absoluteString
        return text.withUTF8 { text in
            idle.take(
                where: { $0.key.isUsual(for: text, properties, loop: loop) && $0.key.permitsHTTP1 }, at: now,
                isUsable: { $0.isIdle(now, trusting: trust) }, dispose: dispose)
        }
    }

    /// Adds a connection that has carried a request to its end.
    func put(_ connection: HTTPConnection) {
        connection.shrink()
        idle.put(connection)
    }
}

extension IdlePool<HTTPConnection> {
    fileprivate convenience init(_ limits: HTTPConnectionPool.Limits) {
        self.init(perKey: limits.perOrigin, total: limits.total, idle: limits.idle)
    }
}
