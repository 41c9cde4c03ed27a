internal import Glibc
public import Synchronization

// MARK: - Entering, leaving, closing

extension WaitPoint {
    @usableFromInline
    enum Bits {
        @inlinable static var readerInside: UInt32 { 1 }
        @inlinable static var writerInside: UInt32 { 2 }
        @inlinable static var readerClosed: UInt32 { 4 }
        @inlinable static var writerClosed: UInt32 { 8 }
        /// The descriptor has been released: closed, or returned to the caller.
        static let finished: UInt32 = 16
        static let owned: UInt32 = 32
        static let attachedOwned: UInt32 = 64
        static let attached: UInt32 = 128
        /// A poller watches the descriptor, or is about to: a call that waits must have the loop watch it.
        static let polled: UInt32 = 256
        /// A poller takes the descriptor over just now, from the loop or from another poller.
        static let moving: UInt32 = 512
        /// The loop has taken the descriptor over from a poller, and keeps it.
        static let reclaimed: UInt32 = 1024
        /// A poller may watch the descriptors of the work that a point without a descriptor represents: as ``polled``.
        static let workPolled: UInt32 = 2048
        /// The bits from here up count the users that are neither reader nor writer.
        static let oneUse: UInt32 = 4096
        @inlinable static var bothClosed: UInt32 { readerClosed | writerClosed }
        static let inside = readerInside | writerInside | ~(oneUse - 1)

        static func attached(_ ownership: DescriptorOwnership) -> UInt32 {
            ownership == .owned ? attached | attachedOwned | owned : attached
        }
    }

    /// Begins one call on a half. While inside, the descriptor stays open and a second caller is `busy`.
    @inlinable
    @inline(__always)
    public func enter(_ half: Half) -> Entry {
        let inside = half == .reader ? Bits.readerInside : Bits.writerInside
        let closed = half == .reader ? Bits.readerClosed : Bits.writerClosed
        var seen = state.load(ordering: .relaxed)
        while true {
            if seen & closed != 0 { return .closed }
            if seen & inside != 0 { return .busy }
            let (done, now) = state.weakCompareExchange(
                expected: seen, desired: seen | inside, successOrdering: .acquiring, failureOrdering: .relaxed)
            if done { return .entered }
            seen = now
        }
    }

    /// Ends the call begun by ``enter(_:)``. The last call to leave a closed point closes its descriptor.
    @inlinable
    @inline(__always)
    public func leave(_ half: Half) {
        let inside = half == .reader ? Bits.readerInside : Bits.writerInside
        let now = state.bitwiseAnd(~inside, ordering: .acquiringAndReleasing).newValue
        if now & Bits.bothClosed == Bits.bothClosed { finishIfLast(now) }
    }

    /// True if a call is in progress on the half.
    @inlinable
    public func isInside(_ half: Half) -> Bool {
        state.load(ordering: .relaxed) & (half == .reader ? Bits.readerInside : Bits.writerInside) != 0
    }

    /// True if the half has been closed.
    @inlinable
    @inline(__always)
    public func isClosed(_ half: Half) -> Bool {
        state.load(ordering: .acquiring) & (half == .reader ? Bits.readerClosed : Bits.writerClosed) != 0
    }

    /// Whether a call that has parked at the half must look again: nothing else might wake it.
    ///
    /// Either the half was closed before and the latch was consumed, or a poller has taken the descriptor over since.
    @usableFromInline
    @inline(__always)
    func mustLookAgain(_ half: Half) -> Bool {
        let closed = half == .reader ? Bits.readerClosed : Bits.writerClosed
        return state.load(ordering: .acquiring) & (closed | Bits.polled | Bits.workPolled) != 0
    }

