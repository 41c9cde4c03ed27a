internal import Glibc
internal import Synchronization

// MARK: - Waiting

// A half has one slot for a task or a blocked thread, and one for a callback. A second waiter in the same slot is `busy`.
extension WaitPoint {
    /// The values of ``WaitPoint/watched`` that are not descriptors.
    enum Watching {
        static let notYet: CInt = -1
        /// Epoll refuses the descriptor because it never blocks (a regular file).
        static let isAlwaysReady: CInt = -2
    }

    /// Suspends the reader until a matching edge, the deadline, cancellation or ``close(_:)``.
    ///
    /// Consumes nothing and leaves nothing to clean up, however the wait ends. Call only while inside the reader half.
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
                // If the half was closed before and the latch was consumed, nothing else would wake the task.
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

    /// Waits on the calling thread, in `poll(2)`, without the loop.
    ///
    /// The descriptor, ``signal(_:)`` and ``close(_:)`` end the wait. Call only while inside the half.
    @available(*, noasync, message: "blocks the thread; use readerWait or writerWait")
    public func block(_ half: Half, for interest: Interest, until deadline: Moment?) -> Wake {
        switch block(half, for: interest, until: deadline, minding: []) {
        case .here(let wake), .elsewhere(_, let wake): wake
        }
    }

    /// Fires `watcher` once, at the next matching edge or at close.
    ///
    /// A call that waits on the same half is not affected and loses no edge. One watcher at a time.
    ///
    /// - Returns: nil if the watcher waits. Otherwise it will not fire: `.ready` if an edge was latched, so that the caller should
    ///   check now; `.closed`; `.busy`.
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

    /// Withdraws a watcher; true if it has not fired and never will.
    @discardableResult
    public func unwatch(_ half: Half, _ watcher: Watcher) -> Bool {
        half == .reader ? readerWatch.unpark(watcher) : writerWatch.unpark(watcher)
    }

    /// Prepares for parking. Like ``outcome(_:until:)``, it is a separate function, so that its variables do not add to the
    /// memory of a parked task.
    @inline(never)
    private func beginWait(_ half: Half, until deadline: Moment?) -> Wake? {
        if let wake = prepareToWait(half, until: deadline) { return wake }
        if let deadline { setDeadline(deadline, half) }
        return nil
    }

    /// Registers with the loop at the first wait. Nil if the caller should park.
    @inline(__always)
    private func prepareToWait(_ half: Half, until deadline: Moment?) -> Wake? {
        watched.load(ordering: .acquiring) >= 0 ? nil : register(half, until: deadline)
    }

    /// Stops the loop from watching the descriptor until the next wait. No wait may be in progress.
    ///
    /// Otherwise a descriptor that is read by blocking calls would wake the loop's thread with each packet.
    public func rest() {
        deadlineSlot.deadlines?.cancelAll()
        _ = whileOpen { stopWatching() }
    }

    /// Removes the descriptor from the loop if it is registered. When this returns, no registration is in progress either, unless
    /// a half is still open.
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
    /// Invariant: a closed point is not registered. As soon as a point is closed, the caller may close a borrowed descriptor, and
    /// its number may be reused. Checking whether the half is closed and registering are therefore one step under the loop's
    /// lock, and closing removes the registration under the same lock.
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
                // Another point watches the same descriptor, for example because both borrow it. Epoll distinguishes
                // registrations by number, so register a duplicate.
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
    private func setDeadline(_ deadline: Moment, _ half: Half) {
        deadlineSlot.make().set(deadline, on: self, half: half)
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
