@_spi(Packages) internal import EventLoops
internal import Glibc
internal import StreamKit
internal import Synchronization

/// Observes the connection of a client while a handler serves it, and cancels the handler's task once the client has disconnected.
///
/// A reset cancels the task at once. A client that ends its output may be gone, or may be waiting for the response: TCP reports
/// both alike. The handler may therefore continue as long as it sends something within each period of ``limit``: if the client is
/// gone, its system answers with a reset.
///
/// After a switch of protocols, the connection is observed only for tasks that wait for its end.
final class DisconnectionWatcher: ExchangeTask, @unchecked Sendable {
    // Unchecked: the timer and its counts are accessed only inside the lock, the rest is atomic or constant.

    /// What follows from the state of the connection.
    private enum Next {
        case nothing
        case cancel(UnsafeCurrentTask)
        case provide(OneShot<Void>?)
    }

    /// The longest time without a transfer to a client that has ended its output.
    private let limit: Duration
    private let point: WaitPoint
    private var timer: LoopTimer?
    /// Counts the timers and their withdrawals. A timer that fires late, on the thread of the loop, has an earlier number.
    private(set) var timerNumber = 0
    /// The number of transfers to the client. Only the handler's task changes it.
    private let transfers = Atomic<Int>(0)
    /// The number of transfers when the timer was set.
    private var transfersAtTimer = 0

    init(_ point: WaitPoint, limit: Duration) {
        self.point = point
        self.limit = limit
    }

    override func begin() {
        super.begin()
        fire()
    }

    override func end() async -> Bool {
        let isCancelled = await super.end()
        // The state admits no timer and no watch from now on.
        let timer = lock.withLock { () -> LoopTimer? in
            point.unwatch(.reader, self)
            return takeTimer()
        }
        timer?.cancel()
        return isCancelled
    }

    override func leaveToHandler() {
        let timer = lock.withLock { () -> LoopTimer? in
            if case .running = state { state = .switched() }
            point.unwatch(.reader, self)
            return takeTimer()
        }
        timer?.cancel()
        fire()  // for tasks that wait already
    }

    /// Records a transfer to the client.
    func noteTransfer() {
        transfers.store(transfers.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// Waits as ``ExchangeTask/waitUntilClosed()``.
    ///
    /// After a switch of protocols, the end of the client's output is enough, and so is a close of the connection by this side: the wait
    /// must not need the end of the handler, which may wait for the calling task.
    override func waitUntilClosed() async {
        let closed = awaitedClose()
        fire()
        try? await closed?.value()
    }

    /// Checks the connection, and arranges the next check.
    override func fire() {
        let next = lock.withLock { () -> Next in
            switch state {
            case .idle, .cancelling, .cancelled: return .nothing
            case .running:
                _ = watch()
                guard point.isEnding else { return .nothing }
                if isReset, let task = beginCancelling() { return .cancel(task) }
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
        timerNumber += 1
        timer = point.loop.schedule(at: .now + limit) { [weak self, timerNumber] in self?.limitReached(timerNumber) }
    }

    /// Takes the timer, which has no effect from now on. Call inside the lock.
    private func takeTimer() -> LoopTimer? {
        timerNumber += 1
        return timer.take()
    }

    /// Cancels the task of a client that has ended its output, unless there was a transfer since the timer was set.
    ///
    /// - Parameter number: the number of the timer.
    func limitReached(_ number: Int) {
        let task = lock.withLock { () -> UnsafeCurrentTask? in
            guard number == timerNumber else { return nil }
            timer = nil
            guard case .running = state else { return nil }
            if transfers.load(ordering: .relaxed) != transfersAtTimer {
                setTimer()
                return nil
            }
            return beginCancelling()
        }
        if let task { cancel(task) }
    }
}
