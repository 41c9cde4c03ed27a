/// One piece of news from a ``Socket``.
public enum SocketEvent: Sendable {
    /// One receive or accept will not wait. At the end of a stream this comes once, and a receive then gives nothing.
    case readable
    /// A connection, which is the client's now: dropping it closes it.
    case accepted(Socket)
    /// What came, up to ``Socket/largestData`` bytes: a datagram with its sender, or a piece of a stream.
    ///
    /// Of a stream, an empty message is the end and comes once.
    case data(SocketMessage)
    /// The connection that was begun in the background stands.
    case connected
    /// It failed; the socket can be connected anew.
    case connectFailed(StreamError)
    /// There is room to send.
    case writable
    /// The socket failed. A connection is over then; a datagram socket and a listener go on. Told whatever kinds were
    /// asked for, unless ``Socket/leavesErrors``.
    case failed(StreamError)
}
