internal import Foundation

/// Runs the blocking `body` on a thread of its own and awaits its result.
///
/// Tests, and the code under test, run on Swift's small thread pool. A peer that blocked one of these threads while waiting for
/// the code under test could deadlock.
func onOwnThread<Result: Sendable>(
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
