/// The kinds of news a socket can tell its client. Replaces `CFSocketCallBackType`.
///
/// One of ``read``, ``accept`` and ``data`` at most: they are three ways to tell that something came.
public struct SocketEventKinds: OptionSet, Sendable, Hashable {
    /// The bits; not CFSocket's numbers, in which `data` is `read` and `accept` together.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Something can be received or accepted; the client does that. Replaces `kCFSocketReadCallBack`.
    public static let read = SocketEventKinds(rawValue: 1)
    /// Connections, accepted already. Replaces `kCFSocketAcceptCallBack`.
    public static let accept = SocketEventKinds(rawValue: 2)
    /// Datagrams or pieces of a stream, received already. Replaces `kCFSocketDataCallBack`.
    public static let data = SocketEventKinds(rawValue: 4)
    /// How ``Socket/beginConnecting(to:)`` ended. Replaces `kCFSocketConnectCallBack`.
    public static let connect = SocketEventKinds(rawValue: 8)
    /// There is room to send. Replaces `kCFSocketWriteCallBack`.
    public static let write = SocketEventKinds(rawValue: 16)

    static let arrivals: SocketEventKinds = [.read, .accept, .data]
}
