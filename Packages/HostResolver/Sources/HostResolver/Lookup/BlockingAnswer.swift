/// An answer for which one thread blocks, and which another thread provides once.
struct BlockingAnswer<Value: Sendable>: Sendable {
    private let answer = WaitableState<Result<Value, ResolverError>?>(nil)

    /// Provides the answer to the waiting thread. A second answer is dropped.
    func put(_ result: Result<Value, ResolverError>) {
        answer.withLock(wakes: true) { $0 = $0 ?? result }
    }

    /// Blocks until there is an answer.
    func wait() throws(ResolverError) -> Value {
        // Without a limit, the wait ends only with an answer.
        let result = answer.wait(atMost: nil) { $0 } ?? .failure(ResolverError(.cancelled))
        return try result.get()
    }
}
