internal import Glibc
internal import Synchronization

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
/// in `recv`) and signals both waiters. All state is in one atomic word; each waiter is another word. The bits, each state with each
/// event, and the order of accesses to memory are described at `PointState`; the slots at `Waiter`; the watching of the descriptor by
/// the loop or a poller at `DescriptorWatch`. Tests read those tables and visit each cell.
///
/// A subclass can represent work whose end callers wait for. A thread that blocks at the point can do the work itself meanwhile
/// (`block(_:for:until:minding:)`); for a task or a callback, another thread must do it (`callerWillWait(watchedBy:)`). A point is a
/// ``Watcher``, too: one that watches another point forwards its next edge.
///
/// If only observers wait, on the thread of a run loop, its ``DescriptorPoller`` watches the descriptor instead of the loop
/// (``watch(_:for:with:by:)``). With the first call that waits, the loop takes the descriptor over and keeps it, because the run loop
/// may not run meanwhile.
open class WaitPoint: Watcher, @unchecked Sendable {
    // Unchecked only because an open class cannot be checked: all state here is atomic or immutable, and subclasses must
    // ensure that theirs is safe.

    /// One direction of a connection.
    public typealias Half = WaitHalf

    /// The result of ``enter(_:)``.
    public typealias Entry = WaitHalf.Entry

    /// What belongs to one half.
    @usableFromInline
    struct Side: ~Copyable, Sendable {
        /// Where the call that is inside waits.
        @usableFromInline let call = Waiter()
        /// Where the observer waits.
        @usableFromInline let observer = Waiter()

        @usableFromInline
        init() {}

        var isWaitedAt: Bool { call.isParked || observer.isParked }

        /// Wakes the call and the observer, as far as they wait for this. A slot without a waiter latches the edge.
        func signal(_ interest: Interest) {
            call.signal(interest)
            observer.signal(interest)
        }
    }

    /// Both sides. Not an array of two, whose elements are destroyed through the metadata of their type: 1,300 instructions a point.
    @usableFromInline
    struct Sides: ~Copyable, Sendable {
        @usableFromInline let reader = Side()
        @usableFromInline let writer = Side()

        @usableFromInline
        init() {}

        @inlinable
        subscript(half: Half) -> Side {
            _read {
                switch half {
                case .reader: yield reader
                case .writer: yield writer
                }
            }
        }
    }

    /// The loop that watches the descriptor for tasks and callbacks.
    public final let loop: EventLoop

    // In this order, and the budgets beside the sides instead of in them, the fields take 72 bytes; otherwise 104, which is 5 % of the
    // memory of an idle connection.
    final let watching = DescriptorWatch()
    @usableFromInline final let state: PointState
    private final let number = Atomic<CInt>(-1)
    /// The lasting conditions that epoll has reported: bits of ``Report``.
    private final let reports = Atomic<UInt8>(0)
    private final let budgets = TransferBudgets()
    @usableFromInline final let sides = Sides()
    /// Filled by the first wait with a deadline, which most points never have.
    final let deadlineSlot = WaitDeadlineSlot()

    /// Creates a point without a descriptor, which can be attached later.
    public init(loop: EventLoop = .shared) {
        self.loop = loop
        state = PointState()
    }

    /// Creates a point without a descriptor for one half. The other half is closed from the start.
    @_spi(Packages) public init(loop: EventLoop = .shared, only half: Half) {
        self.loop = loop
        state = PointState(PointState.Bits.closed(half.other))
    }

    /// Creates a point for a descriptor. An owned descriptor is closed when both halves are closed.
    public init(descriptor: CInt, ownership: DescriptorOwnership, loop: EventLoop = .shared) {
        self.loop = loop
        state = PointState(PointState.Bits.attached(ownership))
        number.store(descriptor, ordering: .releasing)
    }

    /// Waits on the calling thread, as ``block(_:for:until:)`` does, at this point and at others.
    ///
    /// A subclass that represents work overrides it, so that the thread does the work. Call only while inside the half, and only
    /// if no other thread waits for those.
    @available(*, noasync, message: "blocks the thread; use readerWait or writerWait")
    @_spi(Packages) open func block(
        _ half: Half, for interest: Interest, until deadline: Moment?, minding others: [Readiness]
    ) -> BlockedWake {
        let (free, error) = ThreadParker.take()
        guard let parker = free else { return .here(.failed(error)) }
        defer { parker.returnToPool() }
        let (wake, index) = parker.block(for: [Readiness(self, half, for: interest)] + others, until: deadline)
        return index == 0 ? .here(wake) : .elsewhere(index - 1, wake)
    }

