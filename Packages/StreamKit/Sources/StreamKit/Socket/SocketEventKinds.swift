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
