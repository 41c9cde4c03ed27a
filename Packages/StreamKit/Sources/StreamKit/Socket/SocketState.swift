internal import HostResolver

/// How far a socket has come, as far as this object knows.
struct SocketState: Sendable {
    enum Phase: Sendable, Equatable {
        /// Neither connected nor listening; the only phase that datagram sockets need.
        case idle
        /// `connect(2)` is being called. Until it has been, a socket looks writable and must not be asked how it went.
        case starting
        /// On the way to this address. In the background, the events tell how it ends.
        case connecting(SocketAddress, inBackground: Bool)
        case connected
        case listening
    }

    var phase = Phase.idle
    /// How a background attempt ended, until the events have told it.
    var connectNews: Result<Void, StreamError>?
    var peer: SocketAddress?
    var leavesErrors = false
}