    /// Signals both directions: called at an edge of another point, where this one is registered as a watcher.
    open override func fire() {
        signal([.readable, .writable])
    }

    /// Signals both halves: a TLS read may wait for writable, and a write for readable.
    override final func receive(_ edge: Edge) {
        if edge.isEnding || edge.isUrgent { note(edge) }
        signal(edge.interest)
    }

    /// Called each time before a task or a callback waits at a point without a descriptor. Does nothing by default; a subclass
    /// that represents work ensures that the work is done, since neither can do it while it waits.
    ///
    /// - Parameter poller: watches the descriptors of the work instead of the event loop, if only an observer with this poller waits.
    ///   Nil if a call waits, as for ``watch(_:for:with:by:)``.
    @_spi(Packages) open func callerWillWait(watchedBy poller: DescriptorPoller?) {}

    /// Closes both halves: as ``close(_:)``. Open for a subclass that is also the transport of a stream, whose `close()` it is then.
    open func close() {
        close(PointState.Bits.bothClosed)
    }

    deinit {
        // No call is inside and no task or thread waits, because each of them would hold a reference.
        deadlineSlot.deadlines?.cancelAll()
        let last = state.bits
        if last & (PointState.Bits.finished | PointState.Bits.owned) == PointState.Bits.owned {
            FileDescriptor.close(descriptor)
        }
    }
}

// MARK: - The descriptor

extension WaitPoint {
    /// Sets the point's descriptor, once, and wakes the calls that are waiting, so that they use it.
    ///
    /// If both halves are already closed, an owned descriptor is closed at once.
    public final func attach(_ descriptor: CInt, ownership: DescriptorOwnership) {
        guard enterForUse() else {
            if ownership == .owned { FileDescriptor.close(descriptor) }
            return
        }
        defer { leaveUse() }
        number.store(descriptor, ordering: .releasing)
        let seen = state.attach(ownership)
        // A half that was closed before this had no descriptor to shut down, but a call that is still inside could now block.
        shutDown(for: seen & PointState.Bits.bothClosed, seen: seen)
        signal([.readable, .writable])
    }

    /// The descriptor; -1 if there is none yet. Stable only while inside (``enter(_:)``, ``withDescriptor(_:)``).
    @inline(__always)
    public final var descriptor: CInt { number.load(ordering: .acquiring) }

    /// Whether the point closes the descriptor.
    public final var ownership: DescriptorOwnership { state.isOwned ? .owned : .borrowed }

    /// Sets whether the point closes the descriptor; nil restores the ownership with which it was attached.
    @_spi(Packages) public final func setOwnership(_ owns: Bool?) {
        state.setOwned(owns)
    }

    /// Uses the descriptor independently of reader and writer (`getsockname`, `setsockopt`, …). Nil if there is none, not yet or
    /// no longer.
    @inlinable
    public final func withDescriptor<Result, Failure: Error>(
        _ body: (CInt) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard enterForUse() else { return nil }
        defer { leaveUse() }
        let descriptor = self.descriptor
        return descriptor < 0 ? nil : try body(descriptor)
    }

    /// Runs `body` independently of reader and writer. The descriptor, if there is one, stays open meanwhile. Nil if the point is
    /// closed.
    @inlinable
    @_spi(Packages) public final func whileOpen<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard enterForUse() else { return nil }
        defer { leaveUse() }
        return try body()
    }

    /// Closes the point without closing or shutting down its descriptor, which is returned and belongs to the caller from now on;
    /// -1 if there is no descriptor or the point was already closed. No call may be in progress.
    public final func detach() -> CInt {
        guard enterForUse() else { return -1 }
        defer { leaveUse() }
        state.clear(PointState.Bits.owned)
        close()
        return descriptor
    }

    @usableFromInline
    final func enterForUse() -> Bool {
        if state.beginUse() { return true }
        leaveUse()
        return false
    }

    @usableFromInline
    final func leaveUse() {
        if state.endUse() { finishIfLast() }
    }
}

