/// A value that is provided once and waited for: as a task, as a blocked thread, with a callback, or by looking.
///
/// ```swift
/// let answer = OneShot<String>()
/// lookUp("example.com") { answer.provide($0) }             // from any thread; a second value is dropped
/// let text = try await answer.value(until: .now + .seconds(5))
/// ```
///
/// For an operation that can fail, `Value` is a `Result`. The value stays and can be read again.
public final class OneShot<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var handler: (@Sendable (Value) -> Void)?
    }

    private let state = Locked(State())
    private let condition: Condition

    /// Makes a one-shot whose time limits and tasks `loop` serves.
    public init(loop: EventLoop = .shared) {
        condition = Condition(loop: loop)
    }

    /// Signalled as readable when the value is provided: to wait at several points at once.
    public var point: WaitPoint { condition.point }

    /// The value; nil before it is provided.
    public var value: Value? { state.withLock { $0.value } }

    /// Provides the value, unless there is one. From any thread.
    ///
    /// - Returns: whether this value is the one that counts.
    @discardableResult
    public func provide(_ value: Value) -> Bool {
        let (counts, handler) = state.withLock { state in
            guard state.value == nil else { return (false, nil as (@Sendable (Value) -> Void)?) }
            state.value = value
            defer { state.handler = nil }
            return (true, state.handler)
        }
        guard counts else { return false }
        condition.notify()
        handler?(value)
        return true
    }

    /// Suspends until the value is there.
    ///
    /// - Parameter deadline: when to give up; nil for never.
    /// - Throws: ``WaitError``; the value may still come.
    public nonisolated(nonsending) func value(until deadline: Moment? = nil) async throws(WaitError) -> Value {
        try await condition.wait(until: deadline) { value }
    }

    /// Blocks the calling thread until the value is there. As ``value(until:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    public func value(until deadline: Moment? = nil) throws(WaitError) -> Value {
        try condition.wait(until: deadline) { value }
    }

    /// Calls `handler` with the value, once: at once if it is there, otherwise on the thread that provides it. A second handler
    /// replaces the first.
    public func onValue(_ handler: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state in
            if state.value == nil { state.handler = handler }
            return state.value
        }
        if let value { handler(value) }
    }
}
