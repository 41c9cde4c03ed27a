/// A client's side of a connection of HTTP/2 (RFC 9113).
///
/// ```swift
/// var machine = HTTP2ClientMachine(now: .zero)
/// let stream = try machine.request(HTTP2Request(head, scheme: "https"), endsHere: true, now: .zero)
/// print(stream ?? .connection, machine.room)
/// ```
public typealias HTTP2ClientMachine = HTTP2Machine<HTTP2ClientSide>

/// The side of an ``HTTP2ClientMachine``.
public enum HTTP2ClientSide: HTTP2Side {}

extension HTTP2Machine where Side == HTTP2ClientSide {
    /// Creates the client's machine of a new connection. Its output contains the connection preface.
    ///
    /// - Precondition: the limits are in the ranges that ``HTTP2Limits`` states.
    public init(limits: HTTP2Limits = HTTP2Limits(), now: Duration) {
        self.init(HTTP2Connection(.client, limits: limits, allowsConnectProtocol: false, now: now))
    }

    /// Sends a request on a new stream.
    ///
    /// - Parameters:
    ///   - request: The head. Its body is not sent.
    ///   - endsHere: Whether the request has neither a body nor trailers.
    ///   - now: The time, as for ``receive(_:now:)``.
    /// - Returns: The stream, or nil if the server or the limits allow no further stream now. ``HTTP2Event/room`` follows, unless the
    ///   connection accepts no more requests at all (``isDraining``).
    /// - Throws: an error with the fault ``HTTP2Error/Fault/caller`` and the scope ``HTTP2Error/Scope/call`` if HTTP/2 cannot carry the
    ///   request, or if the server does not accept so large a head (RFC 9113 §10.5.1). Nothing was sent then, and the connection
    ///   continues.
    public mutating func request(
        _ request: HTTP2Request, endsHere: Bool, now: Duration
    ) throws(HTTP2Error) -> StreamID? {
        connection.advance(to: now)
        return try connection.request(request, endsHere: endsHere)
    }

    /// The number of requests that can be sent now.
    public var room: Int { connection.room }
}
