internal import Synchronization

/// An ``EventLoop`` in its role as the executor of actors: ``EventLoop/serial``.
///
/// It does not keep the loop: an actor on a private loop holds the loop itself.
public final class LoopSerialExecutor: SerialExecutor, Sendable {
    // Set once in the loop's own init, before anybody else can see either object; the loop outlives its executor's use.
    private nonisolated(unsafe) unowned(unsafe) var loop: EventLoop?

    init() {}

    func attach(_ loop: EventLoop) {
        self.loop = loop
    }

    /// Queues an actor's job; called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        loop?.enqueueSerial(UnownedJob(job))
    }

    /// Traps unless called on the loop's thread; called by the Swift runtime for `assumeIsolated`.
    public func checkIsolated() {
        precondition(loop?.isCurrent == true, "not on the event loop's thread")
    }
}
