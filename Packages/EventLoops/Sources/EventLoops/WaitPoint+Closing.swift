internal import Glibc
internal import Synchronization

/// Entering, leaving, closing.
extension WaitPoint {
    enum Bits {
        static let readerInside: UInt32 = 1
        static let writerInside: UInt32 = 2
        static let readerClosed: UInt32 = 4
        static let writerClosed: UInt32 = 8
        /// The descriptor has been let go.
        static let finished: UInt32 = 16
        static let owned: UInt32 = 32
        static let attachedOwned: UInt32 = 64
        static let attached: UInt32 = 128
        /// Users that are neither reader nor writer are counted from here up.
        static let oneUse: UInt32 = 256
        static let bothClosed = readerClosed | writerClosed
        static let anyoneInside = readerInside | writerInside | ~(oneUse - 1)

        static func attached(_ ownership: DescriptorOwnership) -> UInt32 {
            ownership == .owned ? attached | attachedOwned | owned : attached
        }
    }

    /// Begins one call on a half. While inside, the descriptor stays open and a second caller is `busy`.
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

    /// Ends the call begun by ``enter(_:)``. The last one out of a closed point closes its descriptor.
    @inline(__always)
    public func leave(_ half: Half) {
        let inside = half == .reader ? Bits.readerInside : Bits.writerInside
        let now = state.bitwiseAnd(~inside, ordering: .acquiringAndReleasing).newValue
        if now & Bits.bothClosed == Bits.bothClosed { finishIfLast(now) }
    }

    /// True if a call is under way on the half.
    public func isInside(_ half: Half) -> Bool {
        state.load(ordering: .relaxed) & (half == .reader ? Bits.readerInside : Bits.writerInside) != 0
    }

    /// True once the half was closed.
    @inline(__always)
    public func isClosed(_ half: Half) -> Bool {
        state.load(ordering: .acquiring) & (half == .reader ? Bits.readerClosed : Bits.writerClosed) != 0
    }

    /// Uses the descriptor beside reader and writer (`getsockname`, `setsockopt`, …); nil if there is none any more or yet.
    @inlinable
    public func withDescriptor<Result, Failure: Error>(
        _ body: (CInt) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard enterForUse() else { return nil }
        defer { leaveUse() }
        let descriptor = self.descriptor
        return descriptor < 0 ? nil : try body(descriptor)
    }

    /// Runs `body` beside reader and writer while the descriptor, if there is one, stays open; nil if the point is closed.
    @inlinable
    public func whileOpen<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result? {
        guard enterForUse() else { return nil }
        defer { leaveUse() }
        return try body()
    }

    /// Gives the descriptor up: the point is closed without closing or shutting down the descriptor, which is the
    /// caller's from now on. -1 if there is none, or if the point was closed before. Nobody may be inside.
    public func detach() -> CInt {
        guard enterForUse() else { return -1 }
        defer { leaveUse() }
        state.bitwiseAnd(~Bits.owned, ordering: .acquiringAndReleasing)
        close()
        return descriptor
    }

    /// Closes one half: its waits and blocked calls end at once. Idempotent, from any thread.
    ///
    /// The descriptor goes when both halves are closed and nobody is inside. If a call is blocked in the kernel on an owned
    /// socket, that direction is shut down, which is the only thing that wakes it.
    public func close(_ half: Half) {
        close(half == .reader ? Bits.readerClosed : Bits.writerClosed)
    }

    /// Closes both halves.
    public func close() {
        close(Bits.bothClosed)
    }

    private func close(_ bits: UInt32) {
        // Counted as a user meanwhile, so that the descriptor cannot go before it has been shut down.
        var seen = state.load(ordering: .relaxed)
        while true {
            if seen & bits == bits || seen & Bits.finished != 0 { return }
            let (done, now) = state.weakCompareExchange(
                expected: seen, desired: (seen | bits) &+ Bits.oneUse, successOrdering: .acquiringAndReleasing,
                failureOrdering: .relaxed)
            if done { break }
            seen = now
        }
        shutDown(for: bits, seen: seen)
        // A borrowed descriptor is the lender's again when this returns, who may close it; so the loop forgets it now, even if
        // somebody is still inside. Its number may be another's by the time the last one leaves.
        if (seen | bits) & Bits.bothClosed == Bits.bothClosed, seen & Bits.owned == 0 { stopWatching() }
        let alarms = alarmSlot.alarms
        if bits & Bits.readerClosed != 0 {
            alarms?.cancel(.reader)
            reader.signal([.readable, .writable])
            readerWatch.signal([.readable, .writable])
        }
        if bits & Bits.writerClosed != 0 {
            alarms?.cancel(.writer)
            writer.signal([.readable, .writable])
            writerWatch.signal([.readable, .writable])
        }
        leaveUse()
    }

    /// Ends calls that block in the kernel on halves that are closed now. A borrowed descriptor is left alone.
    func shutDown(for closed: UInt32, seen: UInt32) {
        guard seen & Bits.owned != 0 else { return }
        let wakesReader = closed & Bits.readerClosed != 0 && seen & Bits.readerInside != 0
        let wakesWriter = closed & Bits.writerClosed != 0 && seen & Bits.writerInside != 0
        switch (wakesReader, wakesWriter) {
        case (true, true): shutdown(descriptor, CInt(SHUT_RDWR))
        case (true, false): shutdown(descriptor, CInt(SHUT_RD))
        case (false, true): shutdown(descriptor, CInt(SHUT_WR))
        case (false, false): break
        }
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

    /// Lets the descriptor go, exactly once, when nobody is inside a point that is closed on both halves.
    ///
    /// A user that came too late is "last out" a second time; the bit sees to it that only one of them finishes.
    private func finishIfLast(_ seen: UInt32) {
        guard seen & (Bits.anyoneInside | Bits.finished) == 0 else { return }
        let last = state.bitwiseOr(Bits.finished, ordering: .acquiringAndReleasing).oldValue
        guard last & Bits.finished == 0 else { return }
        let descriptor = self.descriptor
        guard descriptor >= 0 else { return }
        if watched.load(ordering: .acquiring) >= 0 { stopWatching() }  // no registration is under way: none is inside
        if last & Bits.owned != 0 { Glibc.close(descriptor) }
    }
}
