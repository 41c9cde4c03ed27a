internal import Glibc
internal import Synchronization

/// The point where a connection's reader and writer wait, however they wait: a task, a blocked thread or a callback.
///
/// ```swift
/// let point = WaitPoint(descriptor: fd, ownership: .owned)
/// guard point.enter(.reader) == .entered else { … }
/// defer { point.leave(.reader) }
/// while recv(point.descriptor, …) < 0, errno == EAGAIN {
///     switch await point.readerWait(for: .readable, until: nil) { case .ready: continue … }
/// }
/// ```
///
/// It usually has a descriptor, given at once or later (``attach(_:ownership:)``); without one it is woken by
/// ``signal(_:)`` alone, as in-memory pairs are.
///
/// Once a task or a callback has waited on its descriptor, the loop keeps the point until both halves are closed: whoever
/// owns a point closes it, in its own `deinit` at the latest. A point that was never watched closes an owned descriptor
/// when it goes.
///
/// A call (a task or a blocked thread) and an observer (a ``Watcher``) wait in slots of their own, and an edge goes to both. So an
/// observer never stands in the way of a call, and neither takes an edge that the other needs.
///
/// Theory of operation. Each half is *entered* for the length of one call, which makes a second reader `busy` and keeps the
/// descriptor's number from being reused under the call: the descriptor is closed by whoever is last out after both
/// halves are closed. Closing sets a bit, shuts an owned descriptor down if somebody is inside (that is what wakes a
/// thread in `recv`) and signals both waiters. All state is in one atomic word; the waiters are words of their own.
///
/// A subclass stands for work whose end is waited for. A thread that blocks there can do the work itself meanwhile
/// (``block(_:for:until:minding:)``); for a task or a callback somebody else must do it (``isAwaited()``).
open class WaitPoint: @unchecked Sendable {
    // Unchecked only because an open class cannot be checked: all state here is atomic or immutable, and subclasses answer
    // for theirs.

    /// One direction of a connection.
    public enum Half: Sendable, Hashable {
        /// The receiving side.
        case reader
        /// The sending side.
        case writer
    }

    /// What ``enter(_:)`` answers.
    public enum Entry: Sendable, Hashable {
        /// Go ahead, and ``WaitPoint/leave(_:)`` afterwards.
        case entered
        /// A call is under way on this half; do not leave.
        case busy
        /// The half is closed; do not leave.
        case closed
    }

    /// One half of a point, and what is waited for there.
    public struct Place: Sendable {
        /// Where.
        public let point: WaitPoint
        /// On which half.
        public let half: Half
        /// For what.
        public let interest: Interest

        /// Names a place.
        public init(_ point: WaitPoint, _ half: Half, for interest: Interest) {
            self.point = point
            self.half = half
            self.interest = interest
        }
    }

    /// The loop that watches the descriptor for tasks and callbacks.
    public final let loop: EventLoop

    final let number = Atomic<CInt>(-1)
    /// The number that the loop watches, or one of ``Watching``.
    final let watched = Atomic<CInt>(Watching.notYet)
    final let state = Atomic<UInt32>(0)
    /// What epoll has reported once and for all: bits of ``Report``.
    private final let reports = Atomic<UInt8>(0)
    /// How many transfers in a row did not wait.
    private final let readerTransfers = Atomic<UInt8>(0)
    private final let writerTransfers = Atomic<UInt8>(0)
    /// Where the calls wait.
    final let reader = Waiter()
    final let writer = Waiter()
    /// Where the observers wait.
    final let readerWatch = Waiter()
    final let writerWatch = Waiter()
    /// Made by the first wait that has a deadline; most points never have one.
    final let alarmSlot = AlarmSlot()

    /// A point without a descriptor, yet or for ever.
    public init(loop: EventLoop = .shared) {
        self.loop = loop
    }

    /// Creates a point without a descriptor for one half. The other half is closed from the start.
    public convenience init(loop: EventLoop = .shared, only half: Half) {
        self.init(loop: loop)
        state.store(half == .reader ? Bits.writerClosed : Bits.readerClosed, ordering: .releasing)
    }

