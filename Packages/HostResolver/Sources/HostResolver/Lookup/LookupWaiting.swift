internal import EventLoops

/// Starts a lookup with `begin` and suspends until its answer. Cancelling the task ends the wait at once.
///
/// `begin` gets a function to call with the answer, and returns the token that cancels the lookup.
nonisolated(nonsending) func waitForLookup<Value: Sendable>(
    name: String, _ begin: (@escaping @Sendable (Result<Value, ResolverError>) -> Void) -> LookupToken
) async throws(ResolverError) -> Value {
    let waiting = LookupWaiting<Value>()
    let result: Result<Value, ResolverError> = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            guard waiting.suspend(continuation) else { return }
            waiting.began(begin { waiting.finish($0) })
        }
    } onCancel: {
        waiting.cancel(name: name)
    }
    return try result.get()
}

/// Resumes one continuation with the first of an answer and a cancellation, in whichever order the three arrive.
final class LookupWaiting<Value: Sendable>: Sendable {
    typealias Answer = Result<Value, ResolverError>

    private struct State {
        var continuation: CheckedContinuation<Answer, Never>?
        var token: LookupToken?
        var cancelled: ResolverError?
        var isOver = false
    }

    private let state = Locked(State())

    /// Accepts the continuation. If the task is already cancelled, resumes it and returns false.
    func suspend(_ continuation: CheckedContinuation<Answer, Never>) -> Bool {
        let cancelled = state.withLock { state in
            if state.cancelled == nil { state.continuation = continuation }
            return state.cancelled
        }
        if let cancelled { continuation.resume(returning: .failure(cancelled)) }
        return cancelled == nil
    }

    /// Accepts the token of the started lookup; cancels the lookup if the task was cancelled in the meantime.
    func began(_ token: LookupToken) {
        let isCancelled = state.withLock { state in
            if !state.isOver { state.token = token }
            return state.cancelled != nil
        }
        if isCancelled { token.cancel() }
    }

    func finish(_ answer: Answer) {
        _ = end(with: answer)
    }

    func cancel(name: String) {
        let error = ResolverError(.cancelled, name: name)
        let isWaiting = state.withLock { state in
            state.cancelled = error
            return state.continuation != nil
        }
        if isWaiting { end(with: .failure(error))?.cancel() }
    }

    /// Resumes the task, once. Returns the token if the lookup has started.
    private func end(with answer: Answer) -> LookupToken? {
        let (continuation, token) = state.withLock { state in
            state.isOver = true
            defer { (state.continuation, state.token) = (nil, nil) }
            return (state.continuation, state.token)
        }
        continuation?.resume(returning: answer)
        return token
    }
}
