internal import DNSServiceC
internal import DNSServiceC.Runtime
internal import EventLoops
internal import Glibc

/// Calls a program's callback, with the flag of further replies.
typealias Reply = @Sendable (_ moreComing: DNSServiceFlags) -> Void

/// The replies of one operation.
protocol ReplySource: Sendable {
    /// The next reply, if there is one. Called with the lock of the queue held.
    func next() -> Reply?
    /// Ends the operation.
    func stop()
}

/// The replies that wait on one connection, for all operations that share it.
///
/// Theory of operation. Of each operation, at most one reply is taken out of its feed, so that the feed bounds what waits. An operation
/// with such a reply is in the queue once. The event descriptor is changed with the lock held, and is therefore readable exactly while the
/// queue is not empty. Callbacks run without the lock. The pump makes them, one at a time: on a dispatch queue or, without one, in the
/// calls of ``process()``. A dispatch queue that finds another thread at work leaves the replies to it; ``process()`` waits for the end of the
/// callback, except within it. The descriptor stays readable meanwhile, so that a callback can wait for further replies in a loop of its own.
/// The descriptor is closed with the queue, which a thread that waits for it retains.
final class ReplyQueue: Sendable {
    /// The most replies of one call: a program that looks at several descriptors is not kept by one of them.
    static let maximumReplies = 64

    private struct State {
        var waiting: [(operation: OperationNumber, reply: Reply)] = []
        /// The operations that are not ended.
        var sources: [OperationNumber: any ReplySource] = [:]
        /// The operations in `waiting`.
        var withReply: Set<OperationNumber> = []
        var lastNumber: OperationNumber = 0
        /// The thread that holds the turn.
        var thread: pthread_t?
        var isOver = false
    }

    typealias OperationNumber = UInt

    /// Readable exactly while a reply waits.
    let descriptor: CInt
    private let state = Locked(State())
    private let pump = EventPump(isReentrant: true)
    private let callers = CallersTarget()
    /// Held during a callback, and not again for those within it. Only ``process()`` waits for it.
    private let turn = Lock()

    private struct Place {
        /// The dispatch queue; nil for the callers of ``process()``.
        var queue: (any DeliveryTarget)?
    }
    /// Held while the place changes, so that the pump has its target.
    private let place = Locked(Place())

    init() throws(ServiceFailure) {
        descriptor = dnss_event_create()
        guard descriptor >= 0 else { throw ServiceFailure(kDNSServiceErr_NoMemory) }
        schedule(on: callers)
    }

    deinit { Glibc.close(descriptor) }

    /// Adds an operation. Its replies are taken by ``refill(_:)``.
    func add(_ source: any ReplySource) -> OperationNumber {
        state.withLock { state in
            state.lastNumber += 1
            state.sources[state.lastNumber] = source
            return state.lastNumber
        }
    }

    /// Takes the next reply of an operation, unless one waits already.
    func refill(_ operation: OperationNumber) {
        let hasReply = state.withLock { state in
            take(operation, &state)
            return !state.waiting.isEmpty
        }
        if hasReply { pump.signal() }
    }

    /// Ends an operation. A reply that waits is dropped.
    func remove(_ operation: OperationNumber) {
        let source = state.withLock { state -> (any ReplySource)? in
            if state.withReply.remove(operation) != nil {
                state.waiting.removeAll { $0.operation == operation }
                if state.waiting.isEmpty { clear() }
            }
            return state.sources.removeValue(forKey: operation)
        }
        // Without the lock, because ending an operation notifies this queue.
        source?.stop()
    }

    /// Ends all operations, and wakes a thread that waits for replies.
    func close() {
        let sources = state.withLock { state in
            let sources = state.sources
            (state.sources, state.waiting, state.withReply, state.isOver) = ([:], [], [], true)
            signal()
            return sources
        }
        pump.stop()
        for source in sources.values { source.stop() }
    }

    /// Makes the replies that wait. Waits while there is none, and while another thread makes one.
    func process() throws(ServiceFailure) {
        var hasMade = false
        while !hasMade, !state.withLock({ $0.isOver }) {
            guard place.withLock({ $0.queue == nil }) else { throw ServiceFailure(kDNSServiceErr_BadState) }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = SystemCall.retrying { poll(&entry, 1, -1) }
            guard ready > 0 else { throw ServiceFailure(kDNSServiceErr_Unknown) }
            if !isWithinReply { turn.withLock {} }
            for _ in 0..<Self.maximumReplies / EventPump.eventsPerTurn where makeReplies(on: callers) { hasMade = true }
        }
    }

    /// Sets the dispatch queue that makes the replies; nil for none.
    func setQueue(_ queue: (any DeliveryTarget)?) {
        let former = place.withLock { place in
            let former = place.queue
            pump.unschedule(from: former ?? callers)
            place.queue = queue
            schedule(on: queue ?? callers)
            return former
        }
        if state.withLock({ !$0.waiting.isEmpty }) { pump.signal() }
        withExtendedLifetime(former) {}  // released without the lock
    }

    private func schedule(on target: any DeliveryTarget) {
        pump.schedule(on: target) { [weak self] in _ = self?.makeReplies(on: target) }
    }

    /// Makes replies, unless another thread makes them, or the target is a former one. False if it has made none.
    private func makeReplies(on target: any DeliveryTarget) -> Bool {
        var hasMade = false
        pump.deliver(on: target) {
            let next = state.withLock { state -> (Reply, DNSServiceFlags)? in
                guard !state.isOver, !state.waiting.isEmpty else { return nil }
                let (operation, reply) = state.waiting.removeFirst()
                state.withReply.remove(operation)
                if state.waiting.isEmpty { clear() }
                take(operation, &state)
                return (reply, state.waiting.isEmpty ? 0 : DNSServiceFlags(kDNSServiceFlagsMoreComing))
            }
            guard let (reply, moreComing) = next else { return .nothing }
            inTurn { reply(moreComing) }
            hasMade = true
            return .delivered
        }
        return hasMade
    }

    /// Whether the calling thread is in a callback of this queue.
    private var isWithinReply: Bool { state.withLock { $0.thread == pthread_self() } }

    private func inTurn(_ body: () -> Void) {
        if isWithinReply { return body() }
        turn.withLock {
            state.withLock { $0.thread = pthread_self() }
            body()
            state.withLock { $0.thread = nil }
        }
    }

    private func take(_ operation: OperationNumber, _ state: inout State) {
        guard !state.withReply.contains(operation), let reply = state.sources[operation]?.next() else { return }
        if state.waiting.isEmpty { signal() }
        state.waiting.append((operation, reply))
        state.withReply.insert(operation)
    }

    private func signal() { dnss_event_set(descriptor) }
    private func clear() { dnss_event_clear(descriptor) }
}

/// The callers of ``ReplyQueue/process()``. The descriptor is their signal.
private final class CallersTarget: DeliveryTarget {
    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal { Signal() }
    func isSame(as other: any DeliveryTarget) -> Bool { other as? CallersTarget === self }

    private final class Signal: DeliverySignal {
        func signal() {}
        func cancel() {}
    }
}
