public import HTTPMessage

/// One side of a connection of HTTP/2 (RFC 9113), without I/O: an ``HTTP2ClientMachine`` or an ``HTTP2ServerMachine``.
///
/// The members are of four kinds. The driver reports *what arrives*, the program says *what it wants*, both ask *what to do*, and
/// *looking* changes nothing.
///
/// No member waits or reads a clock. Each member of the first two kinds takes `now`, the time since any fixed instant of a clock that does
/// not go back: what arrives and what the program wants begin and end waits. The members of the other kinds do not take it.
///
/// Both sides have the members below; a driver that uses only these serves both. A client also has ``request(_:endsHere:now:)`` and
/// ``room``, a server ``respond(_:with:endsHere:now:)``.
///
/// ```swift
/// var machine = HTTP2ClientMachine(now: .zero)
/// let stream = try machine.request(HTTP2Request(head, scheme: "https"), endsHere: true, now: .zero)
/// machine.withOutput { socket.write($0) }  // the preface, SETTINGS and HEADERS
/// machine.didWrite(machine.outputCount)
/// try machine.receive(bytes.span.bytes, now: .milliseconds(20))
/// while let event = machine.nextEvent() { print(event) }
/// ```
///
/// A stream belongs to the program from ``request(_:endsHere:now:)`` or ``HTTP2Event/request(_:_:)`` to ``close(_:code:now:)``. What arrives
/// on it waits until the program reads it, up to the window of the stream; then the peer must wait.
///
/// After a member has thrown an error whose scope is the connection, the connection has ended. The driver writes the rest of the
/// output, which tells the peer why, and closes the connection; ``nextEvent()`` reports the end of each stream.
public struct HTTP2Machine<Side: HTTP2Side>: ~Copyable, @unchecked Sendable {
    // @unchecked Sendable: `storage` is the only reference to the state, and a machine cannot be copied. The owner of the machine
    // therefore owns the state alone.
    private let storage: HTTP2Storage

    /// The state of the connection.
    var connection: HTTP2Connection {
        _read { yield storage.connection }
        _modify { yield &storage.connection }
    }

    init(_ connection: consuming HTTP2Connection) {
        storage = HTTP2Storage(connection)
    }

    // MARK: What arrives

    /// Acts on bytes from the peer, of any number. All of them are consumed.
    ///
    /// Throws the error that ends the connection; then ``failure`` is set, each stream ends with an event, and the output holds GOAWAY. Errors
    /// of streams are events (``HTTP2Event/reset(_:_:)``).
    public mutating func receive(_ bytes: RawSpan, now: Duration) throws(HTTP2Error) {
        try connection.receive(bytes, now: now) { _, _ in 0 }
    }

    /// Acts on bytes from the peer, and offers their data to the program, which can copy it straight to where it needs it.
    ///
    /// - Parameters:
    ///   - bytes: The bytes, of any number. All of them are consumed.
    ///   - now: The time since a fixed instant, the same for all calls.
    ///   - take: Is called with each piece of data of a stream that has nothing unread. Returns how many bytes at the front of the
    ///     piece the program has taken; they count as read. The rest waits for ``read(_:into:now:)``. The event with the head of the
    ///     message may still be in the queue then. The function must not use the machine.
    /// - Throws: the error that ends the connection. What was taken before remains taken.
    /// - Precondition: `take` returns at most the length of the piece.
    public mutating func receive(
        _ bytes: RawSpan, now: Duration, take: (_ stream: StreamID, _ data: RawSpan) -> Int
    ) throws(HTTP2Error) {
        try connection.receive(bytes, now: now, take: take)
    }

    /// Acts on the end of the peer's bytes. The connection is over afterwards: ``failure`` is set, with the code of the peer's GOAWAY or else
    /// NO_ERROR, and each stream that was open ends with an event.
    ///
    /// Throws ``failure`` if the end cuts a frame, a header block or a stream, or precedes the peer's SETTINGS.
    public mutating func receiveEnd(now: Duration) throws(HTTP2Error) {
        try connection.receiveEnd(now: now)
    }

    /// Acts on deadlines that have passed. Call it at ``nextDeadline``, or at any other time.
    ///
    /// Throws the error that ends the connection, with the state afterwards of ``receive(_:now:)``. The streams that time out end with
    /// events.
    public mutating func tick(now: Duration) throws(HTTP2Error) {
        try connection.tick(now: now)
    }

    // MARK: What the program wants

    /// Sends data on a stream, as far as the windows of the peer, the order of the streams and the output allow.
    ///
    /// The rest must be given again when ``nextWritable()`` returns the stream: a body is pulled from the program, never collected.
    /// Data waits for the peer's first SETTINGS.
    ///
    /// - Parameters:
    ///   - bytes: The data.
    ///   - stream: The stream of the request.
    ///   - endsHere: Whether the message ends behind the data. An empty span can end a message.
    ///   - now: The time, as for ``receive(_:now:)``.
    /// - Throws: an error of the stream if the peer has ended it; otherwise one whose scope is the call, if the message is complete, if the data does
    ///   not match `Content-Length`, or if the response has no content, as one to HEAD. Nothing was sent then, and the stream continues.
    public mutating func send(
        _ bytes: RawSpan, on stream: StreamID, endsHere: Bool, now: Duration
    ) throws(HTTP2Error) -> HTTP2SendOutcome {
        try connection.send(bytes, on: stream, endsHere: endsHere, now: now)
    }

