internal import Foundation

/// Runs `body`, which blocks, on a thread of its own and awaits its result.
///
/// Tests run on Swift's small thread pool, and so may the code that they judge: a peer that blocked one of those threads
/// while waiting for that code could wait forever.
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