    /// A point for a descriptor. An owned one is closed when both halves are closed.
    public convenience init(descriptor: CInt, ownership: DescriptorOwnership, loop: EventLoop = .shared) {
        self.init(loop: loop)
        number.store(descriptor, ordering: .relaxed)
        state.store(Bits.attached(ownership), ordering: .releasing)
    }

    /// Waits on the calling thread as ``block(_:for:until:)`` does, and minds other places meanwhile.
    ///
    /// A subclass that stands for work overrides it to have the thread do that work. Call only while inside the half, and
    /// as the only one who waits at those places.
    @available(*, noasync, message: "blocks the thread; use readerWait or writerWait")
    open func block(
        _ half: Half, for interest: Interest, until deadline: Moment?, minding others: [Place]
    ) -> BlockedWake {
        guard let parker = ThreadParker.take() else { return .here(.failed(EMFILE)) }
        defer { parker.giveBack() }
        let (wake, place) = parker.block(at: [Place(self, half, for: interest)] + others, until: deadline)
        return place == 0 ? .here(wake) : .elsewhere(place - 1, wake)
    }

    /// Called each time before a task or a callback waits at a point that has no descriptor. Does nothing, but a subclass that
    /// stands for work sees to it that the work is done.
    open func isAwaited() {}

    deinit {
        // Nobody is inside and no task or thread waits: each of them holds a reference.
        alarmSlot.alarms?.cancelAll()
        let last = state.load(ordering: .acquiring)
        if last & (Bits.finished | Bits.owned) == Bits.owned { Glibc.close(descriptor) }
    }

    /// Gives the point its descriptor, once; whoever waits already is woken to use it.
    ///
    /// If both halves are closed by then, an owned descriptor is closed at once.
    public final func attach(_ descriptor: CInt, ownership: DescriptorOwnership) {
        guard enterForUse() else {
            if ownership == .owned { Glibc.close(descriptor) }
            return
        }
        defer { leaveUse() }
        number.store(descriptor, ordering: .releasing)
        let seen = state.bitwiseOr(Bits.attached(ownership), ordering: .acquiringAndReleasing)
        precondition(seen.oldValue & Bits.attached == 0, "WaitPoint: a descriptor is attached once")
        // A half closed before this found nothing to shut down, but whoever is still inside may block in it from now on.
        shutDown(for: seen.newValue & Bits.bothClosed, seen: seen.newValue)
        signal([.readable, .writable])
    }

    /// The descriptor, -1 if there is none yet. Stable only while inside (``enter(_:)``, ``withDescriptor(_:)``).
    @inline(__always)
    public final var descriptor: CInt { number.load(ordering: .acquiring) }

    /// Who closes the descriptor.
    public final var ownership: DescriptorOwnership {
        state.load(ordering: .acquiring) & Bits.owned != 0 ? .owned : .borrowed
    }

    /// Changes who closes the descriptor; nil goes back to what was said when it was attached.
    public final func setOwnership(_ owns: Bool?) {
        var seen = state.load(ordering: .relaxed)
        while true {
            let owned = (owns ?? (seen & Bits.attachedOwned != 0)) ? seen | Bits.owned : seen & ~Bits.owned
            let (done, now) = state.compareExchange(expected: seen, desired: owned, ordering: .acquiringAndReleasing)
            if done { return }
            seen = now
        }
    }

    /// Bits of what epoll reports beside edges.
    private enum Report {
        static let ending: UInt8 = 1
        static let urgent: UInt8 = 2
    }

    /// True once the peer ended or failed the connection, as far as epoll has said.
    @inline(__always)
    public final var isEnding: Bool { reports.load(ordering: .acquiring) & Report.ending != 0 }

    /// Notes that epoll has reported the end or a failure of the connection, or urgent data.
    final func note(isEnding: Bool, isUrgent: Bool) {
        reports.bitwiseOr(
            (isEnding ? Report.ending : 0) | (isUrgent ? Report.urgent : 0), ordering: .acquiringAndReleasing)
    }

    /// Wakes the calls and the observers that wait for any of these, on both halves; latched where none does.
    @inline(__always)
    public final func signal(_ interest: Interest) {
        reader.signal(interest)
        writer.signal(interest)
        if readerWatch.hasRoom(for: interest) { readerWatch.signal(interest) }
        if writerWatch.hasRoom(for: interest) { writerWatch.signal(interest) }
    }