    /// Sends trailers behind all data, which end the message: nothing can be sent on the stream afterwards.
    ///
    /// Throws an error as ``send(_:on:endsHere:now:)`` does, and if the last data was not taken completely. Nothing was sent then.
    public mutating func sendTrailers(_ trailers: HTTPFields, on stream: StreamID, now: Duration) throws(HTTP2Error) {
        connection.advance(to: now)
        try connection.sendTrailers(trailers, on: stream)
    }

    /// Moves received data to the front of `target`, and gives the peer credit for it.
    ///
    /// Throws an error with the fault ``HTTP2Error/Fault/caller`` if the program has closed the stream.
    public mutating func read(
        _ stream: StreamID, into target: inout MutableRawSpan, now: Duration
    ) throws(HTTP2Error) -> HTTP2ReadOutcome {
        try connection.read(stream, into: &target, now: now)
    }

    /// Changes the priority of the response on a stream (RFC 9218 §7.1 and §8). A client tells the server with PRIORITY_UPDATE; on a
    /// server, the priority replaces the one that the client has asked for. Has no effect on a stream that has ended.
    public mutating func setPriority(_ priority: HTTP2Priority, of stream: StreamID, now: Duration) {
        connection.advance(to: now)
        connection.updatePriority(priority, of: stream)
    }

    /// Ends the program's interest in a stream. Each stream must be closed once; on a server, when its handler has returned. Has no effect
    /// on a stream that the program has closed.
    ///
    /// If its messages are not complete, the peer is told with RST_STREAM. The default code is ``ErrorCode/noError`` on a server after a
    /// complete response, whose request is not needed (RFC 9113 §8.1), otherwise ``ErrorCode/cancel``. What the peer has sent
    /// meanwhile is discarded, and given back to it as credit.
    public mutating func close(_ stream: StreamID, code: ErrorCode? = nil, now: Duration) {
        connection.advance(to: now)
        connection.close(stream, code)
    }

    /// Ends the connection gracefully, with GOAWAY (RFC 9113 §6.8). Open streams continue; ``HTTP2Event/drained`` follows the last one.
    ///
    /// A client sends no more requests. A server first tells the client to send no more requests, and still serves those on their way:
    /// a second GOAWAY, with the last of them, follows when the client has answered a PING, or ``HTTP2Limits/pingTimeout`` later.
    public mutating func shutDown(now: Duration) {
        connection.advance(to: now)
        connection.shutDown()
    }

    /// Ends the connection and all streams at once. Afterwards ``failure`` is set, each stream ends with an event, and the output holds GOAWAY
    /// with this code. Has no effect on a connection that has ended.
    public mutating func abort(_ code: ErrorCode, now: Duration) {
        connection.advance(to: now)
        connection.abort(code)
    }

    // MARK: What to do

    /// Returns the next event for the program, or nil if there is none.
    public mutating func nextEvent() -> HTTP2Event? { connection.events.take() }

    /// Returns the stream that should send next, or nil if none can. The program then calls ``send(_:on:endsHere:now:)``.
    ///
    /// Only streams are returned that were given more data than they could send, the most urgent ones first (RFC 9218 §10). A stream is
    /// returned once: send on it, or close it, before the next call.
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

    /// Whether data of a stream has arrived that the program has not read.
    public func hasUnread(_ stream: StreamID) -> Bool { connection.hasUnread(stream) }

    /// The number of streams that are not closed by both sides.
    public var openStreams: Int { connection.openCount }

    /// Whether the connection is coming to its end: one side has sent GOAWAY, a client has no identifier left, or the connection has ended.
    /// A client opens no more streams then. A server still serves requests on their way, and those of a client that has sent GOAWAY.
    public var isDraining: Bool {
        // Not a comparison with nil, which would copy the error.
        if case .some = connection.failure { true } else { connection.isDraining }
    }

    /// The peer's settings; the initial ones until its first SETTINGS.
    public var peerSettings: HTTP2Settings { connection.peerSettings }

    /// The shortest time that the peer has taken to answer; nil before its first answer.
    public var roundTrip: Duration? { connection.liveness.roundTrip }

    /// The error that has ended the connection; with NO_ERROR after an end without one.
    public var failure: HTTP2Error? { connection.failure }
}

/// The side of an ``HTTP2Machine``: ``HTTP2ClientSide`` or ``HTTP2ServerSide``.
public protocol HTTP2Side {}

/// The memory of a machine. The state has more than 2 KiB, which calls would copy if it were in the machine itself.
private final class HTTP2Storage {
    // Unchecked, because the machine is the only user, and calls of its members do not overlap: the machine itself is checked.
    @exclusivity(unchecked) var connection: HTTP2Connection

    init(_ connection: consuming HTTP2Connection) {
        self.connection = connection
    }
}
