public import HTTPMessage

/// A server's side of a connection of HTTP/2 (RFC 9113), without I/O.
///
/// The members are of the same four kinds as those of ``HTTP2ClientMachine``.
///
/// ```swift
/// var machine = HTTP2ServerMachine(now: .zero)
/// try machine.receive(bytes.span.bytes, now: .milliseconds(20))
/// while let event = machine.nextEvent() {
///     guard case .request(let stream, let request) = event else { continue }
///     print(request.head.method, request.head.target)
///     try machine.respond(stream, with: HTTPResponse(status: .noContent), endsHere: true, now: .milliseconds(20))
///     machine.close(stream)
/// }
/// ```
///
/// A stream belongs to the program from ``HTTP2Event/request(_:_:)`` to ``close(_:code:)``. Until then it counts as one of
/// ``HTTP2Limits/maximumConcurrentStreams``, even if the client has reset it: a client cannot start more work than that.
public struct HTTP2ServerMachine: ~Copyable, Sendable {
    var connection: HTTP2Connection

    /// Creates the machine of a new connection. Its output contains SETTINGS.
    ///
    /// - Parameters:
    ///   - limits: The limits of the connection.
    ///   - allowsConnectProtocol: Whether clients may use extended CONNECT (RFC 8441), for WebSocket and others.
    ///   - now: The time since any fixed instant, the same for all calls.
    /// - Precondition: the limits are in the ranges that ``HTTP2Limits`` states.
    public init(limits: HTTP2Limits = HTTP2Limits(), allowsConnectProtocol: Bool = false, now: Duration) {
        connection = HTTP2Connection(.server, limits: limits, allowsConnectProtocol: allowsConnectProtocol, now: now)
    }

    // MARK: What arrives

    /// Acts on bytes from the client, of any number. All of them are consumed.
    ///
    /// Throws the error that ends the connection. Errors of streams are events (``HTTP2Event/reset(_:_:)``).
    public mutating func receive(_ bytes: RawSpan, now: Duration) throws(HTTP2Error) {
        try connection.receive(bytes, now: now)
    }

    /// Acts on the end of the client's bytes. Throws an error if the end cuts a frame or a stream.
    public mutating func receiveEnd(now: Duration) throws(HTTP2Error) {
        try connection.receiveEnd(now: now)
    }

    /// Acts on deadlines that have passed. Call it at ``nextDeadline``, or at any other time. Throws the error that ends the connection.
    public mutating func tick(now: Duration) throws(HTTP2Error) {
        try connection.tick(now: now)
    }

    // MARK: What the program wants

    /// Sends the head of a response: an interim one, of which there can be several, or the final one.
    ///
    /// - Parameters:
    ///   - stream: The stream of the request.
    ///   - response: The head. Its body is not sent.
    ///   - endsHere: Whether the response has neither content nor trailers.
    ///   - now: The time, as for ``receive(_:now:)``.
    /// - Throws: an error of the stream if it has ended, or if HTTP/2 cannot carry the response. Nothing was sent then.
    public mutating func respond(
        _ stream: StreamID, with response: HTTPResponse, endsHere: Bool, now: Duration
    ) throws(HTTP2Error) {
        connection.now = max(connection.now, now)
        try connection.respond(stream, response, endsHere: endsHere)
    }

    /// Sends data on a stream, as far as the windows of the client, the order of the streams and the output allow.
    ///
    /// The rest must be given again when ``nextWritable()`` returns the stream: a response is pulled from the program, never
    /// collected.
    ///
    /// - Parameters:
    ///   - bytes: The data.
    ///   - stream: The stream of the request.
    ///   - endsHere: Whether the message ends behind the data. An empty span can end a message.
    ///   - now: The time, as for ``receive(_:now:)``.
    /// - Throws: an error of the stream if it has ended, or if the data does not match `Content-Length`.
    public mutating func send(
        _ bytes: RawSpan, on stream: StreamID, endsHere: Bool, now: Duration
    ) throws(HTTP2Error) -> HTTP2SendOutcome {
        try connection.send(bytes, on: stream, endsHere: endsHere, now: now)
    }

