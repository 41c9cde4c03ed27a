internal import Glibc
public import Synchronization

/// The point where the reader and the writer of a connection wait: as a task, as a blocked thread or with a callback.
///
/// ```swift
/// let point = WaitPoint(descriptor: fd, ownership: .owned)
/// guard point.enter(.reader) == .entered else { return }      // closed, or another call is reading
/// defer { point.leave(.reader) }
/// while recv(point.descriptor, buffer, size, 0) < 0, errno == EAGAIN {
///     guard await point.readerWait(for: .readable, until: nil) == .ready else { return }
/// }
/// ```
///
/// A point usually has a descriptor, from the start or later (``attach(_:ownership:)``). Without one, only ``signal(_:)`` ends a
/// wait, as for pairs in memory.
///
/// Once a task or a callback has waited for its descriptor, the loop keeps the point alive until both halves are closed. The
/// owner of a point must therefore close it, at the latest in its own `deinit`. A point that was never watched closes an owned
/// descriptor in `deinit`.
///
/// A call (a task or a blocked thread) and an observer (a ``Watcher``) wait in separate slots, and an edge reaches both. An
/// observer therefore does not disturb a call, and neither consumes an edge that the other needs.
///
/// Theory of operation. A call *enters* its half and leaves it at its end. Meanwhile a second call on that half is `busy`, and
/// the descriptor stays open, so that its number is not reused during the call: the last call to leave after both halves have
/// been closed closes the descriptor. Closing sets a bit, shuts an owned descriptor down if a call is inside (to wake a thread
/// in `recv`) and signals both waiters. All state is in one atomic word; each waiter is another word.
///
/// A subclass can represent work whose end callers wait for. A thread that blocks at the point can do the work itself meanwhile
/// (``block(_:for:until:minding:)``); for a task or a callback, another thread must do it (``isAwaited(by:)``). A point is a
/// ``Watcher``, too: one that watches another point forwards its next edge.
///
/// If only observers wait, on the thread of a run loop, its ``DescriptorPoller`` watches the descriptor instead of the loop
/// (``watch(_:for:with:by:)``). With the first call that waits, the loop takes the descriptor over and keeps it, because the run loop
/// may not run meanwhile.
open class WaitPoint: Watcher, @unchecked Sendable {
    // Unchecked only because an open class cannot be checked: all state here is atomic or immutable, and subclasses must
    // ensure that theirs is safe.

    /// One direction of a connection.
    public enum Half: Sendable, Hashable {
        /// The receiving side.
        case reader
        /// The sending side.
        case writer
    }

    /// The result of ``enter(_:)``.
    public enum Entry: Sendable, Hashable {
        /// The call may proceed, and must end with ``WaitPoint/leave(_:)``.
        case entered
        /// Another call is in progress on this half. Do not call `leave`.
        case busy
        /// The half is closed. Do not call `leave`.
        case closed
    }

    /// One half of a point, with the readiness to wait for.
    public struct Readiness: Sendable {
        /// The point.
        public let point: WaitPoint
        /// The half of the point.
        public let half: Half
        /// The readiness to wait for.
        public let interest: Interest

        /// Makes a value from its parts.
        public init(_ point: WaitPoint, _ half: Half, for interest: Interest) {
            self.point = point
            self.half = half
            self.interest = interest
        }
    }

    /// The loop that watches the descriptor for tasks and callbacks.
    public final let loop: EventLoop

    final let number = Atomic<CInt>(-1)
    /// The descriptor that the loop watches, or a value of ``Watching``. Changes only under the loop's lock for registrations.
    final let watched = Atomic<CInt>(Watching.notYet)
    /// The poller that watches the descriptor instead of the loop: a retained reference, or 0. Changes together with ``watched``.
    final let poller = Atomic<UInt>(0)
    @usableFromInline final let state = Atomic<UInt32>(0)
    /// The lasting conditions that epoll has reported: bits of ``Report``.
    private final let reports = Atomic<UInt8>(0)
    /// The number of consecutive transfers that did not wait.
    private final let readerTransfers = Atomic<UInt8>(0)
    private final let writerTransfers = Atomic<UInt8>(0)
    /// The slots of calls.
    @usableFromInline final let reader = Waiter()
    @usableFromInline final let writer = Waiter()
    /// The slots of observers.
    final let readerWatch = Waiter()
    final let writerWatch = Waiter()
    /// Filled by the first wait with a deadline, which most points never have.
    final let deadlineSlot = WaitDeadlineSlot()

