internal import EventLoops

/// Rings a socket's events when its wait point has news. Parked at the wait point, it must not keep the socket.
final class SocketWatcher: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is; the one property is never written after init, and weak reads are atomic.
    private weak let socket: Socket?

    init(_ socket: Socket) {
        self.socket = socket
        super.init()
    }

    override func fire() {
        socket?.pump.ring()
    }
}