// MARK: - Entering, leaving, closing

extension WaitPoint {
    /// Begins one call on a half. While inside, the descriptor stays open and a second caller is `busy`.
    @inlinable
    @inline(__always)
    public final func enter(_ half: Half) -> Entry { state.enter(half) }

    /// Ends the call begun by ``enter(_:)``. The last call to leave a closed point closes its descriptor.
    @inlinable
    @inline(__always)
    public final func leave(_ half: Half) {
        if state.leave(half) { finishIfLast() }
    }

    /// True if a call is in progress on the half.
    @inlinable
    public final func isInside(_ half: Half) -> Bool { state.isInside(half) }

    /// True if the half has been closed.
    @inlinable
    public final func isClosed(_ half: Half) -> Bool { state.isClosed(half) }

    /// Closes one half: its waits and blocked calls end at once. Idempotent; may be called from any thread.
    ///
    /// The descriptor is closed when both halves are closed and no call is inside. If a call is blocked in the kernel on an owned
    /// socket, that direction is shut down, which is the only way to wake it.
    public final func close(_ half: Half) {
        close(PointState.Bits.closed(half))
    }

    private final func close(_ bits: UInt32) {
        // Counts as a user meanwhile, so that the descriptor cannot be closed before it has been shut down.
        guard let seen = state.close(bits) else { return }
        defer { leaveUse() }
        shutDown(for: bits, seen: seen)
        // When this returns, the caller may close a borrowed descriptor. The loop therefore stops watching it now, even if a call
        // is still inside: by the time the last call leaves, the number may belong to another descriptor.
        let isBorrowed = seen & PointState.Bits.owned == 0
        if isBorrowed, (seen | bits) & PointState.Bits.bothClosed == PointState.Bits.bothClosed, descriptor >= 0 {
            watching.end(of: self)
        }
        if bits & PointState.Bits.closed(.reader) != 0 { wakeAll(.reader) }
        if bits & PointState.Bits.closed(.writer) != 0 { wakeAll(.writer) }
    }

    /// Wakes the call and the observer that wait at a half that has been closed.
    private final func wakeAll(_ half: Half) {
        deadlineSlot.deadlines?.cancel(half)
        sides[half].signal([.readable, .writable])
    }

    /// Ends calls that are blocked in the kernel on halves that are closed now.
    ///
    /// Does nothing with a borrowed descriptor, or with a listening socket: no call blocks in its `accept`, and a shutdown would
    /// end it for every other descriptor and process that shares it.
    private final func shutDown(for closed: UInt32, seen: UInt32) {
        guard seen & PointState.Bits.owned != 0 else { return }
        let isBlocked = { (half: Half) in
            closed & PointState.Bits.closed(half) != 0 && seen & PointState.Bits.inside(half) != 0
        }
        let direction: CInt? =
            switch (isBlocked(.reader), isBlocked(.writer)) {
            case (true, true): CInt(SHUT_RDWR)
            case (true, false): CInt(SHUT_RD)
            case (false, true): CInt(SHUT_WR)
            case (false, false): nil
            }
        if let direction, !isListening { shutdown(descriptor, direction) }
    }

    private final var isListening: Bool {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0
    }

    /// Releases the descriptor when both halves are closed and no call is inside.
    @usableFromInline
    @inline(never)
    final func finishIfLast() {
        guard let last = state.finish() else { return }
        let descriptor = self.descriptor
        guard descriptor >= 0 else { return }
        // No registration is in progress, since it is a use.
        if watching.isActive { watching.end(of: self) }
        if last & PointState.Bits.owned != 0 { FileDescriptor.close(descriptor) }
    }
}

// MARK: - Signalling

extension WaitPoint {
    /// Wakes the calls and observers that wait for any of `interest`, on both halves. A slot without a waiter latches the edge.
    public final func signal(_ interest: Interest) {
        sides.reader.signal(interest)
        sides.writer.signal(interest)
    }

    /// Signals in the loop's next turn; for a body that runs before the jobs of a turn (``EventLoop/execute(_:)``), after these. For a call
    /// that has used up its share of the turn although more work may be possible.
    ///
    /// A latched edge would end the wait at once. It is withdrawn, since the later signal replaces it.
    @_spi(Packages) public final func signalNextTurn(_ interest: Interest) {
        sides.reader.call.withdraw(interest)
        sides.writer.call.withdraw(interest)
        loop.execute { [self] in signal(interest) }
    }