    /// Sends trailers behind all data, which end the response. Throws an error of the stream as ``send(_:on:endsHere:now:)`` does.
    public mutating func sendTrailers(_ trailers: HTTPFields, on stream: StreamID) throws(HTTP2Error) {
        try connection.sendTrailers(trailers, on: stream)
    }

    /// Moves received data to the front of `target`, and gives the client credit for it.
    ///
    /// Throws an error with the fault ``HTTP2Error/Fault/caller`` if the program has closed the stream.
    public mutating func read(
        _ stream: StreamID, into target: inout MutableRawSpan, now: Duration
    ) throws(HTTP2Error) -> HTTP2ReadOutcome {
        try connection.read(stream, into: &target, now: now)
    }

    /// Changes the priority of the response on a stream, in place of the one that the client has asked for (RFC 9218 §8).
    public mutating func setPriority(_ priority: HTTP2Priority, of stream: StreamID) {
        connection.updatePriority(priority, of: stream)
    }

    /// Ends the program's interest in a stream. Each stream must be closed once, when its handler has returned.
    ///
    /// If its messages are not complete, the client is told with RST_STREAM: by default with ``ErrorCode/noError`` after a complete
    /// response, whose request is not needed (RFC 9113 §8.1), otherwise with ``ErrorCode/cancel``.
    public mutating func close(_ stream: StreamID, code: ErrorCode? = nil) {
        connection.close(stream, code)
    }

    /// Ends the connection gracefully, with two GOAWAY frames (RFC 9113 §6.8).
    ///
    /// The first one tells the client to send no more requests. Requests on their way are still served: the second one, with the last of
    /// them, follows when the client has answered a PING, or ``HTTP2Limits/pingTimeout`` later. ``HTTP2Event/drained`` follows the last stream.
    public mutating func shutDown(now: Duration) {
        connection.now = max(connection.now, now)
        connection.shutDown()
    }

    /// Ends the connection and all streams at once: GOAWAY with this code.
    public mutating func end(_ code: ErrorCode) {
        connection.end(code)
    }

    // MARK: What to do

    /// Returns the next event for the program, or nil if there is none.
    public mutating func nextEvent() -> HTTP2Event? { connection.events.next() }

    /// Returns the stream that should send next, or nil if none can. The program then calls ``send(_:on:endsHere:now:)``.
    ///
    /// Only streams are returned that were given more data than they could send, the most urgent ones first (RFC 9218 §10).
    public mutating func nextWritable() -> StreamID? { connection.nextWritable() }

    /// Calls `body` with the bytes to write to the connection. The driver then calls ``didWrite(_:)``.
    public func withOutput<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try connection.writer.withBytes(body)
    }

    /// Removes bytes from the front of the output that were written.
    ///
    /// - Precondition: `count` is at most ``outputCount``.
    public mutating func didWrite(_ count: Int) { connection.didWrite(count) }

    /// The time at which the driver must call ``tick(now:)``, or nil. It changes with each call of a member.
    public var nextDeadline: Duration? { connection.nextDeadline }

    // MARK: Looking

    /// The number of bytes to write.
    public var outputCount: Int { connection.writer.count }

    /// Whether so much output waits that the driver should write some of it before it reads again. See ``HTTP2Limits/maximumOutput``.
    public var isOutputFull: Bool { connection.isOutputFull }

    /// The number of streams that are not closed by both sides.
    public var openStreams: Int { connection.openCount }

    /// Whether one side has sent GOAWAY.
    public var isDraining: Bool { connection.isDraining || connection.failure != nil }

    /// The client's settings; the initial ones until its first SETTINGS.
    public var peerSettings: HTTP2Settings { connection.peerSettings }

    /// The shortest time that the client has taken to answer; nil before its first answer.
    public var roundTrip: Duration? { connection.liveness.roundTrip }

    /// The error that has ended the connection.
    public var failure: HTTP2Error? { connection.failure }
}
