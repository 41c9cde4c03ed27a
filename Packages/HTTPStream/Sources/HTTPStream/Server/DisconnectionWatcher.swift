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
        /// The connection carries another protocol, whose user reads its end. It is observed only for tasks that wait for that.
        case switched
    }

    /// What follows from the state of the connection.
    private enum Next {
        case nothing
        case cancel(UnsafeCurrentTask)
        case provide(OneShot<Void>?)
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

    /// Leaves the task to the handler: the connection carries another protocol, whose user reads its end.
    func leaveToHandler() {
        let timer = lock.withLock { () -> LoopTimer? in
            if case .watching = state { state = .switched }
            point.unwatch(.reader, self)
            return self.timer.take()
        }
        timer?.cancel()
        fire()  // for tasks that wait already
    }

    /// Records a transfer to the client.
    func noteTransfer() {
        transfers.store(transfers.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Waits until the client has disconnected, or the handler has ended, or the task is cancelled.
    ///
    /// After a switch of protocols, the end of the client's output is enough, and so is a close of the connection by this side: the wait
    /// must not need the end of the handler, which may wait for the calling task.
    func waitUntilClosed() async {
        let (closed, isSwitched) = lock.withLock { () -> (OneShot<Void>?, Bool) in
            switch state {
            case .idle, .cancelling, .cancelled: return (nil, false)
            case .watching, .switched:
                let closed = self.closed ?? OneShot()
                self.closed = closed
                if case .switched = state { return (closed, true) }
                return (closed, false)
            }
        }
        if isSwitched { fire() }
        try? await closed?.value()
    }

    /// The number of tasks that wait in ``waitUntilClosed()``. For tests.
    var waiterCount: Int { lock.withLock { closed }?.waiterCount ?? 0 }

    /// Checks the connection, and arranges the next check.
    override func fire() {
        let next = lock.withLock { () -> Next in
            switch state {
            case .idle, .cancelling, .cancelled: return .nothing
            case .watching(let task):
                _ = watch()
                guard point.isEnding else { return .nothing }
                if isReset {
                    state = .cancelling
                    return .cancel(task)
                }
                if timer == nil { setTimer() }
                return .nothing
            case .switched:
                guard closed != nil else { return .nothing }
                return !watch() || point.isEnding ? .provide(closed.take()) : .nothing
            }
        }
        switch next {
        case .nothing: break
        case .cancel(let task): cancel(task)
        case .provide(let closed): closed?.provide(())
        }
    }

    /// Arranges the next check; false if there will be none. Call inside the lock.
    private func watch() -> Bool {
        while true {
            switch point.watch(.reader, for: .readable, with: self) {
            case nil: return true
            case .ready?: continue  // an edge was latched before, which the caller's check covers
            case .busy?: return point.isRegistered(.reader, self)
            case .closed?, .failed?, .cancelled?, .timedOut?: return false
            }
        }
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
