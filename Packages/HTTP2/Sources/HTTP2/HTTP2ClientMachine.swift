public import HTTPMessage

/// A client's side of a connection of HTTP/2 (RFC 9113), without I/O.
///
/// The members are of four kinds. The driver reports *what arrives*, the program says *what it wants*, both ask *what to do*, and
/// *looking* changes nothing. No member waits or reads a clock: `now` is the time since any fixed instant of a clock that
/// does not go back.
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
/// A stream belongs to the program from ``request(_:endsHere:now:)`` to ``close(_:code:)``. What arrives on it waits until the program
/// reads it, up to the window of the stream; then the server must wait.
///
/// After a member has thrown an error whose scope is the connection, the connection has ended. The driver writes the rest of the
/// output, which tells the server why, and closes the connection; ``nextEvent()`` reports the end of each stream.
public struct HTTP2ClientMachine: ~Copyable, Sendable {
    var connection: HTTP2Connection

    /// Creates the machine of a new connection. Its output contains the connection preface.
    ///
    /// - Precondition: the limits are in the ranges that ``HTTP2Limits`` states.
    public init(limits: HTTP2Limits = HTTP2Limits(), now: Duration) {
        connection = HTTP2Connection(.client, limits: limits, allowsConnectProtocol: false, now: now)
    }

    // MARK: What arrives

    /// Acts on bytes from the server, of any number. All of them are consumed.
    ///
    /// Throws the error that ends the connection. Errors of streams are events (``HTTP2Event/reset(_:_:)``).
    public mutating func receive(_ bytes: RawSpan, now: Duration) throws(HTTP2Error) {
        try connection.receive(bytes, now: now)
    }

    /// Acts on the end of the server's bytes. Throws an error if the end cuts a frame or a stream.
    public mutating func receiveEnd(now: Duration) throws(HTTP2Error) {
        try connection.receiveEnd(now: now)
    }

    /// Acts on deadlines that have passed. Call it at ``nextDeadline``, or at any other time. Throws the error that ends the connection.
    public mutating func tick(now: Duration) throws(HTTP2Error) {
        try connection.tick(now: now)
    }

    // MARK: What the program wants

    /// Sends a request on a new stream.
    ///
    /// - Parameters:
    ///   - request: The head. Its body is not sent.
    ///   - endsHere: Whether the request has neither a body nor trailers.
    ///   - now: The time, as for ``receive(_:now:)``.
    /// - Returns: The stream, or nil if the server or the limits allow no further stream now. ``HTTP2Event/room`` follows, unless the
    ///   connection accepts no more requests at all (``isDraining``).
    /// - Throws: an error with the fault ``HTTP2Error/Fault/caller`` and the scope ``HTTP2Error/Scope/call`` if HTTP/2 cannot carry the
    ///   request. Nothing was sent then, and the connection continues.
    public mutating func request(
        _ request: HTTP2Request, endsHere: Bool, now: Duration
    ) throws(HTTP2Error) -> StreamID? {
        connection.now = max(connection.now, now)
        return try connection.request(request, endsHere: endsHere)
    }

    /// Sends data on a stream, as far as the windows of the server, the order of the streams and the output allow.
    ///
    /// The rest must be given again when ``nextWritable()`` returns the stream. Data waits for the server's first SETTINGS.
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

    /// Sends trailers behind all data, which end the request. Throws an error of the stream as ``send(_:on:endsHere:now:)`` does.
    public mutating func sendTrailers(_ trailers: HTTPFields, on stream: StreamID) throws(HTTP2Error) {
        try connection.sendTrailers(trailers, on: stream)
    }

    /// Moves received data to the front of `target`, and gives the server credit for it.
    ///
    /// Throws an error with the fault ``HTTP2Error/Fault/caller`` if the program has closed the stream.
    public mutating func read(
        _ stream: StreamID, into target: inout MutableRawSpan, now: Duration
    ) throws(HTTP2Error) -> HTTP2ReadOutcome {
        try connection.read(stream, into: &target, now: now)
    }

    /// Changes the priority of the response on a stream with PRIORITY_UPDATE (RFC 9218 §7.1).
    public mutating func setPriority(_ priority: HTTP2Priority, of stream: StreamID) {
        connection.updatePriority(priority, of: stream)
    }

    /// Ends the program's interest in a stream. Each stream must be closed once.
    ///
    /// If its messages are not complete, the server is told with RST_STREAM, by default with ``ErrorCode/cancel``. What the server
    /// has sent meanwhile is discarded, and given back to it as credit.
    public mutating func close(_ stream: StreamID, code: ErrorCode? = nil) {
        connection.close(stream, code)
    }

    /// Sends no more requests: GOAWAY. Open streams continue; ``HTTP2Event/drained`` follows the last one.
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

    /// The number of requests that can be sent now.
    public var room: Int { connection.room }

    /// The number of streams that are not closed by both sides.
    public var openStreams: Int { connection.openCount }

    /// Whether the connection accepts no more requests, as one side has sent GOAWAY or all identifiers were used.
    public var isDraining: Bool { connection.isDraining || connection.failure != nil }

    /// The server's settings; the initial ones until its first SETTINGS.
    public var peerSettings: HTTP2Settings { connection.peerSettings }

    /// The shortest time that the server has taken to answer; nil before its first answer.
    public var roundTrip: Duration? { connection.liveness.roundTrip }

    /// The error that has ended the connection.
    public var failure: HTTP2Error? { connection.failure }
}
