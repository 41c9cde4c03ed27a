internal import Synchronization

/// One appointment with an ``EventLoop``, made by ``EventLoop/schedule(at:_:)``.
///
/// Dropping the value does not cancel it.
public final class LoopTimer: Sendable {
    /// When it is due.
    public let deadline: Moment
    /// From when on the loop is late if it has not run it: the deadline, or the moment of scheduling if that was later.
    let dueTime: Moment
    private let loop: EventLoop
    private let body: Locked<(@Sendable () -> Void)?>
    /// Where it stands in the loop's ``TimerQueue``, -1 when not there. Only the loop's thread touches it.
    let position = Atomic<Int>(-1)

    init(deadline: Moment, loop: EventLoop, body: @escaping @Sendable () -> Void) {
        self.deadline = deadline
        dueTime = max(deadline, .now)
        self.loop = loop
        self.body = Locked(body)
    }

    /// Takes the appointment back. What it would have run is released; harmless when it ran already.
    public func cancel() {
        // Released after the lock: what the body holds may cancel this timer again when it goes.
        let taken = body.withLock { $0.take() }
        if taken != nil { loop.remove(self) }
    }

    /// True if there is nothing to run any more.
    var isSpent: Bool { body.withLock { $0 == nil } }

    func fire() {
        body.withLock { $0.take() }?()
    }
}
