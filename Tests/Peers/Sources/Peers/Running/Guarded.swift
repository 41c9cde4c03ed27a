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

/// Runs the blocking `body` on a thread of its own and awaits its result.
///
/// Tests, and the code under test, run on Swift's small thread pool. A peer that blocked one of these threads while waiting for
/// the code under test could deadlock.
func onNewThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws(PeerError) -> Result
) async throws(PeerError) -> Result {
    let outcome: Swift.Result<Result, PeerError> = await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            do throws(PeerError) {
                continuation.resume(returning: .success(try body()))
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
    }
    return try outcome.get()
}
