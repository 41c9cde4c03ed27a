import Foundation

/// Runs `body` on a thread of its own, which may block and run its run loop.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
}

/// Runs the thread's loop until the condition holds. Returns false if the loop has nothing left, or after a minute.
@available(*, noasync)
func runLoop(in mode: RunLoop.Mode = .default, until condition: () -> Bool) -> Bool {
    let limit = Date(timeIntervalSinceNow: 60)
    while !condition() {
        if !RunLoop.current.run(mode: mode, before: limit) || Date() >= limit { return condition() }
    }
    return true
}
