internal import EventLoops

/// Rings a socket's events when its wait point has news. Parked at the wait point, it must not keep the socket.
final class SocketWatcher: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is; the properties are never written after init, and weak reads are atomic.
    private weak let socket: Socket?
    private let half: WaitPoint.Half

    init(_ socket: Socket, _ half: WaitPoint.Half) {
        self.socket = socket
        self.half = half
        super.init()
    }

    override func fire() {
        // A call inside the half takes what came, and arms the events when it leaves.
        if let socket, !socket.point.isInside(half) { socket.pump.ring() }
    }
}
