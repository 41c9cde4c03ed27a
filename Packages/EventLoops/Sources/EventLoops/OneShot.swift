/// A value that is provided once: for a task, a blocked thread, a callback, or a reader that polls.
///
/// ```swift
/// let answer = OneShot<String>()
/// lookUp("example.com") { answer.provide($0) }             // on any thread; a second value is dropped
/// let text = try await answer.value(until: .now + .seconds(5))
/// ```
///
/// For an operation that can fail, let `Value` be a `Result`. The value remains and can be read any number of times. Any number of
/// tasks and threads may wait for it.
public final class OneShot<Value: Sendable>: Sendable {
    @usableFromInline
    struct State {
        @usableFromInline var value: Value?
        @usableFromInline var handler: (@Sendable (Value) -> Void)?
        /// The waiters in addition to the one at ``condition``.
        @usableFromInline var others: [Condition] = []

        @inlinable init() {}
    }

    // All is inlinable: in other modules unspecialized code would look up the metadata of its types at each call.
    @usableFromInline let state = Locked(State())
    @usableFromInline let condition: Condition

    /// Makes a one-shot without a value.
    ///
    /// - Parameter loop: the loop whose timers end waits at their deadlines.
    @inlinable
    public init(loop: EventLoop = .shared) {
        condition = Condition(loop: loop)
    }

    /// Signalled as readable when the value is provided. Use it to wait at several points at once.
    public var point: WaitPoint { condition.point }

    /// The value; nil before it is provided.
    @inlinable
    public var value: Value? { state.withLock { $0.value } }

    /// The number of tasks and threads that wait for the value, for tests: it is out of date when it is returned.
    public var waiterCount: Int {
        state.withLock { $0.others.count { $0.point.hasWaitingCall(.reader) } }
            + (point.hasWaitingCall(.reader) ? 1 : 0)
    }

    /// Provides the value. May be called from any thread.
    ///
    /// - Returns: false if there was a value already; this one is dropped.
    @inlinable
    @discardableResult
    public func provide(_ value: Value) -> Bool {
        let (counts, handler, others) = state.withLock { state in
            guard state.value == nil else { return (false, nil as (@Sendable (Value) -> Void)?, [] as [Condition]) }
            state.value = value
            defer {
                state.handler = nil
                state.others = []
            }
            return (true, state.handler, state.others)
        }
        guard counts else { return false }
        condition.notify()
        for other in others { other.notify() }
        handler?(value)
        return true
    }

    /// Suspends until the value is provided.
    ///
    /// - Parameter deadline: when to give up; nil for no limit.
    /// - Throws: ``WaitError/cancelled``, ``WaitError/timedOut``; the value may still be provided later.
    @inlinable
    public nonisolated(nonsending) func value(until deadline: Moment? = nil) async throws(WaitError) -> Value {
        do throws(WaitError) {
            return try await condition.wait(until: deadline) { value }
        } catch  where error == .busy {
            let other = addWaiter()
            defer { remove(other) }
            return try await other.wait(until: deadline) { value }
        }
    }

    /// Blocks the calling thread until the value is provided. As ``value(until:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    @inlinable
    public func value(until deadline: Moment? = nil) throws(WaitError) -> Value {
        do throws(WaitError) {
            return try condition.wait(until: deadline) { value }
        } catch  where error == .busy {
            let other = addWaiter()
            defer { remove(other) }
            return try other.wait(until: deadline) { value }
        }
    }

    /// Makes a condition for a waiter that is not the only one.
    @usableFromInline
    func addWaiter() -> Condition {
        let other = Condition(loop: condition.point.loop)
        state.withLock { if $0.value == nil { $0.others.append(other) } }
        return other
    }

    @usableFromInline
    func remove(_ waiter: Condition) {
        state.withLock { $0.others.removeAll { $0 === waiter } }
    }

    /// Calls `handler` with the value, once: immediately if there is a value, otherwise on the thread that provides it. A second
    /// handler replaces the first.
    @inlinable
    public func onValue(_ handler: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state in
            if state.value == nil { state.handler = handler }
            return state.value
        }
        if let value { handler(value) }
    }
}