    /// Creates a point without a descriptor, which can be attached later.
    public init(loop: EventLoop = .shared) {
        self.loop = loop
    }

    /// Creates a point without a descriptor for one half. The other half is closed from the start.
    public init(loop: EventLoop = .shared, only half: Half) {
        self.loop = loop
        state.store(half == .reader ? Bits.writerClosed : Bits.readerClosed, ordering: .releasing)
    }

    /// Creates a point for a descriptor. An owned descriptor is closed when both halves are closed.
    public convenience init(descriptor: CInt, ownership: DescriptorOwnership, loop: EventLoop = .shared) {
        self.init(loop: loop)
        number.store(descriptor, ordering: .relaxed)
        state.store(Bits.attached(ownership), ordering: .releasing)
    }

    /// Waits on the calling thread, as ``block(_:for:until:)`` does, at this point and at others.
    ///
    /// A subclass that represents work overrides it, so that the thread does the work. Call only while inside the half, and only
    /// if no other thread waits for those.
    @available(*, noasync, message: "blocks the thread; use readerWait or writerWait")
    open func block(
        _ half: Half, for interest: Interest, until deadline: Moment?, minding others: [Readiness]
    ) -> BlockedWake {
        guard let parker = ThreadParker.take() else { return .here(.failed(EMFILE)) }
        defer { parker.returnToPool() }
        let (wake, index) = parker.block(for: [Readiness(self, half, for: interest)] + others, until: deadline)
        return index == 0 ? .here(wake) : .elsewhere(index - 1, wake)
    }

    /// Signals both directions: called at an edge of another point, where this one is registered as a watcher.
    open override func fire() {
        signal([.readable, .writable])
    }

    /// Called each time before a task or a callback waits at a point without a descriptor. Does nothing by default; a subclass
    /// that represents work ensures that the work is done.
    ///
    /// - Parameter poller: watches the descriptors of the work instead of the event loop, if only an observer with this poller waits.
    ///   Nil if a call waits, as for ``watch(_:for:with:by:)``.
    open func isAwaited(by poller: DescriptorPoller?) {}

    /// Closes both halves: as ``close(_:)``. Open for a subclass that is also the transport of a stream, whose `close()` it is then.
    open func close() {
        close(Bits.bothClosed)
    }

    deinit {
        // No call is inside and no task or thread waits, because each of them would hold a reference.
        deadlineSlot.deadlines?.cancelAll()
        let last = state.load(ordering: .acquiring)
        if last & (Bits.finished | Bits.owned) == Bits.owned { Glibc.close(descriptor) }
    }

    /// Sets the point's descriptor, once, and wakes the calls that are waiting, so that they use it.
    ///
    /// If both halves are already closed, an owned descriptor is closed at once.
    public final func attach(_ descriptor: CInt, ownership: DescriptorOwnership) {
        guard enterForUse() else {
            if ownership == .owned { Glibc.close(descriptor) }
            return
        }
        defer { leaveUse() }
        number.store(descriptor, ordering: .releasing)
        let seen = state.bitwiseOr(Bits.attached(ownership), ordering: .acquiringAndReleasing)
        precondition(seen.oldValue & Bits.attached == 0, "WaitPoint: a descriptor can be attached only once")
        // A half that was closed before this had no descriptor to shut down, but a call that is still inside could now block.
        shutDown(for: seen.newValue & Bits.bothClosed, seen: seen.newValue)
        signal([.readable, .writable])
    }

    /// The descriptor; -1 if there is none yet. Stable only while inside (``enter(_:)``, ``withDescriptor(_:)``).
    @inline(__always)
    public final var descriptor: CInt { number.load(ordering: .acquiring) }

    /// Whether the point closes the descriptor.
    public final var ownership: DescriptorOwnership {
        state.load(ordering: .acquiring) & Bits.owned != 0 ? .owned : .borrowed
    }

