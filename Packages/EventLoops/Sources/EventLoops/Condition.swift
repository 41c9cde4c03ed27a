/// A condition variable for tasks, blocked threads and callbacks.
///
/// The state is guarded by a lock of the caller's. After each change, the caller calls ``notify()``, and the waiter checks the
/// state again.
///
/// ```swift
/// let answers = Locked<[String]>([])
/// let hasAnswers = Condition()
///
/// answers.withLock { $0.append("pong") }
/// hasAnswers.notify()
///
/// let answer = try await hasAnswers.wait(until: .now + .seconds(5)) {
///     answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
/// }
/// ```
///
/// ``OneShot``, ``Mailbox`` and ``Broadcast`` are built on it and need no lock from their users. One task or thread waits at a
/// time; for a second one the wait throws ``WaitError/busy``. A callback does not count as a waiter.
public final class Condition: Sendable {
    /// Signalled as readable by each ``notify()``. Use it to wait at several points at once.
    public let point: WaitPoint
    private let signal = Locked<(any DeliverySignal)?>(nil)

    /// Makes a condition.
    ///
    /// - Parameter loop: the loop whose timers end waits at their deadlines.
    public init(loop: EventLoop = .shared) {
        point = WaitPoint(loop: loop)
    }

    /// Makes the waiter check the state again. May be called from any thread, but not while holding a lock that the waiter's
    /// closure takes.
    public func notify() {
        point.signal(.readable)
        signal.withLock { $0 }?.signal()
    }

    /// Suspends until `check` returns a value. Returns at once if it already does.
    ///
    /// - Parameters:
    ///   - deadline: when to give up; nil for no limit.
    ///   - check: checks the state. Called once at the beginning and once after each notification, never concurrently.
    /// - Throws: ``WaitError``. `check` is called once more before, so a value that was available in time is not lost.
    @inlinable
    public nonisolated(nonsending) func wait<Value>(
        until deadline: Moment? = nil, for check: () -> Value?
    ) async throws(WaitError) -> Value {
        guard point.enter(.reader) == .entered else { throw .busy }
        defer { point.leave(.reader) }
        while true {
            if let value = check() { return value }
            let wake = await point.readerWait(for: .readable, until: deadline)
            if let error = WaitError(wake) {
                if let value = check() { return value }
                throw error
            }
        }
    }

    /// Blocks the calling thread until `check` returns a value. As ``wait(until:for:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    @inlinable
    public func wait<Value>(until deadline: Moment? = nil, for check: () -> Value?) throws(WaitError) -> Value {
        guard point.enter(.reader) == .entered else { throw .busy }
        defer { point.leave(.reader) }
        while true {
            if let value = check() { return value }
            if let error = WaitError(point.block(.reader, for: .readable, until: deadline)) {
                if let value = check() { return value }
                throw error
            }
        }
    }

    /// Calls `handler` on `target` after each notification, and once at the beginning, since the state may have changed before.
    /// Several notifications in quick succession result in one call. A second observer replaces the first one.
    ///
    /// - Returns: a subscription; cancelling or releasing it ends the calls.
    public func observe(on target: any DeliveryTarget, _ handler: @escaping @Sendable () -> Void) -> Subscription {
        let signal = target.makeSignal(handler)
        let replaced = self.signal.withLock { current in
            defer { current = signal }
            return current
        }
        replaced?.cancel()
        signal.signal()
        return Subscription { [weak self] in
            self?.signal.withLock { if $0 === signal { $0 = nil } }
            signal.cancel()
        }
    }
}

/// A subscription, for example to the calls of a handler. It ends when it is cancelled or released.
public final class Subscription: Sendable {
    private let end: Locked<(@Sendable () -> Void)?>

    /// Makes a subscription. Its end calls `end`, once.
    public init(_ end: @escaping @Sendable () -> Void) {
        self.end = Locked(end)
    }

    deinit { cancel() }

    /// Ends the subscription. Idempotent; may be called from any thread.
    public func cancel() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}
