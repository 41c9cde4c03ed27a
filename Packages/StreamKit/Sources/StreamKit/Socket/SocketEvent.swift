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

/// The kinds of events that a socket can deliver to its client. Replaces `CFSocketCallBackType`.
///
/// A set contains at most one of ``read``, ``accept`` and ``data``, which report the same condition in three ways.
public struct SocketEventKinds: OptionSet, Sendable, Hashable {
    /// The bits. They differ from CFSocket's numbers, where `data` is `read` and `accept` together.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Something can be received or accepted, which the client does. Replaces `kCFSocketReadCallBack`.
    public static let read = SocketEventKinds(rawValue: 1)
    /// Connections, already accepted. Replaces `kCFSocketAcceptCallBack`.
    public static let accept = SocketEventKinds(rawValue: 2)
    /// Datagrams or parts of a stream, already received. Replaces `kCFSocketDataCallBack`.
    public static let data = SocketEventKinds(rawValue: 4)
    /// The outcome of ``Socket/beginConnecting(to:)``. Replaces `kCFSocketConnectCallBack`.
    public static let connect = SocketEventKinds(rawValue: 8)
    /// There is room to send. Replaces `kCFSocketWriteCallBack`.
    public static let write = SocketEventKinds(rawValue: 16)

    static let arrivals: SocketEventKinds = [.read, .accept, .data]
}
