internal import Glibc
internal import Synchronization

/// The watching of the descriptor of a ``WaitPoint``: by the loop, by a poller, or by none.
///
/// The loop watches from the first wait on, until both halves are closed; or a poller does, while only observers with that poller wait.
///
/// Each wait asks for a watcher before it parks. *poller* is the observer's own, and *other* is another one; `A / B` is A if no call
/// or observer waits at the point, and B otherwise.
///
///     watch  | call waits | observer waits | by poller     | by other     | ends polling    | close
///     none   | loop       | loop           | poller        | other        | none            | none
///     loop   | loop       | loop           | poller / loop | other / loop | loop            | none
///     poller | kept       | kept           | poller        | other / kept | none / poller   | none
///     kept   | kept       | kept           | kept          | kept         | kept            | none
///     ready  | ready      | ready          | ready         | ready        | ready           | ready
///
/// *kept*: the loop has taken the descriptor over from a poller, since the run loop of the poller may not run while a call waits. It
/// keeps the descriptor, because calls and observers that alternate would move it back and forth. *ready*: epoll refuses the
/// descriptor because it never blocks (a regular file), so no wait takes place.
///
/// Everything changes under the lock `registering` of the point's loop, except that waits read both words without it.
struct DescriptorWatch: ~Copyable, Sendable {
    /// The values of ``number`` that are not descriptors.
    private enum Number {
        static let unwatched: CInt = -1
        static let isAlwaysReady: CInt = -2

        /// A poller watches this descriptor. Converts in both directions.
        static func polled(_ value: CInt) -> CInt { -3 - value }
    }

    /// The poller that watches the descriptor instead of the loop: a retained reference, or 0. Changes together with ``number``.
    private let poller = Atomic<UInt>(0)
    /// The descriptor that the loop watches, or a value of ``Number``.
    let number = Atomic<CInt>(Number.unwatched)

    /// Whether the loop watches the descriptor, or the poller if there is one.
    func isDone(by poller: DescriptorPoller?) -> Bool {
        guard let poller else { return number.load(ordering: .acquiring) >= 0 }
        return self.poller.load(ordering: .acquiring) == UInt(bitPattern: Unmanaged.passUnretained(poller).toOpaque())
    }

    /// Whether the descriptor is not watched, although it can be.
    var isUnwatched: Bool { number.load(ordering: .acquiring) == Number.unwatched }

    /// Whether the loop or a poller watches the descriptor.
    var isActive: Bool {
        let number = number.load(ordering: .acquiring)
        return number != Number.unwatched && number != Number.isAlwaysReady
    }

    /// Whether a poller watches the descriptor.
    var isByPoller: Bool { poller.load(ordering: .acquiring) != 0 }

    /// The number under which the loop watches the descriptor; nil if it does not.
    var numberInLoop: CInt? {
        let number = number.load(ordering: .acquiring)
        return number >= 0 ? number : nil
    }

    /// The result of ``begin(_:of:half:by:)``.
    enum Registration: Sendable {
        case isWatched
        case isAlwaysReady
        case isClosed
        case failed(CInt)
    }

    /// Has the descriptor watched unless the half is closed: by the poller if it may have the descriptor, otherwise by the loop.
    ///
    /// Invariant: a closed point is not registered. As soon as a point is closed, the caller may close a borrowed descriptor, and
    /// its number may be reused. Checking whether the half is closed and registering are therefore one step under the loop's
    /// lock, and closing removes the registration under the same lock.
    func begin(
        _ descriptor: CInt, of point: WaitPoint, half: WaitHalf, by poller: DescriptorPoller?
    ) -> Registration {
        let (registration, old) = point.loop.registering.withLock { _ in
            register(descriptor, of: point, half: half, by: poller)
        }
        old?.retire(point)
        return registration
    }

    /// Ends the registration of the descriptor. When this returns, no registration is in progress either, unless a half is still
    /// open.
    func end(of point: WaitPoint) {
        let old = point.loop.registering.withLock { _ -> (any DescriptorRegistrar)? in
            guard let registrar = registrar(of: point) else { return nil }
            defer { endMove(of: point) }
            endRegistration(with: registrar, of: point)
            return registrar
        }
        old?.retire(point)
    }

    /// Ends the registration with a poller, unless a wait needs it.
    func endPolling(of point: WaitPoint) {
        let old = point.loop.registering.withLock { _ -> (any DescriptorRegistrar)? in
            guard let registrar = registrar(of: point), registrar !== point.loop else { return nil }
            defer { endMove(of: point) }
            if beginMove(of: point).isNeeded { return nil }
            endRegistration(with: registrar, of: point)
            return registrar
        }
        old?.retire(point)
    }

    /// Whether an observer that has parked must ask again: a poller other than `poller` watches the descriptor, one takes it over
    /// just now, or `poller` has ceased to watch it.
    func mustAskAgain(_ point: WaitPoint, by poller: DescriptorPoller?) -> Bool {
        let seen = point.state.bitsAfterParking
        guard seen & PointState.Bits.polled == 0 else {
            return seen & PointState.Bits.moving != 0 || poller == nil || !isDone(by: poller)
        }
        return poller != nil && isUnwatched && point.descriptor >= 0
    }
}