    /// Wakes the call that waits on the half.
    @usableFromInline
    final func wake(_ half: Half) {
        sides[half].call.signal([.readable, .writable])
    }

    /// The conditions, other than edges, that epoll reports.
    private enum Report {
        static let ending: UInt8 = 1
        static let urgent: UInt8 = 2
    }

    /// True once epoll has reported that the peer has ended the connection or that it has failed.
    @_spi(Packages) public final var isEnding: Bool { reports.load(ordering: .acquiring) & Report.ending != 0 }

    /// Records that epoll has reported the end or a failure of the connection, or urgent data.
    private final func note(_ edge: Edge) {
        reports.bitwiseOr(
            (edge.isEnding ? Report.ending : 0) | (edge.isUrgent ? Report.urgent : 0),
            ordering: .acquiringAndReleasing)
    }

    /// Records that a read has just emptied the descriptor. Call only while inside the reader half.
    ///
    /// Only for descriptors where that can be known: a TCP socket that returned fewer bytes than requested.
    @_spi(Packages) public final func noteDrained() { sides.reader.call.noteDrained() }

    /// True if a read cannot yield anything now: no edge and no end has been seen since ``noteDrained()``, and the reader has not
    /// waited since. A later edge ends a wait.
    ///
    /// Permanently false once urgent data have been seen: a read stops in front of them (RFC 9293 §3.8.5), so a short read does
    /// not show that the socket is empty.
    @_spi(Packages) public final var isDrained: Bool {
        sides.reader.call.isDrained && reports.load(ordering: .acquiring) == 0
    }
}

// MARK: - Waiting

