internal import EventLoops
internal import Synchronization

/// The client of a socket, its targets and enabled kinds, and the watching for events.
///
/// Theory of operation. The kernel holds the only state: ``Socket/hasEvent(_:)`` queries it each time before the client
/// is called and before waiting, so an edge that comes twice or late does no harm. *Arming* parks a watcher at each
/// half of the wait point that has enabled kinds, or signals at once if something is ready already. A signal reaches
/// all targets; the first to run delivers, and the others find nothing left. While a call is inside a half, no event of
/// that half is delivered; the call arms again when it leaves.
final class SocketEventPump: Sendable {
    typealias Client = @Sendable (Socket, SocketEvent) -> Void

    private struct State {
        var kinds: SocketEventKinds = []
        var enabled: SocketEventKinds = []
        var reenabled: SocketEventKinds = [.read, .accept, .data]
        var client: Client?
        var deliveries: [(target: any DeliveryTarget, signal: any DeliverySignal)] = []
        var watchers: (reader: SocketWatcher, writer: SocketWatcher)?
        var isDelivering = false
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
    private let active = Atomic<Bool>(false)
    /// True once the end of a stream was reported. Its descriptor stays readable, which is no further event.
    private let endReported = Atomic<Bool>(false)
    /// True once a hang-up was reported. The descriptor stays writable.
    private let hangUpReported = Atomic<Bool>(false)
    /// True once the failure of the connection was reported.
    private let failureReported = Atomic<Bool>(false)

    /// True while there are a client and a target.
    var isActive: Bool { active.load(ordering: .acquiring) }

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

    func setClient(_ kinds: SocketEventKinds, _ client: Client?) {
        update { state -> Client? in
            guard !state.hasEnded else { return nil }
            defer { state.client = client }
            state.kinds = client == nil ? [] : kinds
            state.enabled = state.kinds
            state.watching = .works
            return state.client
        }
    }

    func schedule(_ socket: Socket, on target: any DeliveryTarget) {
        update { state in
            guard !state.hasEnded, !state.deliveries.contains(where: { $0.target.isSame(as: target) }) else { return }
            state.deliveries.append((target, target.makeSignal { socket.pump.deliver(socket, on: target) }))
        }
    }

    func unschedule(from target: any DeliveryTarget) {
        let signal = update { state -> (any DeliverySignal)? in
            state.deliveries.firstIndex { $0.target.isSame(as: target) }.map { state.deliveries.remove(at: $0).signal }
        }
        signal?.cancel()
    }

    func enable(_ kinds: SocketEventKinds) {
        state.withLock { $0.enabled.formUnion(kinds.intersection($0.kinds)) }
    }

    func disable(_ kinds: SocketEventKinds) {
        state.withLock { $0.enabled.subtract(kinds) }
    }

    /// Ends all delivery.
    func end() {
        let (old, client) = update { state -> ([any DeliverySignal], Client?) in
            state.hasEnded = true
            state.kinds = []
            state.enabled = []
            defer { state.deliveries = [] }
            return (state.deliveries.map(\.signal), state.client.take())
        }
        for signal in old { signal.cancel() }
        withExtendedLifetime(client) {}  // its captures are released here, outside the lock
    }

    /// Changes the state and updates ``isActive``.
    @discardableResult
    private func update<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer { active.store(state.client != nil && !state.deliveries.isEmpty, ordering: .releasing) }
            return body(&state)
        }
    }
}

// MARK: - Watching

extension SocketEventPump {
    /// Watches for the enabled kinds, or signals if one of them is ready.
    func arm(_ socket: Socket) {
        for half in [WaitPoint.Half.reader, .writer] { arm(half, socket) }
    }