// MARK: - Under the lock

extension DescriptorWatch {
    /// The loop or the poller that watches the descriptor.
    private func registrar(of point: WaitPoint) -> (any DescriptorRegistrar)? {
        if numberInLoop != nil { return point.loop }
        guard let pointer = UnsafeRawPointer(bitPattern: poller.load(ordering: .acquiring)) else { return nil }
        return Unmanaged<DescriptorPoller>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Returns the result, and the registrar that watched the descriptor before. It must retire the point, after the lock.
    private func register(
        _ descriptor: CInt, of point: WaitPoint, half: WaitHalf, by poller: DescriptorPoller?
    ) -> (Registration, (any DescriptorRegistrar)?) {
        if point.isClosed(half) { return (.isClosed, nil) }
        if number.load(ordering: .acquiring) == Number.isAlwaysReady { return (.isAlwaysReady, nil) }
        defer { endMove(of: point) }
        let old = registrar(of: point)
        if let poller, beginMove(of: point, to: poller, from: old) {
            if old === poller { return (.isWatched, nil) }
            if case .success(let number) = add(descriptor, of: point, to: poller) {
                if let old { endRegistration(with: old, of: point) }
                self.poller.store(UInt(bitPattern: Unmanaged.passRetained(poller).toOpaque()), ordering: .releasing)
                self.number.store(Number.polled(number), ordering: .releasing)
                return (.isWatched, old)
            }
        }
        if old === point.loop { return (.isWatched, nil) }
        switch add(descriptor, of: point, to: point.loop) {
        case .success(let number):
            if let old {
                endRegistration(with: old, of: point)
                point.state.set(PointState.Bits.reclaimed)
            }
            self.number.store(number, ordering: .releasing)
            return (.isWatched, old)
        case .failure(let error) where error.number == EPERM:
            number.store(Number.isAlwaysReady, ordering: .releasing)
            return (.isAlwaysReady, nil)
        case .failure(let error): return (.failed(error.number), nil)
        }
    }

    /// An error of epoll.
    private struct RegistrationError: Error {
        let number: CInt
    }

    /// Registers the descriptor, or a duplicate. The registrar reports what is ready already, so no edge is missed.
    private func add(
        _ descriptor: CInt, of point: WaitPoint, to registrar: any DescriptorRegistrar
    ) -> Result<CInt, RegistrationError> {
        var number = descriptor
        var failure = registrar.register(point, descriptor: number)
        if failure == EEXIST {
            // Another point watches the same descriptor, for example because both borrow it. Epoll distinguishes
            // registrations by number, so register a duplicate.
            number = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            failure = number < 0 ? errno : registrar.register(point, descriptor: number)
            if failure != nil, number >= 0 { Glibc.close(number) }
        }
        if let failure { return .failure(RegistrationError(number: failure)) }
        return .success(number)
    }

    /// Begins a change of the registrar to a poller. Returns whether it may watch the descriptor: it does already, or no wait needs the
    /// present registrar. ``endMove(of:)`` must follow.
    private func beginMove(
        of point: WaitPoint, to poller: DescriptorPoller, from old: (any DescriptorRegistrar)?
    ) -> Bool {
        if old === poller { return true }
        let (isNeeded, seen) = beginMove(of: point)
        return seen & PointState.Bits.reclaimed == 0 && !isNeeded
    }

    /// Begins a change of the registrar. Returns whether a wait needs the present one, and the bits until now.
    ///
    /// From the first step on, a wait that parks sees the bits, and asks again. ``endMove(of:)`` must follow.
    private func beginMove(of point: WaitPoint) -> (isNeeded: Bool, seen: UInt32) {
        let seen = point.state.setBeforeLooking(PointState.Bits.polled | PointState.Bits.moving)
        return (point.hasWait, seen)
    }

    /// Makes the bits agree with the registrar again.
    private func endMove(of point: WaitPoint) {
        point.state.clear(isByPoller ? PointState.Bits.moving : PointState.Bits.moving | PointState.Bits.polled)
    }

    /// Stops watching the descriptor, with the registrar that watches it. That must retire the point, after the lock.
    private func endRegistration(with registrar: any DescriptorRegistrar, of point: WaitPoint) {
        let watched = number.exchange(Number.unwatched, ordering: .acquiringAndReleasing)
        let number = watched >= 0 ? watched : Number.polled(watched)
        poller.store(0, ordering: .releasing)
        registrar.remove(descriptor: number)
        if number != point.descriptor { Glibc.close(number) }
        if let poller = registrar as? DescriptorPoller { Unmanaged.passUnretained(poller).release() }
    }
}

/// An object that watches descriptors for wait points with an ``EpollSet``: an event loop or a poller.
protocol DescriptorRegistrar: AnyObject, Sendable {
    /// Begins to watch a point's descriptor, in both directions. Returns nil or an `errno`.
    func register(_ point: WaitPoint, descriptor: CInt) -> CInt?

    /// Stops watching a descriptor; ``retire(_:)`` must follow.
    func remove(descriptor: CInt)

    /// Releases a point that is no longer watched. An event that was received before may still refer to it, so it is kept until
    /// those have been processed.
    func retire(_ point: WaitPoint)
}