    /// Sets whether the point closes the descriptor; nil restores the ownership with which it was attached.
    public final func setOwnership(_ owns: Bool?) {
        var seen = state.load(ordering: .relaxed)
        while true {
            let owned = (owns ?? (seen & Bits.attachedOwned != 0)) ? seen | Bits.owned : seen & ~Bits.owned
            let (done, now) = state.compareExchange(expected: seen, desired: owned, ordering: .acquiringAndReleasing)
            if done { return }
            seen = now
        }
    }

    /// The conditions, other than edges, that epoll reports.
    private enum Report {
        static let ending: UInt8 = 1
        static let urgent: UInt8 = 2
    }

    /// True once epoll has reported that the peer has ended the connection or that it has failed.
    @inline(__always)
    public final var isEnding: Bool { reports.load(ordering: .acquiring) & Report.ending != 0 }

    /// Records that epoll has reported the end or a failure of the connection, or urgent data.
    final func note(isEnding: Bool, isUrgent: Bool) {
        reports.bitwiseOr(
            (isEnding ? Report.ending : 0) | (isUrgent ? Report.urgent : 0), ordering: .acquiringAndReleasing)
    }

    /// Wakes the calls and observers that wait for any of `interest`, on both halves. A slot without a waiter latches the edge.
    @inline(__always)
    public final func signal(_ interest: Interest) {
        reader.signal(interest)
        writer.signal(interest)
        if readerWatch.hasRoom(for: interest) { readerWatch.signal(interest) }
        if writerWatch.hasRoom(for: interest) { writerWatch.signal(interest) }
    }

    /// Signals in the loop's next turn, after the loop has checked its descriptors and timers, and not before. For a call that has
    /// used up its share of the turn although more work may be possible.
    ///
    /// A latched edge would end the wait at once. It is withdrawn, since the later signal replaces it.
    public final func signalNextTurn(_ interest: Interest) {
        reader.withdraw(interest)
        writer.withdraw(interest)
        loop.execute { [self] in signal(interest) }
    }
}

// MARK: - Skipping reads that cannot succeed

extension WaitPoint {
    /// Records that a read has just emptied the descriptor. Call only while inside the reader half.
    ///
    /// Only for descriptors where that can be known: a TCP socket that returned fewer bytes than requested.
    @inline(__always)
    public final func noteDrained() { reader.noteDrained() }

    /// True if a read cannot yield anything now: no edge and no end has been seen since ``noteDrained()``, and the reader has not
    /// waited since. A later edge ends a wait.
    ///
    /// Permanently false once urgent data have been seen: a read stops in front of them (RFC 9293 §3.8.5), so a short read does
    /// not show that the socket is empty.
    @inline(__always)
    public final var isDrained: Bool { reader.isDrained && reports.load(ordering: .acquiring) == 0 }
}

// MARK: - The budget of a turn

extension WaitPoint {
    /// The number of consecutive transfers that a half may make on the loop's own thread without waiting. A peer that sends or
    /// receives as fast as it can must not monopolize the loop.
    public static let transfersPerTurn = Int(UInt8.max) + 1  // the counters wrap around there

    /// Counts a transfer that is about to be tried inside a half. True after ``transfersPerTurn`` consecutive transfers without a
    /// wait on the loop's thread, or earlier if the job's share of the turn is spent (``EventLoop/isShareSpent``): the caller should
    /// then wait at the point of ``nextTurn(of:)``, so that the loop continues.
    @inline(__always)
    public final func isTurnSpent(_ half: Half) -> Bool {
        let transfers =
            half == .reader ? readerTransfers.load(ordering: .relaxed) : writerTransfers.load(ordering: .relaxed)
        let next = transfers &+ 1
        setTransfers(next, half)
        return next % WaitPoint.transfersPerCheck == 0 && spendTurn(isCounted: next == 0)
    }

    /// The number of transfers after which the clock is read.
    private static let transfersPerCheck: UInt8 = 8

    /// Ends the turn on the loop's own thread: both halves count from zero again. Returns false on other threads.
    ///
    /// - Parameter isCounted: whether the number of transfers is used up; otherwise the time decides.
    @inline(never)
    private final func spendTurn(isCounted: Bool) -> Bool {
        guard isCounted ? loop.isCurrent : loop.isShareSpent else { return false }
        setTransfers(0, .reader)
        setTransfers(0, .writer)
        return true
    }

