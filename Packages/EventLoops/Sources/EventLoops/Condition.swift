/// Waiting for a change of state that is guarded elsewhere: as a task, as a blocked thread, or with a callback.
///
/// It is a condition variable for all the ways in which Swift programs wait. The state has a lock of its own; whoever changes
/// it calls ``notify()`` afterwards, and a waiter looks at the state again.
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
/// time; a second one gets ``WaitError/busy``. A callback does not count.
public final class Condition: Sendable {
    /// Signalled as readable by each ``notify()``: to wait at several points at once.
    public let point: WaitPoint
    private let signal = Locked<(any DeliverySignal)?>(nil)

    /// Makes a condition whose time limits and tasks `loop` serves.
    public init(loop: EventLoop = .shared) {
        point = WaitPoint(loop: loop)
    }

    /// Has the waiter look at the state again. From any thread, with no lock held that a waiter's closure takes.
    public func notify() {
        point.signal(.readable)
        signal.withLock { $0 }?.signal()
    }

    /// Suspends until `look` returns a value, which it may do at once.
    ///
    /// - Parameters:
    ///   - deadline: when to give up; nil for never.
    ///   - look: looks at the state. Called once at the beginning and once after each notification, and never concurrently.
    /// - Throws: ``WaitError``. `look` is asked once more before, so nothing is lost that was there in time.
    public nonisolated(nonsending) func wait<Value>(
        until deadline: Moment? = nil, for look: () -> Value?
    ) async throws(WaitError) -> Value {
        guard point.enter(.reader) == .entered else { throw .busy }
        defer { point.leave(.reader) }
        while true {
            if let value = look() { return value }
            let wake = await point.readerWait(for: .readable, until: deadline)
            if let error = WaitError(wake) {
                if let value = look() { return value }
                throw error
            }
        }
    }

    /// Blocks the calling thread until `look` returns a value. As ``wait(until:for:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    public func wait<Value>(until deadline: Moment? = nil, for look: () -> Value?) throws(WaitError) -> Value {
        guard point.enter(.reader) == .entered else { throw .busy }
        defer { point.leave(.reader) }
        while true {
            if let value = look() { return value }
            if let error = WaitError(point.block(.reader, for: .readable, until: deadline)) {
                if let value = look() { return value }
                throw error
            }
        }
    }

    /// Calls `handler` on `target` after each notification, and once at first, since the state may have changed before.
    /// Notifications in quick succession are answered by one call.
    ///
    /// - Returns: what keeps the calls coming; cancel or release it to end them. A second call replaces the first one's
    ///   handler.
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

/// Why a wait ended without what was waited for.
@nonexhaustive
public enum WaitError: Error, Hashable, Sendable {
    /// The task was cancelled.
    case cancelled
    /// The deadline passed.
    case timedOut
    /// Another task or thread waits there already.
    case busy
    /// The kernel refused the wait, such as for lack of descriptors; the value is its `errno`.
    case failed(CInt)

    /// The reason in `wake`; nil if it is one to look again.
    public init?(_ wake: Wake) {
        switch wake {
        case .ready, .closed: return nil
        case .cancelled: self = .cancelled
        case .timedOut: self = .timedOut
        case .busy: self = .busy
        case .failed(let number): self = .failed(number)
        }
    }
}

/// Keeps something going, such as the calls of a handler, until it is cancelled or released.
public final class Subscription: Sendable {
    private let end: Locked<(@Sendable () -> Void)?>

    /// Makes a subscription that is ended by calling `end`, once.
    public init(_ end: @escaping @Sendable () -> Void) {
        self.end = Locked(end)
    }

    deinit { cancel() }

    /// Ends it now. Idempotent; from any thread.
    public func cancel() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}
