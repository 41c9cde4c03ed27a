@_spi(Packages) internal import EventLoops
internal import HTTP2
internal import HTTPMessage
internal import StreamKit
internal import Synchronization

/// A connection of HTTP/2 that loads share.
///
/// Loads call the link under their own lock, and the link never calls into a load: what has happened on a stream is kept in its
/// ``HTTP2ClientStream``, whose point is signalled.
final class HTTP2ClientLink: HTTP2Link<HTTP2ClientCore>, @unchecked Sendable {
    // Unchecked only as a subclass of Watcher: everything here is constant.

    private static let lastNumber = Atomic(0)

    /// The number of the connection among those of the process, for reports.
    private let number = HTTP2ClientLink.lastNumber.add(1, ordering: .relaxed).newValue
    let key: HTTPConnectionKey
    let security: ConnectionSecurity?
    /// Whether a pool keeps the connection for further requests.
    private let isPooled: Bool
    /// The limits of responses.
    let limits: HTTPLimits
    /// Called once, without the lock, when the link takes no further requests.
    private let onDraining: @Sendable (HTTP2ClientLink) -> Void

    /// - Parameters:
    ///   - pair: the open connection.
    ///   - limits: the limits of responses.
    ///   - idleTimeout: how long the link is kept without streams; nil if it ends with its first one.
    ///   - silenceTimeout: as for ``HTTP2ClientCore``.
    ///   - onDraining: called once, when the link takes no further requests.
    init(
        _ pair: StreamPair, key: HTTPConnectionKey, limits: HTTPLimits, idleTimeout: Duration?,
        silenceTimeout: Duration, onDraining: @escaping @Sendable (HTTP2ClientLink) -> Void
    ) {
        self.key = key
        security = ConnectionSecurity(of: pair)
        isPooled = idleTimeout != nil
        self.limits = limits
        self.onDraining = onDraining
        super.init(
            pair, HTTP2ClientCore(limits: limits, idleTimeout: idleTimeout, silenceTimeout: silenceTimeout, now: .now))
        if security?.information.isAdequateForHTTP2 == false {
            changeCore { $0.abort(.inadequateSecurity, now: .now) }
        }
    }

    override func fire() { scheduleReading() }

    override func perform(_ point: WaitPoint) { point.signal([.readable, .writable]) }

    override func point(signalledBy point: WaitPoint) -> WaitPoint? { point }

    override func didBeginDraining() { onDraining(self) }

    override func didEnd() { pair.close() }

    // MARK: The pool

    /// Whether further requests may share the connection.
    var isShareable: Bool { withCore { $0.isShareable } }

    /// Whether no request uses the connection, which is open.
    var isIdle: Bool { withCore { $0.isIdle } }

    /// Ends the connection: at once without streams, otherwise with the last one.
    func drain() { changeCore { $0.drain(now: .now) } }

    /// As ``drain()``, unless a pool keeps the connection.
    func drainUnlessPooled() { if !isPooled { drain() } }

    // MARK: Requests

    /// Sends a request, at once or when the server allows another stream: the stream's point is signalled then, see ``hasSent(_:)``.
    ///
    /// - Parameter endsHere: whether the request has no body.
    func send(_ request: HTTP2Request, endsHere: Bool, as stream: HTTP2ClientStream) throws(HTTP2LinkFailure) {
        try changeCore { (core) throws(HTTP2LinkFailure) in
            try core.send(request, endsHere: endsHere, as: stream, now: .now)
        }
    }

    /// Whether the server has answered a request.
    var hasAnswered: Bool { withCore { $0.hasAnswered } }

    /// Whether the server accepts requests for other protocols (RFC 8441 §3); nil before its SETTINGS.
    var acceptsConnectProtocol: Bool? { withCore { $0.acceptsConnectProtocol } }

    /// When the server sent something last.
    var lastInput: Moment { withCore { $0.lastInput } }

    /// The number of requests sent so far.
    var sentCount: Int { withCore { $0.sentCount } }

    /// Whether the request has been sent.
    func hasSent(_ stream: HTTP2ClientStream) throws(HTTP2LinkFailure) -> Bool {
        try withCore { (core) throws(HTTP2LinkFailure) in try core.hasSent(stream) }
    }

    /// Sends data of a request's body. Returns the number of bytes taken, or nil if none were; the stream's point is signalled then.
    func send(_ bytes: RawSpan, endsHere: Bool, on stream: HTTP2ClientStream) throws(HTTP2LinkFailure) -> Int? {
        try changeCore { (core) throws(HTTP2LinkFailure) in
            try core.send(bytes, endsHere: endsHere, on: stream, now: .now)
        }
    }

