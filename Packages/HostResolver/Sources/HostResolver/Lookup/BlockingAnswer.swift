/// A place where one thread waits for an answer that another thread puts there once.
struct BlockingAnswer<Value: Sendable>: Sendable {
    private let answer = WaitableState<Result<Value, ResolverError>?>(nil)

    /// Gives the answer to the thread that waits; a second one is dropped.
    func put(_ result: Result<Value, ResolverError>) {
        answer.withLock(wakes: true) { $0 = $0 ?? result }
    }

    /// Waits for the answer.
    func wait() throws(ResolverError) -> Value {
        // Without a limit, the wait ends with an answer only.
        let result = answer.wait(atMost: nil) { $0 } ?? .failure(ResolverError(.cancelled))
        return try result.get()
    }
}
