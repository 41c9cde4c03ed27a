internal import EventLoops
internal import Glibc
internal import StreamKit
internal import Synchronization

/// Observes a client while a handler serves it, and cancels the handler's task once the client has disconnected.
///
/// A reset cancels the task at once. A client that ends its output may be gone, or may be waiting for the response: TCP reports
/// both alike. The handler may therefore continue as long as it sends something within each period of ``limit``: if the client is
/// gone, its system answers with a reset.
final class DisconnectionWatcher: Watcher, @unchecked Sendable {
    // Unchecked: `state` is accessed only inside the lock, the rest is atomic or constant. The task is used only between `begin`
    // and `end`, which the task itself calls, so it exists.

    private enum State {
        case idle
        case watching(UnsafeCurrentTask)
        /// The task is being cancelled, outside the lock, since that calls the application's code.
        case cancelling
        case cancelled
        /// The connection carries another protocol, whose user reads its end.
        case switched(UnsafeCurrentTask)
    }

    /// The longest time without a transfer to a client that has ended its output.
    private let limit: Duration
    private let point: WaitPoint
    private let lock = Lock()
    private var state = State.idle
    private var timer: LoopTimer?
    private var closed: OneShot<Void>?
    /// The number of transfers to the client. Only the handler's task changes it.
    private let transfers = Atomic<Int>(0)
    /// The number of transfers when the timer was set.
    private var transfersAtTimer = 0

    init(_ point: WaitPoint, limit: Duration) {
        self.point = point
        self.limit = limit
    }

    /// Begins to observe the client for the calling task, which must call ``end()``.
    func begin() {
        withUnsafeCurrentTask { task in
            guard let task else { return }
            lock.withLock { state = .watching(task) }
        }
        fire()
    }

    /// Ends the observation. Returns whether the client has disconnected; the task has been cancelled then.
    func end() async -> Bool {
        while true {
            let (isEnded, isCancelled, timer, closed) = lock.withLock {
                () -> (Bool, Bool, LoopTimer?, OneShot<Void>?) in
                if case .cancelling = state { return (false, true, nil, nil) }
                var isCancelled = false
                if case .cancelled = state { isCancelled = true }
                state = .idle
                point.unwatch(.reader, self)
                return (true, isCancelled, self.timer.take(), self.closed.take())
            }
            timer?.cancel()
            closed?.provide(())
            if isEnded { return isCancelled }
            await Task.yield()
        }
    }

    /// Ends the observation before the handler: the connection carries another protocol, whose user reads its end. Tasks that
    /// wait for the client then wait for the end of the handler.
    func leaveToHandler() {
        let timer = lock.withLock { () -> LoopTimer? in
            if case .watching(let task) = state { state = .switched(task) }
            point.unwatch(.reader, self)
            return self.timer.take()
        }
        timer?.cancel()
    }

    /// Records a transfer to the client.
    func noteTransfer() {
        transfers.store(transfers.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Waits until the client has disconnected, unless the connection has switched protocols, or the handler has ended, or the task is
    /// cancelled.
    func waitUntilClosed() async {
        let closed = lock.withLock { () -> OneShot<Void>? in
            switch state {
            case .idle, .cancelling, .cancelled: return nil
            // The handler must not wait for its own end.
            case .switched(let task) where withUnsafeCurrentTask { $0 == task }: return nil
            case .watching, .switched:
                let closed = self.closed ?? OneShot()
                self.closed = closed
                return closed
            }
        }
        try? await closed?.value()
    }

    /// The number of tasks that wait in ``waitUntilClosed()``. For tests.
    var waiterCount: Int { lock.withLock { closed }?.waiterCount ?? 0 }

    /// Checks the connection, and arranges the next check.
    override func fire() {
        let task = lock.withLock { () -> UnsafeCurrentTask? in
            guard case .watching(let task) = state else { return nil }
            // Nil: the watcher fires at the next edge. Otherwise an edge was latched before, which the check below covers.
            while case .ready? = point.watch(.reader, for: .readable, with: self) {}
            guard point.isEnding else { return nil }
            if isReset {
                state = .cancelling
                return task
            }
            if timer == nil { setTimer() }
            return nil
        }
        if let task { cancel(task) }
    }

    /// Whether the connection was reset, or both of its directions have ended and no received bytes are left. False if this side has
    /// closed it.
    private var isReset: Bool {
        point.withDescriptor { descriptor in
            var entry = pollfd(fd: descriptor, events: 0, revents: 0)
            guard poll(&entry, 1, 0) > 0 else { return false }
            if entry.revents & Int16(POLLERR) != 0 { return true }
            var byte: UInt8 = 0
            return entry.revents & Int16(POLLHUP) != 0
                && recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) <= 0
        } ?? false
    }

    /// Sets the timer of a client that has ended its output. Call inside the lock.
    private func setTimer() {
        transfersAtTimer = transfers.load(ordering: .relaxed)
        timer = point.loop.schedule(at: .now + limit) { [weak self] in self?.limitReached() }
    }

    /// Cancels the task of a client that has ended its output, unless there was a transfer since the timer was set.
    func limitReached() {
        let task = lock.withLock { () -> UnsafeCurrentTask? in
            timer = nil
            guard case .watching(let task) = state else { return nil }
            if transfers.load(ordering: .relaxed) != transfersAtTimer {
                setTimer()
                return nil
            }
            state = .cancelling
            return task
        }
        if let task { cancel(task) }
    }

    private func cancel(_ task: UnsafeCurrentTask) {
        task.cancel()
        let closed = lock.withLock {
            state = .cancelled
            return self.closed.take()
        }
        closed?.provide(())
    }
}