    /// Uses the descriptor independently of reader and writer (`getsockname`, `setsockopt`, …). Nil if there is none, not yet or
    /// no longer.
    @inlinable
    public func withDescriptor<Result, Failure: Error>(
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
    public func whileOpen<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result? {
        guard enterForUse() else { return nil }
        defer { leaveUse() }
        return try body()
    }

    /// Closes the point without closing or shutting down its descriptor, which is returned and belongs to the caller from now on;
    /// -1 if there is no descriptor or the point was already closed. No call may be in progress.
    public func detach() -> CInt {
        guard enterForUse() else { return -1 }
        defer { leaveUse() }
        state.bitwiseAnd(~Bits.owned, ordering: .acquiringAndReleasing)
        close()
        return descriptor
    }

    /// Closes one half: its waits and blocked calls end at once. Idempotent; may be called from any thread.
    ///
    /// The descriptor is closed when both halves are closed and no call is inside. If a call is blocked in the kernel on an owned
    /// socket, that direction is shut down, which is the only way to wake it.
    public func close(_ half: Half) {
        close(half == .reader ? Bits.readerClosed : Bits.writerClosed)
    }

    func close(_ bits: UInt32) {
        // Counts as a user meanwhile, so that the descriptor cannot be closed before it has been shut down.
        var seen = state.load(ordering: .relaxed)
        while true {
            if seen & bits == bits || seen & Bits.finished != 0 { return }
            let (done, now) = state.weakCompareExchange(
                expected: seen, desired: (seen | bits) &+ Bits.oneUse, successOrdering: .acquiringAndReleasing,
                failureOrdering: .relaxed)
            if done { break }
            seen = now
        }
        if seen & Bits.owned != 0 { shutDown(for: bits, seen: seen) }
        // When this returns, the caller may close a borrowed descriptor. The loop therefore stops watching it now, even if a call
        // is still inside: by the time the last call leaves, the number may belong to another descriptor.
        if (seen | bits) & Bits.bothClosed == Bits.bothClosed, seen & Bits.owned == 0, descriptor >= 0 {
            stopWatching()
        }
        let deadlines = deadlineSlot.deadlines
        if bits & Bits.readerClosed != 0 {
            deadlines?.cancel(.reader)
            reader.signal([.readable, .writable])
            readerWatch.signal([.readable, .writable])
        }
        if bits & Bits.writerClosed != 0 {
            deadlines?.cancel(.writer)
            writer.signal([.readable, .writable])
            writerWatch.signal([.readable, .writable])
        }
        leaveUse()
    }

    /// Ends calls that are blocked in the kernel on halves that are closed now.
    ///
    /// Does nothing with a borrowed descriptor, or with a listening socket: no call blocks in its `accept`, and a shutdown would
    /// end it for every other descriptor and process that shares it.
    func shutDown(for closed: UInt32, seen: UInt32) {
        guard seen & Bits.owned != 0 else { return }
        let wakesReader = closed & Bits.readerClosed != 0 && seen & Bits.readerInside != 0
        let wakesWriter = closed & Bits.writerClosed != 0 && seen & Bits.writerInside != 0
        if wakesReader || wakesWriter, isListening { return }
        switch (wakesReader, wakesWriter) {
        case (true, true): shutdown(descriptor, CInt(SHUT_RDWR))
        case (true, false): shutdown(descriptor, CInt(SHUT_RD))
        case (false, true): shutdown(descriptor, CInt(SHUT_WR))
        case (false, false): break
        }
    }

    private var isListening: Bool {
        var value: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value != 0
    }

    @usableFromInline
    func enterForUse() -> Bool {
        let old = state.wrappingAdd(Bits.oneUse, ordering: .acquiring).oldValue
        if old & Bits.bothClosed != Bits.bothClosed { return true }
        leaveUse()
        return false
    }

    @usableFromInline
    func leaveUse() {
        let now = state.wrappingSubtract(Bits.oneUse, ordering: .acquiringAndReleasing).newValue
        if now & Bits.bothClosed == Bits.bothClosed { finishIfLast(now) }
    }

    /// Releases the descriptor, exactly once, when both halves are closed and no call is inside.
    ///
    /// A user that enters too late is the last one to leave, a second time; the bit ensures that only one of them finishes.
    @usableFromInline
    @inline(never)
    func finishIfLast(_ seen: UInt32) {
        guard seen & (Bits.inside | Bits.finished) == 0 else { return }
        let last = state.bitwiseOr(Bits.finished, ordering: .acquiringAndReleasing).oldValue
        guard last & Bits.finished == 0 else { return }
        let descriptor = self.descriptor
        guard descriptor >= 0 else { return }
        // No registration is in progress, since it is a use.
        if isWatched { stopWatching() }
        if last & Bits.owned != 0 { Glibc.close(descriptor) }
    }
}
