@_spi(Packages) internal import EventLoops
internal import Synchronization

/// The client of a socket, the kinds of events that it receives, and the watching for them.
///
/// Theory of operation. The kernel holds the only state: ``Socket/hasEvent(_:)`` queries it each time before the client
/// is called and before waiting, so an edge that comes twice or late does no harm. *Arming* parks a watcher at each
/// half of the wait point that has enabled kinds, or signals at once if something is ready already. While a call is
/// inside a half, no event of that half is delivered; the call arms again when it leaves.
final class SocketClient: Sendable {
    typealias Handler = @Sendable (Socket, SocketEvent) -> Void

    private struct State {
        var kinds: SocketEventKinds = []
        var enabled: SocketEventKinds = []
        var reenabled: SocketEventKinds = [.read, .accept, .data]
        var handler: Handler?
        /// By half.
        var watchers: [2 of SocketWatcher]?
        var isAcceptingPaused = false
        var hasEnded = false
        var watching = Watching.works
    }

    /// Whether the loop can watch the socket. A failure, such as `ENOSPC`, persists and is reported once to each
    /// client: reporting it at every attempt would keep the target busy for nothing.
    private enum Watching {
        case works
        case failed(CInt)
        case failureReported
    }

    private let state = Locked(State())
    private let pump = EventPump()
    private let handlerFlag = Atomic<Bool>(false)
    /// True once the end of a stream was reported. Its descriptor stays readable, which is no further event.
    private let endReported = Atomic<Bool>(false)
    /// True once a hang-up was reported. The descriptor stays writable.
    private let hangUpReported = Atomic<Bool>(false)
    /// True once the failure of the connection was reported.
    private let failureReported = Atomic<Bool>(false)

    /// True while there are a client and a target.
    var isActive: Bool { pump.isScheduled && handlerFlag.load(ordering: .acquiring) }

    var isEndReported: Bool {
        get { endReported.load(ordering: .acquiring) }
        set { endReported.store(newValue, ordering: .releasing) }
    }

    var isHangUpReported: Bool {
        get { hangUpReported.load(ordering: .acquiring) }
        set { hangUpReported.store(newValue, ordering: .releasing) }
    }

    /// True if the client receives events about arrivals.
    var reportsArrivals: Bool { state.withLock { !$0.kinds.isDisjoint(with: .arrivals) } }

    var isFailureReported: Bool {
        get { failureReported.load(ordering: .acquiring) }
        set { failureReported.store(newValue, ordering: .releasing) }
    }

    var reenabledKinds: SocketEventKinds {
        get { state.withLock { $0.reenabled } }
        set { state.withLock { $0.reenabled = newValue } }
    }

    func set(_ kinds: SocketEventKinds, _ handler: Handler?, for socket: Socket) {
        let replaced = state.withLock { state -> Handler? in
            guard !state.hasEnded else { return nil }
            defer { state.handler = handler }
            state.kinds = handler == nil ? [] : kinds
            state.enabled = state.kinds
            state.watching = .works
            handlerFlag.store(handler != nil, ordering: .releasing)
            return state.handler
        }
        withExtendedLifetime(replaced) {}  // its captures are released here, outside the lock
        withdrawWatchers(socket)
    }

    /// Adds a target. It keeps the socket alive.
    func schedule(_ socket: Socket, on target: any DeliveryTarget) {
        pump.schedule(on: target) { socket.eventClient.deliver(socket, on: target) }
        withdrawWatchers(socket)
    }

    func unschedule(_ socket: Socket, from target: any DeliveryTarget) {
        pump.unschedule(from: target)
        withdrawWatchers(socket)
    }

    /// Arms again, since the watchers may be parked for other targets or kinds.
    private func withdrawWatchers(_ socket: Socket) {
        if let watchers = state.withLock({ $0.watchers }) {
            for half in WaitPoint.Half.allCases { socket.point.unwatch(half, watchers[half.index]) }
            socket.point.endPolling()
        }
        arm(socket)
    }

    func enable(_ kinds: SocketEventKinds) {
        state.withLock { $0.enabled.formUnion(kinds.intersection($0.kinds)) }
    }

    func disable(_ kinds: SocketEventKinds) {
        state.withLock { $0.enabled.subtract(kinds) }
    }

    /// Ends all delivery.
    func end() {
        let handler = state.withLock { state -> Handler? in
            state.hasEnded = true
            state.kinds = []
            state.enabled = []
            handlerFlag.store(false, ordering: .releasing)
            return state.handler.take()
        }
        pump.stop()
        withExtendedLifetime(handler) {}
    }
}

// MARK: - Watching

extension SocketClient {
    /// Watches for the enabled kinds, or signals if one of them is ready.
    func arm(_ socket: Socket) {
        for half in WaitPoint.Half.allCases { arm(half, socket) }
    }

