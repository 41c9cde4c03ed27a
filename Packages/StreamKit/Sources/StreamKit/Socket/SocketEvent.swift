/// An event of a ``Socket``.
public enum SocketEvent: Sendable {
    /// A receive or accept will not wait. At the end of a stream this comes once, and a receive then returns no bytes.
    case readable
    /// An accepted connection, which now belongs to the client: releasing it closes it.
    case accepted(Socket)
    /// Received data, up to ``Socket/largestData`` bytes: a datagram with its sender, or part of a stream.
    ///
    /// On a stream, an empty message means the end and comes once.
    case data(SocketMessage)
    /// The connection begun in the background is established.
    case connected
    /// The connection begun in the background failed; the socket can be connected again.
    case connectFailed(StreamError)
    /// There is room to send.
    case writable
    /// The socket failed. A connection has then ended; a datagram socket or a listener continues. Delivered whatever
    /// kinds were requested, unless ``Socket/leavesErrors`` is set.
    case failed(StreamError)
}