// A half has one slot for a task or a blocked thread, and one for a callback. A second waiter in the same slot is `busy`.
extension WaitPoint {
    /// Suspends the call inside the half until a matching edge, the deadline, cancellation or ``close(_:)``.
    ///
    /// Consumes nothing and leaves nothing to clean up, however the wait ends.
    @inlinable
    @inline(__always)
    public final nonisolated(nonsending) func wait(
        _ half: Half, for interest: Interest, until deadline: Moment?
    ) async -> Wake {
        if let wake = beginWait(half, until: deadline) { return wake }
        var isBusy = false
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                switch sides[half].call.park(continuation, for: interest) {
                case .parked: if mustLookAgain(half) { wake(half) }
                case .ready: continuation.resume()
                case .busy:
                    isBusy = true
                    continuation.resume()
                }
            }
        } onCancel: {
            wake(half)
        }
        return isBusy ? .busy : outcome(half, until: deadline)
    }

    /// ``wait(_:for:until:)`` for the reader.
    @inlinable
    public final nonisolated(nonsending) func readerWait(
        for interest: Interest, until deadline: Moment?
    ) async -> Wake {
        await wait(.reader, for: interest, until: deadline)
    }

    /// ``wait(_:for:until:)`` for the writer.
    @inlinable
    public final nonisolated(nonsending) func writerWait(
        for interest: Interest, until deadline: Moment?
    ) async -> Wake {
        await wait(.writer, for: interest, until: deadline)
    }

    /// Waits on the calling thread, in `poll(2)`, without the loop.
    ///
    /// The descriptor, ``signal(_:)`` and ``close(_:)`` end the wait. Call only while inside the half.
    @available(*, noasync, message: "blocks the thread; use readerWait or writerWait")
    public final func block(_ half: Half, for interest: Interest, until deadline: Moment?) -> Wake {
        switch block(half, for: interest, until: deadline, minding: []) {
        case .here(let wake), .elsewhere(_, let wake): wake
        }
    }

    /// Fires `watcher` once, at the next matching edge or at close.
    ///
    /// A call that waits on the same half is not affected and loses no edge. One watcher at a time.
    ///
    /// - Parameters:
    ///   - half: the half that the watcher observes: closing it fires the watcher.
    ///   - interest: the readiness to wait for.
    ///   - watcher: the observer, which the point retains until it fires.
    ///   - poller: watches the descriptor instead of the event loop, while only observers wait that have the same poller. Nil if the
    ///     watcher must fire even if that thread is busy.
    /// - Returns: nil if the watcher waits. Otherwise it will not fire: `.ready` if an edge was latched, so that the caller should
    ///   check now; `.closed`; `.busy`.
    public final func watch(
        _ half: Half, for interest: Interest, with watcher: Watcher, by poller: DescriptorPoller? = nil
    ) -> Wake? {
        guard enterForUse() else { return .closed }
        defer { leaveUse() }
        if let wake = prepareToWait(half, until: nil, by: poller) { return wake == .cancelled ? .ready : wake }
        switch sides[half].observer.park(watcher, for: interest) {
        case .busy: return .busy
        case .ready: return isClosed(half) ? .closed : .ready
        case .parked: break
        }
        // Another poller may have taken the descriptor over since, or its own may have been stopped.
        if watching.mustAskAgain(self, by: poller) { return unwatch(half, watcher) ? .ready : nil }
        guard isClosedAfterParking(half) else { return nil }
        return unwatch(half, watcher) ? .closed : nil
    }

    /// Withdraws a watcher; true if it has not fired and never will.
    @discardableResult
    public final func unwatch(_ half: Half, _ watcher: Watcher) -> Bool {
        sides[half].observer.unpark(watcher)
    }

    /// Whether the watcher is registered here: from ``watch(_:for:with:by:)`` until an edge takes it or ``unwatch(_:_:)``
    /// withdraws it.
    ///
    /// Ask this instead of recording in ``Watcher/fire()`` that a registration has ended: another thread may have taken the
    /// watcher, and call `fire()` only after the watcher has been registered again.
    ///
    /// - Returns: false also if an edge has taken the watcher and `fire()` is about to be called.
    @_spi(Packages) public final func isRegistered(_ half: Half, _ watcher: Watcher) -> Bool {
        sides[half].observer.holds(watcher)
    }

    /// Stops the loop from watching the descriptor until the next wait. No wait may be in progress.
    ///
    /// Otherwise a descriptor that is read by blocking calls would wake the loop's thread with each packet.
    @_spi(Packages) public final func rest() {
        deadlineSlot.deadlines?.cancelAll()
        _ = whileOpen { watching.end(of: self) }
    }

    /// Stops a poller from watching the descriptor until the next wait, unless a wait needs it. For observers that have withdrawn:
    /// otherwise each edge would wake the poller's thread.
    @_spi(Packages) public final func endPolling() {
        let seen = state.bits
        // The work is not over, so the loop takes it over.
        if seen & PointState.Bits.workPolled != 0 { return beginWork(by: nil) }
        if seen & PointState.Bits.polled != 0 { watching.endPolling(of: self) }
    }

    /// Whether a call or an observer waits at the point.
    final var hasWait: Bool {
        sides.reader.isWaitedAt || sides.writer.isWaitedAt
    }

    /// Whether a call waits on the half.
    final func hasWaitingCall(_ half: Half) -> Bool { sides[half].call.isParked }

    /// Parks a thread as the call of the half. It must then look whether the half is closed: ``isClosedAfterParking(_:)``.
    final func park(_ watcher: Watcher, _ half: Half, for interest: Interest) -> Waiter.Parking {
        sides[half].call.park(watcher, for: interest)
    }

    final func unpark(_ watcher: Watcher, _ half: Half) -> Bool { sides[half].call.unpark(watcher) }

    /// Whether the half was closed before a waiter parked, so that closing has not signalled it.
    final func isClosedAfterParking(_ half: Half) -> Bool {
        state.bitsAfterParking & PointState.Bits.closed(half) != 0
    }

    /// Prepares for parking. Like ``outcome(_:until:)``, it is a separate function, so that its variables do not add to the
    /// memory of a parked task.
    @usableFromInline
    @inline(never)
    final func beginWait(_ half: Half, until deadline: Moment?) -> Wake? {
        if let wake = prepareToWait(half, until: deadline) { return wake }
        if let deadline { deadlineSlot.make().set(deadline, on: self, half: half) }
        return nil
    }

    /// Has the descriptor watched at the first wait. Nil if the caller should park.
    private final func prepareToWait(_ half: Half, until deadline: Moment?, by poller: DescriptorPoller? = nil) -> Wake?
    {
        watching.isDone(by: poller) ? nil : haveWatched(half, until: deadline, by: poller)
    }

    @inline(never)
    private final func haveWatched(_ half: Half, until deadline: Moment?, by poller: DescriptorPoller?) -> Wake? {
        let descriptor = self.descriptor
        guard descriptor >= 0 else {
            // An observer of the other half may have another poller.
            beginWork(by: sides[half.other].observer.isParked ? nil : poller)
            return nil
        }
        endPollingWork()
        // A call of a stream above is not inside this point: without the use, the descriptor could be closed meanwhile.
        guard enterForUse() else { return .closed }
        defer { leaveUse() }
        return switch watching.begin(descriptor, of: self, half: half, by: poller) {
        case .isWatched: nil
        case .isAlwaysReady: outcome(half, until: deadline)
        case .isClosed: .closed
        case .failed(let number): .failed(number)
        }
    }

    /// Whether a call that has parked at the half must look again: nothing else might wake it.
    ///
    /// Either the half was closed before and the latch was consumed, or a poller has taken the descriptor over since.
    @usableFromInline
    final func mustLookAgain(_ half: Half) -> Bool {
        let reasons = PointState.Bits.closed(half) | PointState.Bits.polled | PointState.Bits.workPolled
        return state.bitsAfterParking & reasons != 0
    }

    @usableFromInline
    @inline(never)
    final func outcome(_ half: Half, until deadline: Moment?) -> Wake {
        if isClosed(half) { return .closed }
        if Task.isCancelled { return .cancelled }
        if let deadline, Moment.now >= deadline { return .timedOut }
        return .ready
    }

    /// Prepares a wait at a point without a descriptor.
    ///
    /// A call needs the loop to watch the descriptors of the work, and an observer may give them to its poller at the same time. The
    /// observer sets the bit, and then looks for calls; a call parks, and then looks for the bit. One of them finds the other, and the
    /// call looks again.
    private final func beginWork(by poller: DescriptorPoller?) {
        if poller == nil {
            endPollingWork()
            return callerWillWait(watchedBy: nil)
        }
        callerWillWait(watchedBy: poller)
        _ = state.setBeforeLooking(PointState.Bits.workPolled)
        for half in Half.allCases where hasWaitingCall(half) { wake(half) }
        // A descriptor that has been attached meanwhile replaces the work.
        if descriptor >= 0 { endPollingWork() }
    }

    private final func endPollingWork() {
        if state.bits & PointState.Bits.workPolled != 0 { state.clear(PointState.Bits.workPolled) }
    }
}