    /// Ends a request whose body has been taken completely.
    func sendTrailers(_ trailers: HTTPFields, on stream: HTTP2ClientStream) throws(HTTP2LinkFailure) {
        try changeCore { (core) throws(HTTP2LinkFailure) in
            try core.sendTrailers(trailers, on: stream, now: .now)
        }
    }

    /// Reads data of a response.
    func read(_ stream: HTTP2ClientStream, into target: inout MutableRawSpan) throws(HTTP2LinkFailure)
        -> HTTP2ReadOutcome
    {
        try read(stream.identifier, at: stream.point, into: &target) { (core, target) throws(HTTP2LinkFailure) in
            try core.read(stream, into: &target, now: .now)
        }
    }

    /// Ends the use of a stream. What the server still sends on it is dropped.
    func close(_ stream: HTTP2ClientStream) {
        changeCore(endingWaitsAt: stream.point) { $0.close(stream, now: .now) }
    }

    /// The error for the end of a stream: that of the connection, if this has ended it.
    func error(of failure: HTTP2StreamFailure) -> StreamError {
        if case .connection = failure.cause, let lost = error, lost != .closed { return lost }
        return .http2(failure)
    }

    /// Reads what is known of a stream.
    func withStream<Result: Sendable>(_ stream: HTTP2ClientStream, _ body: (HTTP2ClientStream) -> Result) -> Result {
        withCore { _ in body(stream) }
    }

    /// Where a request was sent; nil before it was.
    func place(of stream: HTTP2ClientStream) -> StreamPlace? {
        withStream(stream) { [number] stream in
            guard let opening = stream.opening else { return nil }
            return StreamPlace(
                stream: Int(opening.identifier.rawValue), connection: number, others: opening.others,
                start: opening.requested, time: opening.requested.duration(to: opening.start))
        }
    }
}

/// The point where the load of a stream waits. A thread that waits here reads for all streams of the connection, unless the loop or another
/// thread does.
final class HTTP2StreamPoint: WaitPoint, @unchecked Sendable {
    // Unchecked only as a subclass of WaitPoint: all is constant.

    /// Released with the stream, which the connection forgets when its load closes it.
    private let link: HTTP2ClientLink

    /// - Parameter isTunnel: whether the stream carries another protocol, whose reader and writer wait apart.
    init(_ link: HTTP2ClientLink, isTunnel: Bool) {
        self.link = link
        if isTunnel { super.init(loop: link.loop) } else { super.init(loop: link.loop, only: .reader) }
    }

    override func callerWillWait(watchedBy poller: DescriptorPoller?) { link.taskWaits(at: self) }

    @available(*, noasync)
    override func block(
        _ half: Half, for interest: Interest, until deadline: Moment?, minding others: [Readiness]
    ) -> BlockedWake {
        let caller = Readiness(self, half, for: interest)
        if let wake = link.readOnThread(for: caller, until: deadline, minding: others) { return wake }
        defer { link.threadGoesOn(at: self) }
        return super.block(half, for: interest, until: deadline, minding: others)
    }
}

/// A client's use of a stream that carries another protocol.
struct HTTP2ClientTunnelEnd: HTTP2TunnelEnd {
    let link: HTTP2ClientLink
    let stream: HTTP2ClientStream

    var point: WaitPoint { stream.point }
    var pair: StreamPair { link.pair }
    var isFull: Bool { link.withStream(stream) { $0.isFull } }

    func read(into target: inout MutableRawSpan) throws(StreamError) -> HTTP2ReadOutcome {
        do throws(HTTP2LinkFailure) { return try link.read(stream, into: &target) } catch { throw self.error(error) }
    }

    func send(_ bytes: RawSpan, endsHere: Bool) throws(StreamError) -> Int? {
        do throws(HTTP2LinkFailure) {
            return try link.send(bytes, endsHere: endsHere, on: stream)
        } catch {
            throw self.error(error)
        }
    }

    func close() { link.close(stream) }

    func error(_ failure: HTTP2StreamFailure) -> StreamError { link.error(of: failure) }

    private func error(_ failure: HTTP2LinkFailure) -> StreamError {
        switch failure {
        case .unavailable: .closed
        case .connection(let error): error
        case .stream(let failure): error(failure)
        case .protocolError(let error): error.fault == .caller ? .closed : .http2(error)
        }
    }
}