    /// Counts the bytes of a transfer, in addition to the transfer itself: for layers that process each byte (decrypting,
    /// decoding).
    ///
    /// Each ``bytesPerTransfer`` bytes count as one of ``transfersPerTurn``, so a turn is spent after about 1 MiB.
    @inline(__always)
    public final func countBytes(_ count: Int, _ half: Half) {
        let transfers =
            half == .reader ? readerTransfers.load(ordering: .relaxed) : writerTransfers.load(ordering: .relaxed)
        setTransfers(UInt8(clamping: Int(transfers) + count / WaitPoint.bytesPerTransfer), half)
    }

    /// The number of a layer's bytes that count as one of ``transfersPerTurn``.
    public static let bytesPerTransfer = 4096

    /// Makes a point that is signalled once, in the loop's next turn. A task on the loop that waits there always suspends.
    ///
    /// Waiting at the stream's own point would not suffice: if an edge is latched there, or the work that the point represents can
    /// continue, the wait ends before it has begun.
    public static func nextTurn(of loop: EventLoop) -> WaitPoint {
        let point = WaitPoint(loop: loop)
        point.signalNextTurn([.readable, .writable])
        return point
    }

    /// Restarts the count, because the half is about to wait.
    @inline(__always)
    public final func beginTurn(_ half: Half) {
        setTransfers(0, half)
    }

    @inline(__always)
    private final func setTransfers(_ count: UInt8, _ half: Half) {
        // Only the call inside the half writes its counter.
        if half == .reader {
            readerTransfers.store(count, ordering: .relaxed)
        } else {
            writerTransfers.store(count, ordering: .relaxed)
        }
    }
}

/// The readiness that a wait is for: reading, writing or both would not block.
///
/// Either half of a connection may wait for either readiness: a TLS read may need the socket to be *writable*. An empty set
/// waits for both.
public struct Interest: OptionSet, Sendable, Hashable {
    /// The bits, as stored in the word of a `Waiter`.
    public let rawValue: UInt

    /// Makes a set from its bits, of which only the two lowest have a meaning.
    @inlinable
    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    /// Bytes, an end or an error can be read.
    public static let readable = Interest(rawValue: 1)

    /// There is room to write, or a write would fail at once.
    public static let writable = Interest(rawValue: 2)
}

/// The reason why a wait at a ``WaitPoint`` ended.
///
/// It is a hint: the caller tries its system call again and relies on that result. A spurious wake is allowed; a missing wake
/// is not.
public enum Wake: Sendable, Hashable {
    /// The readiness may have changed: try again.
    case ready

    /// The task was cancelled.
    case cancelled

    /// The deadline passed.
    case timedOut

    /// The half was closed, before or while waiting.
    case closed

    /// Another task or thread is already waiting on this half; the wait did not take place.
    case busy

    /// The kernel refused to watch the descriptor; the value is its `errno`.
    case failed(CInt)
}

/// Which wait ended, of a thread that waited at several points, and why: ``WaitPoint/block(_:for:until:minding:)``.
public enum BlockedWake: Sendable, Hashable {
    /// The wait at the point itself ended.
    case here(Wake)

    /// The wait at another point ended: its index among the others, and the reason.
    case elsewhere(Int, Wake)
}

/// Whether an adopted descriptor is closed by the object that adopts it or by the caller.
public enum DescriptorOwnership: Sendable, Hashable {
    /// The descriptor belongs to the adopting object: shut down to wake blocked calls, and closed at the end.
    case owned

    /// The descriptor remains the caller's: never shut down, reconfigured or closed here. The caller must keep it open until
    /// the point is closed.
    case borrowed
}

/// An observer of one half of a ``WaitPoint``, called once at the next edge: the basis of callbacks and blocked threads.
///
/// ``fire()`` is called on the thread where the edge occurs (a loop's thread, or the thread that closes the point), with no
/// lock held. It must return soon and must not wait. A watcher fires once per ``WaitPoint/watch(_:for:with:by:)``.
open class Watcher: @unchecked Sendable {
    // Unchecked only because an open class cannot be checked. This class has no state, and subclasses must ensure that
    // theirs is safe.

    /// Makes a watcher. Subclasses add the state that ``fire()`` needs.
    public init() {}

    /// Called once, when the half may be ready.
    open func fire() {}
}
