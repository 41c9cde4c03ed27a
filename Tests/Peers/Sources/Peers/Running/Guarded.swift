internal import Foundation

/// A value protected by a lock, with a method to wait for a condition on it.
///
/// - Note: Unchecked, because the compiler cannot see that `value` is accessed only while `condition` is locked. It is private,
///   and both methods lock first.
final class Guarded<Value>: @unchecked Sendable {
    private let condition = NSCondition()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    /// Runs `body` with exclusive access to the value, and wakes all threads that wait for a change.
    func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return try body(&value)
    }

    /// Blocks until `body` returns a value, and returns it; returns nil after `seconds`.
    func wait<Result>(seconds: Double, for body: (inout Value) -> Result?) -> Result? {
        let end = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = body(&value) { return result }
            if !condition.wait(until: end) { return body(&value) }
        }
    }
}
