internal import EventLoops
internal import Synchronization

/// Who a socket's client is, where it is called, and for which kinds; and the watching for them.
///
/// Theory of operation. The kernel is the only state: whether there is news is asked anew, by ``SocketNews``, each time
/// before the client is called and before waiting, so an edge that comes twice or late does no harm. *Arming* parks a
/// watcher at each half of the wait point that has enabled kinds, or rings at once if there is news already. Ringing
/// signals all targets; the first to run delivers, the others find nothing left. While a call is inside a half nothing is told of
/// it; the call arms again when it leaves.
final class SocketEventPump: Sendable {
    typealias Client = @Sendable (Socket, SocketEvent) -> Void

    struct State {
        var kinds: SocketEventKinds = []
        var enabled: SocketEventKinds = []
        var reenabled: SocketEventKinds = [.read, .accept, .data]
        var client: Client?
        var deliveries: [(target: any DeliveryTarget, signal: any DeliverySignal)] = []
        var watchers: (reader: SocketWatcher, writer: SocketWatcher)?
        var isDelivering = false
        var isResting = false
        var isOver = false
        var watching = Watching.works
    }

    /// Whether the loop can watch the socket. A failure, such as `ENOSPC`, stays and is told once to each client: it is no news
    /// at the next attempt, which would keep the target busy for nothing.
    enum Watching {
        case works
        case failed(CInt)
        case failureTold
    }

    private let state = Locked(State())
    private let active = Atomic<Bool>(false)
    /// A stream's end was told; its descriptor stays readable for ever, which is no news.
    private let endTold = Atomic<Bool>(false)
    /// That nothing can be sent any more was told; the descriptor stays writable for ever.
    private let hangUpTold = Atomic<Bool>(false)
    /// The connection failed and that was told.
    private let failureTold = Atomic<Bool>(false)

    /// True while there is a client and a place to call it.
    var isActive: Bool { active.load(ordering: .acquiring) }

    var isEndTold: Bool {
        get { endTold.load(ordering: .acquiring) }
        set { endTold.store(newValue, ordering: .releasing) }
    }

    var isHangUpTold: Bool {
        get { hangUpTold.load(ordering: .acquiring) }
        set { hangUpTold.store(newValue, ordering: .releasing) }
    }

    /// True if the client is told of what comes.
    var tellsArrivals: Bool { state.withLock { !$0.kinds.isDisjoint(with: .arrivals) } }

    var isFailureTold: Bool {
        get { failureTold.load(ordering: .acquiring) }
        set { failureTold.store(newValue, ordering: .releasing) }
    }

    var reenabledKinds: SocketEventKinds {
        get { state.withLock { $0.reenabled } }
        set { state.withLock { $0.reenabled = newValue } }
    }

    func setClient(_ kinds: SocketEventKinds, _ client: Client?) {
        change { state -> Client? in
            guard !state.isOver else { return nil }
            defer { state.client = client }
            state.kinds = client == nil ? [] : kinds
            state.enabled = state.kinds
            state.watching = .works
            return state.client
        }
    }

    func schedule(_ socket: Socket, on target: any DeliveryTarget) {
        change { state in
            guard !state.isOver, !state.deliveries.contains(where: { $0.target.isSame(as: target) }) else { return }
            state.deliveries.append((target, target.makeSignal { socket.pump.deliver(socket, on: target) }))
        }
    }

    func unschedule(from target: any DeliveryTarget) {
        let signal = change { state -> (any DeliverySignal)? in
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

    /// No event from now on.
    func end() {
        let (old, client) = change { state -> ([any DeliverySignal], Client?) in
            state.isOver = true
            state.kinds = []
            state.enabled = []
            defer { state.deliveries = [] }
            return (state.deliveries.map(\.signal), state.client.take())
        }
        for signal in old { signal.cancel() }
        withExtendedLifetime(client) {}  // what it captured goes here, without the lock
    }

    /// Changes the state and what follows from it.
    @discardableResult
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer { active.store(state.client != nil && !state.deliveries.isEmpty, ordering: .releasing) }
            return body(&state)
        }
    }
}

// MARK: - Watching

extension SocketEventPump {
    /// Watches for the enabled kinds, or rings if there is news of them already.
    func arm(_ socket: Socket) {
        for half in [WaitPoint.Half.reader, .writer] { arm(half, socket) }
    }

