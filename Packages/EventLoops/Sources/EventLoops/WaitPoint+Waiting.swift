internal import Glibc
internal import Synchronization

/// Waiting: as a task, as a blocked thread, with a callback.
///
/// A half has one slot for a task or a blocked thread, and one for a callback; a second one in the same slot is `busy`.
extension WaitPoint {
    /// What ``WaitPoint/watched`` says when it is not a descriptor.
    enum Watching {
        static let notYet: CInt = -1
        /// Epoll refuses it because it never blocks (a plain file).
        static let isAlwaysReady: CInt = -2
    }

    /// Suspends the reader until a matching edge, the deadline, cancellation or ``close(_:)``.
    ///
    /// Consumes nothing and leaves nothing behind, whatever ends it. Call only while inside the reader half.
    @inline(__always)
    public nonisolated(nonsending) func readerWait(
        for interest: Interest, until deadline: Moment?
    ) async -> Wake {
        if let wake = beginWait(.reader, until: deadline) { return wake }
        var isBusy = false
        // One half per function: a cancellation closure that captures one reference needs no allocation.
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                switch reader.park(continuation, for: interest) {
                // Closed before, and the latch is used up: nothing else would wake it.
                case .parked: if isClosed(.reader) { reader.signal([.readable, .writable]) }
                case .ready: continuation.resume()
                case .busy:
                    isBusy = true
                    continuation.resume()
                }
            }
        } onCancel: {
            reader.signal([.readable, .writable])
        }
        return isBusy ? .busy : outcome(.reader, until: deadline)
    }

    /// ``readerWait(for:until:)`` for the writer.
    @inline(__always)
    public nonisolated(nonsending) func writerWait(
        for interest: Interest, until deadline: Moment?
    ) async -> Wake {
        if let wake = beginWait(.writer, until: deadline) { return wake }
        var isBusy = false
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                switch writer.park(continuation, for: interest) {
                case .parked: if isClosed(.writer) { writer.signal([.readable, .writable]) }
                case .ready: continuation.resume()
                case .busy:
                    isBusy = true
                    continuation.resume()
                }
            }
        } onCancel: {
            writer.signal([.readable, .writable])
        }
        return isBusy ? .busy : outcome(.writer, until: deadline)
    }

    /// Waits on the calling thread, in `poll(2)`; never touches the loop.
    ///
    /// Woken by the descriptor, by ``signal(_:)`` and by ``close(_:)``. Call only while inside the half.
    @available(*, noasync, message: "blocks the thread; use readerWait or writerWait")
    public func block(_ half: Half, for interest: Interest, until deadline: Moment?) -> Wake {
        switch block(half, for: interest, until: deadline, minding: []) {
        case .here(let wake), .elsewhere(_, let wake): wake
        }
    }

    /// Has `watcher` fired, once, at the next matching edge or at close.
    ///
    /// Does not disturb a call that waits on the same half, and takes no edge away from it. One watcher at a time.
    ///
    /// - Returns: `.ready` when an edge had been latched (it will not fire: look now), `.closed` or `.busy` likewise, and
    ///   nil when it waits.
    public func watch(_ half: Half, for interest: Interest, with watcher: Watcher) -> Wake? {
        guard enterForUse() else { return .closed }
        defer { leaveUse() }
        if let wake = prepareToWait(half, until: nil) { return wake == .cancelled ? .ready : wake }
        let parking =
            half == .reader ? readerWatch.park(watcher, for: interest) : writerWatch.park(watcher, for: interest)
        switch parking {
        case .busy: return .busy
        case .ready: return isClosed(half) ? .closed : .ready
        case .parked: break
        }
        guard isClosed(half) else { return nil }
        return unwatch(half, watcher) ? .closed : nil
    }

    /// Takes a watcher back; true if it had not fired and now never will.
    @discardableResult
    public func unwatch(_ half: Half, _ watcher: Watcher) -> Bool {
        half == .reader ? readerWatch.unpark(watcher) : writerWatch.unpark(watcher)
    }

    /// What comes before parking. Like ``outcome(_:until:)`` a function of its own, so that what it needs does not count
    /// towards the memory of a parked task.
    @inline(never)
    private func beginWait(_ half: Half, until deadline: Moment?) -> Wake? {
        if let wake = prepareToWait(half, until: deadline) { return wake }
        if let deadline { alarm(half, at: deadline) }
        return nil
    }

    /// Registers with the loop at the first wait. Nil: go on and park.
    @inline(__always)
    private func prepareToWait(_ half: Half, until deadline: Moment?) -> Wake? {
        watched.load(ordering: .acquiring) >= 0 ? nil : register(half, until: deadline)
    }

    /// Stops the loop from watching the descriptor until somebody waits again. Nobody may be waiting.
    ///
    /// A descriptor that is read by blocking calls would else wake the loop's thread with each packet.
    public func rest() {
        alarmSlot.alarms?.cancelAll()
        _ = whileOpen { stopWatching() }
    }

    /// Takes the descriptor from the loop, if it is there. When this returns, no registration is under way either, unless a
    /// half is still open.
    func stopWatching() {
        let wasWatched = loop.registering.withLock { _ -> Bool in
            let number = watched.load(ordering: .acquiring)
            guard number >= 0 else { return false }
            watched.store(Watching.notYet, ordering: .releasing)
            loop.remove(descriptor: number)
            if number != descriptor { Glibc.close(number) }
            return true
        }
        if wasWatched { loop.retire(self) }
    }

    @inline(never)
    private func register(_ half: Half, until deadline: Moment?) -> Wake? {
        let descriptor = self.descriptor
        guard descriptor >= 0 else {
            isAwaited()
            return nil
        }
        return switch beginWatching(descriptor, unless: half) {
        case .isWatched: nil
        case .isAlwaysReady: outcome(half, until: deadline)
        case .isClosed: .closed
        case .failed(let number): .failed(number)
        }
    }

    private enum Registration: Sendable {
        case isWatched
        case isAlwaysReady
        case isClosed
        case failed(CInt)
    }

    /// Registers the descriptor with the loop, unless the half is closed.
    ///
    /// Invariant: a point that is closed is not registered. A borrowed descriptor is the lender's again as soon as the point is
    /// closed, and its number may soon be another's, so looking whether the half is closed and registering are one step
    /// under the loop's lock, and closing withdraws the registration under the same lock.
    private func beginWatching(_ descriptor: CInt, unless half: Half) -> Registration {
        loop.registering.withLock { _ in
            if isClosed(half) { return .isClosed }
            switch watched.load(ordering: .acquiring) {
            case 0...: return .isWatched
            case Watching.isAlwaysReady: return .isAlwaysReady
            default: break
            }
            var number = descriptor
            var failure = loop.register(self, descriptor: number)
            if failure == EEXIST {
                // Another point watches this very descriptor (both borrow it, say). Epoll tells them apart by number.
                number = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
                failure = number < 0 ? errno : loop.register(self, descriptor: number)
                if failure != nil, number >= 0 { Glibc.close(number) }
            }
            switch failure {
            case nil: watched.store(number, ordering: .releasing)
            case EPERM?: watched.store(Watching.isAlwaysReady, ordering: .releasing)
            case let failure?: return .failed(failure)
            }
            return failure == nil ? .isWatched : .isAlwaysReady
        }
    }

    @inline(never)
    private func outcome(_ half: Half, until deadline: Moment?) -> Wake {
        if isClosed(half) { return .closed }
        if Task.isCancelled { return .cancelled }
        if let deadline, Moment.now >= deadline { return .timedOut }
        return .ready
    }

    @inline(never)
    private func alarm(_ half: Half, at deadline: Moment) {
        alarmSlot.make().set(deadline, on: self, half: half)
    }

    func park(_ watcher: Watcher, _ half: Half, for interest: Interest) -> Waiter.Parking {
        half == .reader ? reader.park(watcher, for: interest) : writer.park(watcher, for: interest)
    }

    func unpark(_ watcher: Watcher, _ half: Half) -> Bool {
        half == .reader ? reader.unpark(watcher) : writer.unpark(watcher)
    }

    /// Wakes the call that waits on the half.
    func wake(_ half: Half) {
        if half == .reader { reader.signal([.readable, .writable]) } else { writer.signal([.readable, .writable]) }
    }
}
