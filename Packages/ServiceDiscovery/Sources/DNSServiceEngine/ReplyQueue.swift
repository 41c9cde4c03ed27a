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
/// queue is not empty. Callbacks run without the lock. The descriptor is closed with the queue, which a thread that waits for it
/// retains.
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
        var dispatchQueue: DispatchQueueReference?
        var isOver = false
    }

    typealias OperationNumber = UInt

    /// Readable exactly while a reply waits.
    let descriptor: CInt
    private let state = Locked(State())

    init() throws(ServiceFailure) {
        descriptor = dnss_event_create()
        guard descriptor >= 0 else { throw ServiceFailure(kDNSServiceErr_NoMemory) }
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
        let run = state.withLock { state -> DispatchQueueReference? in
            take(operation, &state)
            return state.waiting.isEmpty ? nil : state.dispatchQueue
        }
        run?.run(self)
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
        let (sources, dispatchQueue) = state.withLock { state in
            let ended = (state.sources, state.dispatchQueue.take())
            (state.sources, state.waiting, state.withReply, state.isOver) = ([:], [], [], true)
            signal()
            return ended
        }
        for source in sources.values { source.stop() }
        withExtendedLifetime(dispatchQueue) {}  // released without the lock
    }

    /// Makes the replies that wait; waits for one if there is none.
    func process() throws(ServiceFailure) {
        guard state.withLock({ $0.dispatchQueue == nil }) else { throw ServiceFailure(kDNSServiceErr_BadState) }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let ready = SystemCall.retrying { poll(&entry, 1, -1) }
        guard ready > 0 else { throw ServiceFailure(kDNSServiceErr_Unknown) }
        makeReplies()
    }

    /// Sets the queue that makes the replies; nil for none.
    func setDispatchQueue(_ pointer: UnsafeMutableRawPointer?) {
        let new = pointer.map { DispatchQueueReference($0) }
        let (old, run) = state.withLock { state in
            let old = state.dispatchQueue
            state.dispatchQueue = new
            return (old, state.waiting.isEmpty ? nil : new)
        }
        run?.run(self)
        withExtendedLifetime(old) {}  // released without the lock
    }

    /// Makes replies on a dispatch queue, if it is still the one of this connection.
    fileprivate func makeReplies(on dispatchQueue: DispatchQueueReference) {
        makeReplies { $0 === dispatchQueue }
        let again = state.withLock { $0.dispatchQueue === dispatchQueue && !$0.waiting.isEmpty }
        if again { dispatchQueue.run(self) }
    }

    private func makeReplies(while condition: (DispatchQueueReference?) -> Bool = { $0 == nil }) {
        for _ in 0..<Self.maximumReplies {
            let next = state.withLock { state -> (Reply, DNSServiceFlags)? in
                guard !state.isOver, condition(state.dispatchQueue), !state.waiting.isEmpty else { return nil }
                let (operation, reply) = state.waiting.removeFirst()
                state.withReply.remove(operation)
                if state.waiting.isEmpty { clear() }
                take(operation, &state)
                return (reply, state.waiting.isEmpty ? 0 : DNSServiceFlags(kDNSServiceFlagsMoreComing))
            }
            guard let (reply, moreComing) = next else { return }
            reply(moreComing)
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

/// A dispatch queue of a program in C, on which at most one call is pending.
private final class DispatchQueueReference: @unchecked Sendable {
    // The pointer is constant, and any thread may use a dispatch queue.
    private let pointer: UnsafeMutableRawPointer
    private let pending = Locked<ReplyQueue?>(nil)

    init(_ pointer: UnsafeMutableRawPointer) {
        self.pointer = pointer
        dnss_queue_retain(pointer)
    }

    deinit { dnss_queue_release(pointer) }

    /// Makes the replies on the queue, soon.
    func run(_ replies: ReplyQueue) {
        let isFirst = pending.withLock { pending in
            defer { pending = replies }
            return pending == nil
        }
        guard isFirst else { return }
        dnss_queue_run(pointer, Unmanaged.passRetained(self).toOpaque()) { context in
            guard let context else { return }
            let this = Unmanaged<DispatchQueueReference>.fromOpaque(context).takeRetainedValue()
            let replies = this.pending.withLock { $0.take() }
            replies?.makeReplies(on: this)
        }
    }
}