    private func arm(_ half: WaitPoint.Half, _ socket: Socket) {
        // Each round but the last takes one latched edge; more than a few is a descriptor that epoll cannot watch.
        for _ in 0..<4 {
            let (kinds, watcher) = state.withLock { state -> (SocketEventKinds, SocketWatcher?) in
                guard state.client != nil, !state.deliveries.isEmpty, !state.isDelivering else { return ([], nil) }
                let watchers = state.watchers ?? (SocketWatcher(socket, .reader), SocketWatcher(socket, .writer))
                state.watchers = watchers
                return half == .reader
                    ? (state.isResting ? [] : state.enabled.intersection(.arrivals), watchers.reader)
                    : (state.enabled.subtracting(.arrivals), watchers.writer)
            }
            guard let watcher, !kinds.isEmpty else { return }
            // A call inside the half takes what comes itself, and arms when it leaves.
            if socket.point.isInside(half) { return }
            if socket.hasNews(kinds) { return ring() }
            switch socket.point.watch(half, for: half == .reader ? .readable : .writable, with: watcher) {
            case .ready: continue
            case nil, .closed, .busy, .cancelled, .timedOut: return
            case .failed(let number): return noteWatchFailure(number)
            }
        }
        ring()
    }

    private func noteWatchFailure(_ number: CInt) {
        let isNew = state.withLock { state in
            guard case .works = state.watching else { return false }
            state.watching = .failed(number)
            return true
        }
        if isNew { ring() }
    }

    func ring() {
        let signals = state.withLock { $0.deliveries.map(\.signal) }
        for signal in signals { signal.signal() }
    }
}

// MARK: - Delivering

extension SocketEventPump {
    /// How many accepted connections or pieces of data are told in one turn of the target.
    private static let eventsPerTurn = 16

    /// Calls the client with what there is; runs on `target`, by its signal.
    ///
    /// Invariant: something is taken from the kernel only for a client that is then called with it. So the client is found
    /// before each taking: after ``unschedule(from:)`` on this target nothing is taken any more, and what was taken is not dropped
    /// because another thread has removed the client since.
    private func deliver(_ socket: Socket, on target: any DeliveryTarget) {
        guard begin() else { return }
        if let client = client(for: .connect, on: target), let event = socket.takeConnectNews() {
            tell(event, .connect, socket, client)
        }
        for kind in [SocketEventKinds.read, .accept, .data] {
            var budget = kind == .read ? 1 : SocketEventPump.eventsPerTurn
            while budget > 0, let client = client(for: kind, on: target), let event = socket.takeNews(of: kind) {
                tell(event, kind, socket, client)
                budget -= 1
                if case .failed = event { budget = 0 }
            }
        }
        if let client = client(for: .write, on: target), let event = socket.takeNews(of: .write) {
            tell(event, .write, socket, client)
        }
        if let (client, error) = takeWatchFailure(on: target) { client(socket, .failed(error)) }
        state.withLock { $0.isDelivering = false }
        arm(socket)
    }

    /// The failure to watch that is still to be told, and the client to tell on this target; nil if there is none.
    private func takeWatchFailure(on target: any DeliveryTarget) -> (Client, StreamError)? {
        let failure = state.withLock { state -> (client: Client, number: CInt)? in
            guard case .failed(let number) = state.watching, let client = state.client,
                state.deliveries.contains(where: { $0.target.isSame(as: target) })
            else { return nil }
            state.watching = .failureTold
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

    /// The client that is told of this kind on this target now; nil if there is none.
    private func client(for kind: SocketEventKinds, on target: any DeliveryTarget) -> Client? {
        state.withLock { state in
            let isWanted = state.enabled.contains(kind) && !(state.isResting && kind == .accept)
            return isWanted && state.deliveries.contains { $0.target.isSame(as: target) } ? state.client : nil
        }
    }

    private func tell(_ event: SocketEvent, _ kind: SocketEventKinds, _ socket: Socket, _ client: Client) {
        state.withLock { state in
            if !state.reenabled.contains(kind) { state.enabled.subtract(kind) }
        }
        client(socket, event)
    }

    /// Accepts nothing for a while, since there are no descriptors.
    func rest(_ socket: Socket) {
        state.withLock { $0.isResting = true }
        let end = Moment.now + AcceptedSockets.retryPause
        socket.point.loop.schedule(at: end) { [weak socket] in
            guard let socket else { return }
            socket.pump.state.withLock { $0.isResting = false }
            socket.pump.arm(socket)
        }
    }
}
