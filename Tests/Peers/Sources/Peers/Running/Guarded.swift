internal import Foundation

/// A value behind a lock, with a way to wait until it looks right.
///
/// - Note: unchecked because the compiler cannot see that `value` is touched only while `condition` is locked; it is
///   private, and both methods below lock first.
final class Guarded<Value>: @unchecked Sendable {
    private let condition = NSCondition()
    private var value: Value

    init(_ value: Value) {
        self.value = value
    }

    /// Runs `body` with the value, alone, and wakes who waits for a change.
    func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return try body(&value)
    }

    /// Blocks until `body` answers something, or for `seconds`; then gives nil.
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