    /// Signals in the loop's next turn, after the loop has looked at its descriptors and timers, and not before: for a call that
    /// has done its share of work for this turn though there may be more.
    ///
    /// An edge that is latched would end the wait at once. It is taken back, as the signal stands for it, too.
    public final func signalNextTurn(_ interest: Interest) {
        reader.withdraw(interest)
        writer.withdraw(interest)
        loop.execute { [self] in signal(interest) }
    }
}

// MARK: - Sparing a read that is bound to find nothing

extension WaitPoint {
    /// Notes that a read by the caller, who is inside the reader half, has just emptied the descriptor.
    ///
    /// Only for descriptors of which that can be known: a TCP socket that gave less than was asked for.
    @inline(__always)
    public final func noteDrained() { reader.noteDrained() }

    /// True if a read now is bound to find nothing: no edge and no end has been seen since ``noteDrained()``, and the reader
    /// has not waited since. An edge that is still to come ends a wait.
    ///
    /// False for good once urgent data were seen: a read stops in front of them (RFC 9293 §3.8.5), so a short read does not mean
    /// that nothing follows.
    @inline(__always)
    public final var isDrained: Bool { reader.isDrained && reports.load(ordering: .acquiring) == 0 }
}

// MARK: - The budget of a turn

extension WaitPoint {
    /// How many transfers a half may make in a row, on the loop's own thread, without waiting: a peer that sends (or receives)
    /// as fast as it can must not keep the loop from everything else.
    public static let transfersPerTurn = Int(UInt8.max) + 1  // the counters wrap around there

    /// Counts a transfer that is about to be tried inside a half. True once ``transfersPerTurn`` were made in a row without
    /// waiting, and the calling thread is the loop's: then wait at a point of ``nextTurn(of:)``, which lets the loop go on.
    @inline(__always)
    public final func isTurnSpent(_ half: Half) -> Bool {
        let transfers =
            half == .reader ? readerTransfers.load(ordering: .relaxed) : writerTransfers.load(ordering: .relaxed)
        let next = transfers &+ 1
        setTransfers(next, half)
        return next == 0 && spendTurn()
    }

    /// Ends the turn of the loop's own thread, so that both halves count from zero again. Returns false on other threads.
    @inline(never)
    private final func spendTurn() -> Bool {
        guard loop.isCurrent else { return false }
        setTransfers(0, .reader)
        setTransfers(0, .writer)
        return true
    }

    /// Counts what a transfer moved, beside the transfer itself: for layers, which work on each byte (decrypting, decoding).
    ///
    /// The turn is spent after about 1 MiB: each ``bytesPerTransfer`` count as one of ``transfersPerTurn``.
    @inline(__always)
    public final func countBytes(_ count: Int, _ half: Half) {
        let transfers =
            half == .reader ? readerTransfers.load(ordering: .relaxed) : writerTransfers.load(ordering: .relaxed)
        setTransfers(UInt8(clamping: Int(transfers) + count / WaitPoint.bytesPerTransfer), half)
    }

    /// How many bytes of a layer count as one of ``transfersPerTurn``.
    public static let bytesPerTransfer = 4096

    /// A point that is signalled in the loop's next turn, once. A task on the loop that waits there suspends in any case.
    ///
    /// Waiting at the stream's own point instead would not be enough: an edge may be latched there, or the work that it stands
    /// for may be able to go on, and such a wait ends before it has begun.
    public static func nextTurn(of loop: EventLoop) -> WaitPoint {
        let point = WaitPoint(loop: loop)
        point.signalNextTurn([.readable, .writable])
        return point
    }

    /// Begins to count anew, since the half is about to wait.
    @inline(__always)
    public final func beginTurn(_ half: Half) {
        setTransfers(0, half)
    }

    @inline(__always)
    private final func setTransfers(_ count: UInt8, _ half: Half) {
        // Only the call that is inside the half counts.
        if half == .reader {
            readerTransfers.store(count, ordering: .relaxed)
        } else {
            writerTransfers.store(count, ordering: .relaxed)
        }
    }
}
