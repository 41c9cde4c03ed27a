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

        /// A poller watches this descriptor. Converts in both directions.
        static func polled(_ value: CInt) -> CInt { -3 - value }
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
        // Another poller may have taken the descriptor over since.
        if isPolled(by: poller) == false { return unwatch(half, watcher) ? .ready : nil }
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

    /// Registers with the loop at the first wait, or with the poller. Nil if the caller should park.
    @inline(__always)
    private func prepareToWait(_ half: Half, until deadline: Moment?, by poller: DescriptorPoller? = nil) -> Wake? {
        isWatched(by: poller) ? nil : register(half, until: deadline, by: poller)
    }

    /// Whether the loop watches the descriptor, or the poller if there is one.
    @inline(__always)
    private func isWatched(by poller: DescriptorPoller?) -> Bool {
        guard let poller else { return watched.load(ordering: .acquiring) >= 0 }
        return self.poller.load(ordering: .acquiring) == UInt(bitPattern: Unmanaged.passUnretained(poller).toOpaque())
    }

    /// Whether `poller` watches the descriptor; false if another one does, or is about to. Nil if the loop watches it.
    private func isPolled(by poller: DescriptorPoller?) -> Bool? {
        let seen = state.load(ordering: .acquiring)
        if seen & Bits.polled == 0 { return nil }
        return seen & Bits.moving == 0 && poller != nil && isWatched(by: poller)
    }

    /// Whether the loop or a poller watches the descriptor.
    var isWatched: Bool {
        let watched = watched.load(ordering: .acquiring)
        return watched != Watching.notYet && watched != Watching.isAlwaysReady
    }

    /// Stops the loop from watching the descriptor until the next wait. No wait may be in progress.
    ///
    /// Otherwise a descriptor that is read by blocking calls would wake the loop's thread with each packet.
    public func rest() {
        deadlineSlot.deadlines?.cancelAll()
        _ = whileOpen { stopWatching() }
    }

    /// Ends the registration of the descriptor. When this returns, no registration is in progress either, unless a half is still
    /// open.
    func stopWatching() {
        let old = loop.registering.withLock { _ -> (any DescriptorRegistrar)? in
            guard let registrar else { return nil }
            defer { endMove() }
            endRegistration(with: registrar)
            return registrar
        }
        old?.retire(self)
    }

    @inline(never)
    private func register(_ half: Half, until deadline: Moment?, by poller: DescriptorPoller?) -> Wake? {
        let descriptor = self.descriptor
        guard descriptor >= 0 else {
            isAwaited()
            return nil
        }
        let (registration, old) = loop.registering.withLock { _ in beginWatching(descriptor, unless: half, by: poller) }
        old?.retire(self)
        return switch registration {
        case .isWatched: nil
        case .isAlwaysReady: outcome(half, until: deadline)
        case .isClosed: .closed
        case .failed(let number): .failed(number)
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

// MARK: - Registering the descriptor

// Everything here is called under the lock `registering` of the point's loop.
extension WaitPoint {
    private enum Registration: Sendable {
        case isWatched
        case isAlwaysReady
        case isClosed
        case failed(CInt)
    }

    /// The loop or the poller that watches the descriptor.
    private var registrar: (any DescriptorRegistrar)? {
        if watched.load(ordering: .acquiring) >= 0 { return loop }
        guard let pointer = UnsafeRawPointer(bitPattern: poller.load(ordering: .acquiring)) else { return nil }
        return Unmanaged<DescriptorPoller>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Registers the descriptor unless the half is closed: with the poller if it may have the descriptor, otherwise with the loop.
    ///
    /// Invariant: a closed point is not registered. As soon as a point is closed, the caller may close a borrowed descriptor, and
    /// its number may be reused. Checking whether the half is closed and registering are therefore one step under the loop's
    /// lock, and closing removes the registration under the same lock.
    ///
    /// - Returns: the result, and the registrar that watched the descriptor before. It must retire this point, after the lock.
    private func beginWatching(
        _ descriptor: CInt, unless half: Half, by poller: DescriptorPoller?
    ) -> (Registration, (any DescriptorRegistrar)?) {
        if isClosed(half) { return (.isClosed, nil) }
        if watched.load(ordering: .acquiring) == Watching.isAlwaysReady { return (.isAlwaysReady, nil) }
        defer { endMove() }
        let old = registrar
        if let poller, mayPoll(poller, instead: old) {
            if old === poller { return (.isWatched, nil) }
            if case .success(let number) = add(descriptor, to: poller) {
                if let old { endRegistration(with: old) }
                self.poller.store(UInt(bitPattern: Unmanaged.passRetained(poller).toOpaque()), ordering: .releasing)
                watched.store(Watching.polled(number), ordering: .releasing)
                return (.isWatched, old)
            }
        }
        if old === loop { return (.isWatched, nil) }
        switch add(descriptor, to: loop) {
        case .success(let number):
            if let old {
                endRegistration(with: old)
                state.bitwiseOr(Bits.reclaimed, ordering: .acquiringAndReleasing)
            }
            watched.store(number, ordering: .releasing)
            return (.isWatched, old)
        case .failure(let error) where error.number == EPERM:
            watched.store(Watching.isAlwaysReady, ordering: .releasing)
            return (.isAlwaysReady, nil)
        case .failure(let error): return (.failed(error.number), nil)
        }
    }

    /// An error of epoll.
    private struct RegistrationError: Error {
        let number: CInt
    }

    /// Registers the descriptor, or a duplicate. The registrar reports what is ready already, so no edge is missed.
    private func add(_ descriptor: CInt, to registrar: any DescriptorRegistrar) -> Result<CInt, RegistrationError> {
        var number = descriptor
        var failure = registrar.register(self, descriptor: number)
        if failure == EEXIST {
            // Another point watches the same descriptor, for example because both borrow it. Epoll distinguishes
            // registrations by number, so register a duplicate.
            number = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            failure = number < 0 ? errno : registrar.register(self, descriptor: number)
            if failure != nil, number >= 0 { Glibc.close(number) }
        }
        if let failure { return .failure(RegistrationError(number: failure)) }
        return .success(number)
    }

    /// Whether the poller may watch the descriptor: it does already, or no wait needs the present registrar.
    ///
    /// From the first step on, a wait that parks sees the bits, and looks again. ``endMove()`` must follow.
    private func mayPoll(_ poller: DescriptorPoller, instead old: (any DescriptorRegistrar)?) -> Bool {
        if old === poller { return true }
        let seen = state.bitwiseOr(Bits.polled | Bits.moving, ordering: .sequentiallyConsistent).oldValue
        let isNeeded = reader.isParked || writer.isParked || readerWatch.isParked || writerWatch.isParked
        return seen & Bits.reclaimed == 0 && !isNeeded
    }

    /// Makes the bits agree with the registrar again.
    private func endMove() {
        let isPolled = poller.load(ordering: .acquiring) != 0
        state.bitwiseAnd(isPolled ? ~Bits.moving : ~(Bits.moving | Bits.polled), ordering: .acquiringAndReleasing)
    }

    /// Stops watching the descriptor, with the registrar that watches it. That must retire this point, after the lock.
    private func endRegistration(with registrar: any DescriptorRegistrar) {
        let watched = watched.exchange(Watching.notYet, ordering: .acquiringAndReleasing)
        let number = watched >= 0 ? watched : Watching.polled(watched)
        poller.store(0, ordering: .releasing)
        registrar.remove(descriptor: number)
        if number != descriptor { Glibc.close(number) }
        if let poller = registrar as? DescriptorPoller { Unmanaged.passUnretained(poller).release() }
    }
}
