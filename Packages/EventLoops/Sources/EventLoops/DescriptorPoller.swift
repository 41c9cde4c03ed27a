internal import Glibc
internal import Synchronization

/// Watches the descriptors of wait points for a thread with a loop of another kind, such as a run loop.
///
/// ```swift
/// guard let poller = DescriptorPoller() else { return }
/// while isRunning {
///     waitUntilReadable(poller.descriptor)    // with the means of that loop, beside its other sources
///     poller.poll()
/// }
/// ```
///
/// A stream whose events are delivered on such a thread is watched there, too: otherwise each edge would wake an event loop's thread
/// first, which would only wake the other one. A ``DeliverySignal`` passes its target's poller on
/// (``DeliverySignal/poller``), and ``WaitPoint/watch(_:for:with:by:)`` uses it while no call waits at the point.
public final class DescriptorPoller: Sendable {
    private struct State {
        /// The number of calls of `poll()` that look for edges.
        var polls = 0
        /// Points that are no longer watched. An event of a poll in progress may still refer to them.
        var retired: [WaitPoint] = []
        /// The work to do after the poll.
        var work: (@Sendable () -> Void)?
    }

    private let epoll: EpollSet
    private let state = Locked(State())
    /// The thread that looks for edges; 0 if none does.
    private let thread = Atomic<UInt>(0)

    /// Makes a poller, which has one descriptor. Nil if the system has none left.
    public init?() {
        guard let epoll = EpollSet(isPolled: ()) else { return nil }
        self.epoll = epoll
    }

    /// The descriptor that becomes readable when a watched point may be ready. Only for waiting; it remains the poller's.
    public var descriptor: CInt { epoll.descriptor }

    /// Signals the points that may be ready, without waiting, and does the work that has been left to this thread.
    ///
    /// That work may call `poll()` again. Otherwise only one thread at a time may call it.
    public func poll() {
        state.withLock { $0.polls += 1 }
        thread.store(pthread_self(), ordering: .relaxed)
        epoll.poll()
        thread.store(0, ordering: .relaxed)
        let (retired, work) = state.withLock { state -> ([WaitPoint], (@Sendable () -> Void)?) in
            state.polls -= 1
            return (state.polls == 0 ? exchange(&state.retired, with: []) : [], state.work.take())
        }
        for point in retired { epoll.release(point) }
        work?()
    }

    /// Whether the calling thread looks for edges just now. A signal for that thread need not wake it: ``runAfterPoll(_:)``.
    package var isPolling: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// Runs `work` at the end of the poll in progress on the calling thread. Call only while ``isPolling``.
    ///
    /// - Returns: false if there is such work already. It may run the thread's loop and wait for other work there, which therefore
    ///   must be left to the loop.
    package func runAfterPoll(_ work: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            if case nil = state.work { state.work = work } else { return false }
            return true
        }
    }
}

extension DescriptorPoller: DescriptorRegistrar {
    func register(_ point: WaitPoint, descriptor: CInt) -> CInt? {
        guard epoll.reserve() else { return ESHUTDOWN }
        guard let failure = epoll.add(descriptor, for: point) else { return nil }
        epoll.cancelReservation()
        return failure
    }

    func remove(descriptor: CInt) { epoll.remove(descriptor) }

    func retire(_ point: WaitPoint) {
        let isInUse = state.withLock { state in
            if state.polls > 0 { state.retired.append(point) }
            return state.polls > 0
        }
        if !isInUse { epoll.release(point) }
    }
}