// MARK: - The budget of a turn

extension WaitPoint {
    /// The number of consecutive transfers that a half may make on the loop's own thread without waiting. A peer that sends or
    /// receives as fast as it can must not monopolize the loop.
    public static let transfersPerTurn = Int(UInt8.max) + 1  // the counters wrap around there

    /// Counts a transfer that is about to be tried inside a half, and returns whether the turn permits it. False after
    /// ``transfersPerTurn`` consecutive transfers without a wait on the loop's thread, or earlier if the job's share of the turn is
    /// spent (``EventLoop/isShareSpent``): the caller should then wait at the point of ``nextTurn(of:)``, so that the loop continues.
    public final func beginTransfer(_ half: Half) -> Bool {
        switch budgets[half].countTransfer() {
        case .nothing: true
        case .time: !endTurn(if: loop.isShareSpent)
        case .number: !endTurn(if: loop.isCurrent)
        }
    }

    /// Ends the turn on the loop's own thread, if its budget is spent: both halves count from zero again. Returns whether it ends.
    private final func endTurn(if isSpent: Bool) -> Bool {
        if isSpent {
            beginTurn(.reader)
            beginTurn(.writer)
        }
        return isSpent
    }

    /// Counts the bytes of a transfer, in addition to the transfer itself: for layers that process each byte (decrypting,
    /// decoding).
    ///
    /// Each ``bytesPerTransfer`` bytes count as one of ``transfersPerTurn``, so a turn is spent after about 1 MiB.
    public final func countBytes(_ count: Int, _ half: Half) {
        budgets[half].count(count / WaitPoint.bytesPerTransfer)
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
    @_spi(Packages) public final func beginTurn(_ half: Half) { budgets[half].restart() }
}

extension WaitPoint {
    /// One half of a point, with the readiness to wait for.
    @_spi(Packages) public struct Readiness: Sendable {
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
}