    private func arm(_ half: WaitPoint.Half, _ socket: Socket) {
        // Each round but the last consumes a latched edge. More than a few mean that epoll cannot watch the descriptor.
        for _ in 0..<4 {
            guard pump.needsSignal else { return }
            let (kinds, watcher) = state.withLock { state -> (SocketEventKinds, SocketWatcher?) in
                guard state.handler != nil else { return ([], nil) }
                let watchers = state.watchers ?? [SocketWatcher(socket, .reader), SocketWatcher(socket, .writer)]
                state.watchers = watchers
                let kinds: SocketEventKinds =
                    switch half {
                    case .reader: state.isAcceptingPaused ? [] : state.enabled.intersection(.arrivals)
                    case .writer: state.enabled.subtracting(.arrivals)
                    }
                return (kinds, watchers[half.index])
            }
            guard let watcher, !kinds.isEmpty else { return }
            // A call inside the half handles arrivals itself, and arms when it leaves.
            if socket.point.isInside(half) { return }
            if socket.hasEvent(kinds) { return pump.signal() }
            let poller = pump.poller
            switch socket.point.watch(half, for: half.interest, with: watcher, by: poller) {
            case .ready: continue
            case nil where pump.poller !== poller:  // the targets have changed meanwhile
                socket.point.unwatch(half, watcher)
            case nil, .closed, .busy, .cancelled, .timedOut: return
            case .failed(let number): return noteWatchFailure(number)
            }
        }
        pump.signal()
    }

    private func noteWatchFailure(_ number: CInt) {
        let isNew = state.withLock { state in
            guard case .works = state.watching else { return false }
            state.watching = .failed(number)
            return true
        }
        if isNew { pump.signal() }
    }

    func signalTargets() { pump.signal() }
}

// MARK: - Delivering

extension SocketClient {
    /// Calls the client with everything that is ready; runs on `target`, when signalled.
    ///
    /// Invariant: whatever is taken from the kernel is delivered to a client. So the client is looked up before each
    /// taking: after ``unschedule(from:)`` on this target nothing is taken any more, and nothing taken is dropped
    /// because another thread has removed the client since.
    private func deliver(_ socket: Socket, on target: any DeliveryTarget) {
        deliver(socket, on: target) { socket.takeEvent(of: $0) }
    }

    /// - Parameter take: Takes an event of a kind from the kernel. Tests do something else as well.
    func deliver(
        _ socket: Socket, on target: any DeliveryTarget, taking take: (SocketEventKinds) -> SocketEvent?
    ) {
        // The kinds that are not reported again in this turn: the client may still have to receive or to send.
        var reported: SocketEventKinds = []
        pump.deliver(on: target) {
            let (wanted, handler) = state.withLock { state in
                (state.isAcceptingPaused ? state.enabled.subtracting(.accept) : state.enabled, state.handler)
            }
            guard let handler else { return .nothing }
            for kind in SocketEventKinds.inOrder where wanted.subtracting(reported).contains(kind) {
                guard let event = kind == .connect ? socket.takeConnectEvent() : take(kind) else { continue }
                if kind != .accept, kind != .data { reported.insert(kind) }
                if case .failed = event { reported.insert(kind) }
                state.withLock { if !$0.reenabled.contains(kind) { $0.enabled.subtract(kind) } }
                handler(socket, event)
                return .delivered
            }
            guard let error = takeWatchFailure() else { return .nothing }
            handler(socket, .failed(error))
            return .delivered
        }
        arm(socket)
    }

    /// The failure of watching, which then counts as reported; nil if there is none.
    private func takeWatchFailure() -> StreamError? {
        state.withLock { state in
            guard case .failed(let number) = state.watching else { return nil }
            state.watching = .failureReported
            return StreamError(posix: number)
        }
    }

    /// Pauses accepting, since no descriptors are left.
    func pauseAccepting(_ socket: Socket) {
        state.withLock { $0.isAcceptingPaused = true }
        let end = Moment.now + AcceptedSockets.retryPause
        socket.point.loop.schedule(at: end) { [weak socket] in
            guard let socket else { return }
            socket.eventClient.state.withLock { $0.isAcceptingPaused = false }
            socket.eventClient.arm(socket)
        }
    }
}

extension SocketEventKinds {
    /// Each kind, in the order in which those that are due together are delivered.
    fileprivate static let inOrder: [SocketEventKinds] = [.connect, .read, .accept, .data, .write]
}

/// Signals a socket's targets when an edge comes to its wait point. Parked there, it must not keep the socket alive.
private final class SocketWatcher: Watcher, @unchecked Sendable {
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
        if let socket, !socket.point.isInside(half) { socket.eventClient.signalTargets() }
    }
}
