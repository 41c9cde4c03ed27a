internal import HostResolver

/// The state of a socket, as far as this object knows it. Another user of a borrowed descriptor may change it.
struct SocketState: Sendable {
    enum Phase: Sendable, Equatable {
        /// Neither connected nor listening; the only phase of an unconnected datagram socket.
        case idle
        /// `connect(2)` is being called. Until it returns, the socket looks writable, and its outcome must not be
        /// queried.
        case starting
        /// Connecting to this address. In the background, an event reports the outcome.
        case connecting(SocketAddress, inBackground: Bool)
        case connected
        case listening
    }

    var phase = Phase.idle
    /// The outcome of a background attempt, until an event reports it.
    var connectOutcome: Result<Void, StreamError>?
    /// The peer of an accepted socket, which is known even after the peer has disconnected.
    var peer: SocketAddress?
    /// See ``Socket/leavesErrors``.
    var leavesErrors = false
}
