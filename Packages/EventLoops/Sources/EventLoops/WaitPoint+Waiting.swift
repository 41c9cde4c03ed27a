internal import Glibc
internal import Synchronization

// MARK: - Waiting

// A half has one slot for a task or a blocked thread, and one for a callback. A second waiter in the same slot is `busy`.
extension WaitPoint {
    /// Suspends the reader until a matching edge, the deadline, cancellation or ``close(_:)``.
    ///
    /// Consumes nothing and leaves nothing to clean up, however the wait ends. Call only while inside the reader half.
    @inlinable
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
                case .parked: if mustLookAgain(.reader) { reader.signal([.readable, .writable]) }
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
    @inlinable
    @inline(__always)
    public nonisolated(nonsending) func writerWait(
        for interest: Interest, until deadline: Moment?
    ) async -> Wake {
        if let wake = beginWait(.writer, until: deadline) { return wake }
        var isBusy = false
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                switch writer.park(continuation, for: interest) {
                case .parked: if mustLookAgain(.writer) { writer.signal([.readable, .writable]) }
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
    /// - Parameters:
    ///   - half: the half that the watcher observes: closing it fires the watcher.
    ///   - interest: the readiness to wait for.
    ///   - watcher: the observer, which the point retains until it fires.
    ///   - poller: watches the descriptor instead of the event loop, while only observers wait that have the same poller. Nil if the
    ///     watcher must fire even if that thread is busy.
    /// - Returns: nil if the watcher waits. Otherwise it will not fire: `.ready` if an edge was latched, so that the caller should
    ///   check now; `.closed`; `.busy`.
    public func watch(
        _ half: Half, for interest: Interest, with watcher: Watcher, by poller: DescriptorPoller? = nil
    ) -> Wake? {
        guard enterForUse() else { return .closed }
        defer { leaveUse() }
        if let wake = prepareToWait(half, until: nil, by: poller) { return wake == .cancelled ? .ready : wake }
        let parking =
            half == .reader ? readerWatch.park(watcher, for: interest) : writerWatch.park(watcher, for: interest)
        switch parking {
        case .busy: return .busy
        case .ready: return isClosed(half) ? .closed : .ready
        case .parked: break
        }
        // Another poller may have taken the descriptor over since, or its own may have been stopped.
        if mustWatchAgain(by: poller) { return unwatch(half, watcher) ? .ready : nil }
        guard isClosed(half) else { return nil }
        return unwatch(half, watcher) ? .closed : nil
    }

    /// Withdraws a watcher; true if it has not fired and never will.
    @discardableResult
    public func unwatch(_ half: Half, _ watcher: Watcher) -> Bool {
        half == .reader ? readerWatch.unpark(watcher) : writerWatch.unpark(watcher)
    }

    /// Whether the watcher is registered here: from ``watch(_:for:with:by:)`` until an edge takes it or ``unwatch(_:_:)``
    /// withdraws it.
    ///
    /// Ask this instead of recording in ``Watcher/fire()`` that a registration has ended: another thread may have taken the
    /// watcher, and call `fire()` only after the watcher has been registered again.
    ///
    /// - Returns: false also if an edge has taken the watcher and `fire()` is about to be called.
    public func isRegistered(_ half: Half, _ watcher: Watcher) -> Bool {
        half == .reader ? readerWatch.holds(watcher) : writerWatch.holds(watcher)
    }

    /// Prepares for parking. Like ``outcome(_:until:)``, it is a separate function, so that its variables do not add to the
    /// memory of a parked task.
    @usableFromInline
    @inline(never)
    func beginWait(_ half: Half, until deadline: Moment?) -> Wake? {
        if let wake = prepareToWait(half, until: deadline) { return wake }
        if let deadline { setDeadline(deadline, half) }
        return nil
    }

    /// Registers with the loop at the first wait, or with the poller. Nil if the caller should park.
    @inline(__always)
    private func prepareToWait(_ half: Half, until deadline: Moment?, by poller: DescriptorPoller? = nil) -> Wake? {
        isWatched(by: poller) ? nil : register(half, until: deadline, by: poller)
    }

    @usableFromInline
    @inline(never)
    func outcome(_ half: Half, until deadline: Moment?) -> Wake {
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
