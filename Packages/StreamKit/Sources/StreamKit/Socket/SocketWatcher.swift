internal import EventLoops

/// Signals a socket's targets when an edge comes to its wait point. Parked there, it must not keep the socket alive.
final class SocketWatcher: Watcher, @unchecked Sendable {
    // Unchecked only because the superclass is: the properties never change after init, and weak reads are atomic.
    private weak let socket: Socket?
    private let half: WaitPoint.Half

    init(_ socket: Socket, _ half: WaitPoint.Half) {
        self.socket = socket
        self.half = half
        super.init()
    }

    override func fire() {
        // A call inside the half handles the edge, and arms the events when it leaves.
        if let socket, !socket.point.isInside(half) { socket.pump.signalTargets() }
    }
}
