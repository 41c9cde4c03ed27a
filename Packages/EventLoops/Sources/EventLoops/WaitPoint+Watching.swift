internal import Glibc
internal import Synchronization

// MARK: - Watching the descriptor

// The loop watches the descriptor from the first wait on, until both halves are closed; or a poller does, while only observers with that
// poller wait.
extension WaitPoint {
    /// The values of ``WaitPoint/watched`` that are not descriptors.
    enum Watching {
        static let notYet: CInt = -1
        /// Epoll refuses the descriptor because it never blocks (a regular file).
        static let isAlwaysReady: CInt = -2

        /// A poller watches this descriptor. Converts in both directions.
        static func polled(_ value: CInt) -> CInt { -3 - value }
    }

    /// Whether the loop watches the descriptor, or the poller if there is one.
    @inline(__always)
    func isWatched(by poller: DescriptorPoller?) -> Bool {
        guard let poller else { return watched.load(ordering: .acquiring) >= 0 }
        return self.poller.load(ordering: .acquiring) == UInt(bitPattern: Unmanaged.passUnretained(poller).toOpaque())
    }

    /// Whether an observer that has parked must register again: a poller other than `poller` watches the descriptor, one takes it over
    /// just now, or `poller` has ceased to watch it.
    func mustWatchAgain(by poller: DescriptorPoller?) -> Bool {
        let seen = state.load(ordering: .acquiring)
        guard seen & Bits.polled == 0 else {
            return seen & Bits.moving != 0 || poller == nil || !isWatched(by: poller)
        }
        return poller != nil && watched.load(ordering: .acquiring) == Watching.notYet && descriptor >= 0
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

    /// Stops a poller from watching the descriptor until the next wait, unless a wait needs it. For observers that have withdrawn:
    /// otherwise each edge would wake the poller's thread.
    public func endPolling() {
        let seen = state.load(ordering: .acquiring)
        // The work is not over, so the loop takes it over.
        if seen & Bits.workPolled != 0 { return beginWork(by: nil) }
        if seen & Bits.polled == 0 { return }
        let old = loop.registering.withLock { _ -> (any DescriptorRegistrar)? in
            guard let registrar, registrar !== loop else { return nil }
            defer { endMove() }
            if beginMove().isNeeded { return nil }
            endRegistration(with: registrar)
            return registrar
        }
        old?.retire(self)
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
    func register(_ half: Half, until deadline: Moment?, by poller: DescriptorPoller?) -> Wake? {
        let descriptor = self.descriptor
        guard descriptor >= 0 else {
            // An observer of the other half may have another poller.
            let isShared = half == .reader ? writerWatch.isParked : readerWatch.isParked
            beginWork(by: isShared ? nil : poller)
            return nil
        }
        endPollingWork()
        // A call of a stream above is not inside this point: without the use, the descriptor could be closed meanwhile.
        guard enterForUse() else { return .closed }
        defer { leaveUse() }
        let (registration, old) = loop.registering.withLock { _ in beginWatching(descriptor, unless: half, by: poller) }
        old?.retire(self)
        return switch registration {
        case .isWatched: nil
        case .isAlwaysReady: outcome(half, until: deadline)
        case .isClosed: .closed
        case .failed(let number): .failed(number)
        }
    }

    /// Prepares a wait at a point without a descriptor.
    ///
    /// A call needs the loop to watch the descriptors of the work, and an observer may give them to its poller at the same time. The
    /// observer sets the bit, and then looks for calls; a call parks, and then looks for the bit. One of them finds the other, and the
    /// call looks again.
    private func beginWork(by poller: DescriptorPoller?) {
        if poller == nil {
            endPollingWork()
            return isAwaited(by: nil)
        }
        isAwaited(by: poller)
        state.bitwiseOr(Bits.workPolled, ordering: .sequentiallyConsistent)
        if reader.isParked { wake(.reader) }
        if writer.isParked { wake(.writer) }
        // A descriptor that has been attached meanwhile replaces the work.
        if descriptor >= 0 { endPollingWork() }
    }

    private func endPollingWork() {
        if state.load(ordering: .relaxed) & Bits.workPolled == 0 { return }
        state.bitwiseAnd(~Bits.workPolled, ordering: .acquiringAndReleasing)
    }
}

// MARK: - Registering

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

    /// Whether the poller may watch the descriptor: it does already, or no wait needs the present registrar. ``endMove()`` must follow.
    private func mayPoll(_ poller: DescriptorPoller, instead old: (any DescriptorRegistrar)?) -> Bool {
        if old === poller { return true }
        let (isNeeded, seen) = beginMove()
        return seen & Bits.reclaimed == 0 && !isNeeded
    }

    /// Begins a change of the registrar. Returns whether a wait needs the present one, and the bits until now.
    ///
    /// From the first step on, a wait that parks sees the bits, and looks again. ``endMove()`` must follow.
    private func beginMove() -> (isNeeded: Bool, seen: UInt32) {
        let seen = state.bitwiseOr(Bits.polled | Bits.moving, ordering: .sequentiallyConsistent).oldValue
        return (reader.isParked || writer.isParked || readerWatch.isParked || writerWatch.isParked, seen)
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
