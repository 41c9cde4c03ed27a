public import HTTPMessage

/// A server's side of a connection of HTTP/2 (RFC 9113).
///
/// ```swift
/// var machine = HTTP2ServerMachine(now: .zero)
/// try machine.receive(bytes.span.bytes, now: .milliseconds(20))
/// while let event = machine.nextEvent() {
///     guard case .request(let stream, let request) = event else { continue }
///     print(request.head.method, request.head.target)
///     try machine.respond(stream, with: HTTPResponse(status: .noContent), endsHere: true, now: .milliseconds(20))
///     machine.close(stream, now: .milliseconds(20))
/// }
/// ```
///
/// A stream that the client has reset counts as one of ``HTTP2Limits/maximumConcurrentStreams`` until the program closes it: a client
/// cannot start more work than that.
public typealias HTTP2ServerMachine = HTTP2Machine<HTTP2ServerSide>

/// The side of an ``HTTP2ServerMachine``.
public enum HTTP2ServerSide: HTTP2Side {}

extension HTTP2Machine where Side == HTTP2ServerSide {
    /// Creates the server's machine of a new connection. Its output contains SETTINGS.
    ///
    /// - Parameters:
    ///   - limits: The limits of the connection.
    ///   - allowsConnectProtocol: Whether clients may use extended CONNECT (RFC 8441), for WebSocket and others.
    ///   - now: The time since any fixed instant, the same for all calls.
    /// - Precondition: the limits are in the ranges that ``HTTP2Limits`` states.
    public init(limits: HTTP2Limits = HTTP2Limits(), allowsConnectProtocol: Bool = false, now: Duration) {
        self.init(HTTP2Connection(.server, limits: limits, allowsConnectProtocol: allowsConnectProtocol, now: now))
    }

    /// Sends the head of a response: an interim one, of which there can be several, or the final one.
    ///
    /// A response to HEAD and one with the status 204 or 304 have no content, whatever their `Content-Length` is (RFC 9110 §6.4.1): pass
    /// true for `endsHere`. ``send(_:on:endsHere:now:)`` throws if it is given bytes behind such a head.
    ///
    /// - Parameters:
    ///   - stream: The stream of the request.
    ///   - response: The head. Its body is not sent.
    ///   - endsHere: Whether the response has neither content nor trailers.
    ///   - now: The time, as for ``receive(_:now:)``.
    /// - Throws: an error of the stream if the peer has ended it; otherwise one whose scope is the call, if HTTP/2 cannot carry the response or
    ///   the final one was sent, and with the fault ``HTTP2Error/Fault/peer`` if the client does not accept fields of this size. Nothing was sent then,
    ///   and the stream continues.
    public mutating func respond(
        _ stream: StreamID, with response: HTTPResponse, endsHere: Bool, now: Duration
    ) throws(HTTP2Error) {
        connection.advance(to: now)
        try connection.respond(stream, response, endsHere: endsHere)
    }

    /// Checks that ``respond(_:with:endsHere:now:)`` can send the head of a response, and throws the error that it would.
    public func check(_ response: HTTPResponse, on stream: StreamID, endsHere: Bool) throws(HTTP2Error) {
        try connection.check(response, on: stream, endsHere: endsHere)
    }

    /// Refuses a request that the program does not serve at present, and closes its stream with REFUSED_STREAM: the client may send it again
    /// (RFC 9113 §8.7).
    ///
    /// Counts as one of ``HTTP2Limits/resets``, because a client can cause any number of them. Beyond that limit, the connection has ended
    /// afterwards: ``failure`` is set, and each stream ends with an event. Has no effect on a stream that the program has closed.
    public mutating func refuse(_ stream: StreamID, now: Duration) {
        connection.advance(to: now)
        connection.refuse(stream)
    }
}
