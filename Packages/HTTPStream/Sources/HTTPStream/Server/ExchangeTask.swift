internal import EventLoops
internal import StreamKit

/// The task of a handler, which is cancelled once its client has disconnected.
class ExchangeTask: Watcher, @unchecked Sendable {
    // Unchecked: `state` and `closed` are accessed only inside the lock. The task is used only between `begin` and `end`, which the task
    // itself calls, so it exists.

    enum State {
        case idle
        case running(UnsafeCurrentTask)
        /// The task is being cancelled, outside the lock, since that calls the application's code.
        case cancelling
        /// The client has disconnected, possibly before the task has begun.
        case cancelled
        /// The connection carries another protocol, whose user reads its end. Over HTTP/2, the client may have ended its part of the stream, or
        /// this side the whole stream.
        case switched(hasEnded: Bool = false)
    }

    let lock = Lock()
    /// Accessed inside the lock.
    var state = State.idle
    /// Accessed inside the lock.
    var closed: OneShot<Void>?

    /// Begins with the calling task, which must call ``end()``.
    func begin() {
        withUnsafeCurrentTask { task in
            guard let task else { return }
            let isCancelled = lock.withLock {
                if case .cancelled = state { return true }
                state = .running(task)
                return false
            }
            if isCancelled { task.cancel() }
        }
    }

    /// Ends the use of the task. Returns whether the client has disconnected; the task has been cancelled then.
    func end() async -> Bool {
        while true {
            let (isEnded, isCancelled, closed) = lock.withLock { () -> (Bool, Bool, OneShot<Void>?) in
                if case .cancelling = state { return (false, true, nil) }
                var isCancelled = false
                if case .cancelled = state { isCancelled = true }
                state = .idle
                return (true, isCancelled, self.closed.take())
            }
            closed?.provide(())
            if isEnded { return isCancelled }
            await Task.yield()
        }
    }

    /// Cancels the task, because the client has disconnected.
    final func cancel() {
        if let task = lock.withLock({ beginCancelling() }) { cancel(task) }
    }

    /// Returns the task to cancel once the lock has been released. Call inside the lock.
    final func beginCancelling() -> UnsafeCurrentTask? {
        switch state {
        case .running(let task):
            state = .cancelling
            return task
        case .idle:
            state = .cancelled
            return nil
        case .cancelling, .cancelled, .switched: return nil
        }
    }

    /// Cancels the task that ``beginCancelling()`` has returned.
    final func cancel(_ task: UnsafeCurrentTask) {
        task.cancel()
        let closed = lock.withLock {
            state = .cancelled
            return self.closed.take()
        }
        closed?.provide(())
    }

    /// Leaves the task to the handler: the connection carries another protocol, whose user reads its end.
    func leaveToHandler() {
        lock.withLock {
            if case .running = state { state = .switched() }
        }
    }

    /// Notes that the client has ended its part of a stream that carries another protocol, or this side the stream.
    final func noteEndOfSwitched() {
        let closed = lock.withLock { () -> OneShot<Void>? in
            guard case .switched = state else { return nil }
            state = .switched(hasEnded: true)
            return self.closed.take()
        }
        closed?.provide(())
    }

    /// Waits until the client has disconnected, or the handler has ended, or the calling task is cancelled.
    func waitUntilClosed() async { try? await awaitedClose()?.value() }

    /// What provides the end of the wait for the client; nil if it is over.
    final func awaitedClose() -> OneShot<Void>? {
        lock.withLock {
            switch state {
            case .idle, .cancelling, .cancelled, .switched(hasEnded: true): return nil
            case .running, .switched:
                let closed = self.closed ?? OneShot()
                self.closed = closed
                return closed
            }
        }
    }

    /// The number of tasks that wait in ``waitUntilClosed()``. For tests.
    final var waiterCount: Int { lock.withLock { closed }?.waiterCount ?? 0 }
}