    private func arm(_ half: WaitPoint.Half, _ socket: Socket) {
        // Each round but the last consumes a latched edge. More than a few mean that epoll cannot watch the descriptor.
        for _ in 0..<4 {
            let (kinds, watcher) = state.withLock { state -> (SocketEventKinds, SocketWatcher?) in
                guard state.client != nil, !state.deliveries.isEmpty, !state.isDelivering else { return ([], nil) }
                let watchers = state.watchers ?? (SocketWatcher(socket, .reader), SocketWatcher(socket, .writer))
                state.watchers = watchers
                return half == .reader
                    ? (state.isAcceptingPaused ? [] : state.enabled.intersection(.arrivals), watchers.reader)
                    : (state.enabled.subtracting(.arrivals), watchers.writer)
            }
            guard let watcher, !kinds.isEmpty else { return }
            // A call inside the half handles arrivals itself, and arms when it leaves.
            if socket.point.isInside(half) { return }
            if socket.hasEvent(kinds) { return signalTargets() }
            switch socket.point.watch(half, for: half == .reader ? .readable : .writable, with: watcher) {
            case .ready: continue
            case nil, .closed, .busy, .cancelled, .timedOut: return
            case .failed(let number): return noteWatchFailure(number)
            }
        }
        signalTargets()
    }

    private func noteWatchFailure(_ number: CInt) {
        let isNew = state.withLock { state in
            guard case .works = state.watching else { return false }
            state.watching = .failed(number)
            return true
        }
        if isNew { signalTargets() }
    }

    func signalTargets() {
        let signals = state.withLock { $0.deliveries.map(\.signal) }
        for signal in signals { signal.signal() }
    }
}

// MARK: - Delivering

extension SocketEventPump {
    /// The most accepted connections or pieces of data delivered in one turn of the target.
    private static let eventsPerTurn = 16

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
        guard begin() else { return }
        if let client = client(for: .connect, on: target), let event = socket.takeConnectEvent() {
            report(event, .connect, socket, client)
        }
        for kind in [SocketEventKinds.read, .accept, .data] {
            var budget = kind == .read ? 1 : SocketEventPump.eventsPerTurn
            while budget > 0, let client = client(for: kind, on: target), let event = take(kind) {
                report(event, kind, socket, client)
                budget -= 1
                if case .failed = event { budget = 0 }
            }
        }
        if let client = client(for: .write, on: target), let event = take(.write) {
            report(event, .write, socket, client)
        }
        if let (client, error) = takeWatchFailure(on: target) { client(socket, .failed(error)) }
        state.withLock { $0.isDelivering = false }
        arm(socket)
    }

    /// The watch failure still to be reported, and the client to report it to on this target; nil if there is none.
    private func takeWatchFailure(on target: any DeliveryTarget) -> (Client, StreamError)? {
        let failure = state.withLock { state -> (client: Client, number: CInt)? in
            guard case .failed(let number) = state.watching, let client = state.client,
                state.deliveries.contains(where: { $0.target.isSame(as: target) })
            else { return nil }
            state.watching = .failureReported
            return (client, number)
        }
        return failure.map { ($0.client, StreamError(posix: $0.number)) }
    }

    private func begin() -> Bool {
        state.withLock { state in
            if state.isDelivering || state.client == nil { return false }
            state.isDelivering = true
            return true
        }
    }

    /// The client to call for this kind on this target now; nil if there is none.
    private func client(for kind: SocketEventKinds, on target: any DeliveryTarget) -> Client? {
        state.withLock { state in
            let isWanted = state.enabled.contains(kind) && !(state.isAcceptingPaused && kind == .accept)
            return isWanted && state.deliveries.contains { $0.target.isSame(as: target) } ? state.client : nil
        }
    }

    private func report(_ event: SocketEvent, _ kind: SocketEventKinds, _ socket: Socket, _ client: Client) {
        state.withLock { state in
            if !state.reenabled.contains(kind) { state.enabled.subtract(kind) }
        }
        client(socket, event)
    }

    /// Pauses accepting, since no descriptors are left.
    func pauseAccepting(_ socket: Socket) {
        state.withLock { $0.isAcceptingPaused = true }
        let end = Moment.now + AcceptedSockets.retryPause
        socket.point.loop.schedule(at: end) { [weak socket] in
            guard let socket else { return }
            socket.pump.state.withLock { $0.isAcceptingPaused = false }
            socket.pump.arm(socket)
        }
    }
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
        if let socket, !socket.point.isInside(half) { socket.pump.signalTargets() }
    }
}
