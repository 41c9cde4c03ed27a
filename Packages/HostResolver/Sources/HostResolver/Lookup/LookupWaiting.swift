internal import EventLoops
internal import Glibc

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
private final class LookupWaiting<Value: Sendable>: Sendable {
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

/// Delivers one answer at most once: the first of the answer and the cancellation wins.
final class SingleDelivery<Value: Sendable>: Sendable {
    private let handler: Locked<(@Sendable (Result<Value, ResolverError>) -> Void)?>

    init(_ handler: @escaping @Sendable (Result<Value, ResolverError>) -> Void) {
        self.handler = Locked(handler)
    }

    /// Delivers the answer, unless one was delivered or the delivery was closed.
    func deliver(_ result: Result<Value, ResolverError>) {
        handler.withLock { $0.take() }?(result)
    }

    /// Ends the delivery without an answer; true if no answer had been delivered.
    func close() -> Bool {
        handler.withLock { $0.take() } != nil
    }
}

/// Collects the batches of one lookup.
final class AddressGathering: Sendable {
    private let addresses = Locked<[IPAddress]>([])

    /// Accepts an event. At the last event, calls `finish` with all addresses or the failure.
    func receive(_ event: AddressEvent, _ finish: (Result<[IPAddress], ResolverError>) -> Void) {
        switch event {
        case .batch(let batch):
            addresses.withLock { known in
                for address in batch.addresses where !known.contains(address) { known.append(address) }
            }
        case .finished(let error):
            finish(error.map(Result.failure) ?? .success(addresses.withLock { $0 }))
        }
    }
}

/// A value protected by a mutex, with a condition variable on the monotonic clock for threads that wait for changes.
final class WaitableState<State>: @unchecked Sendable {
    // @unchecked Sendable: the value is accessed only under the mutex, and the pointers never change.

    private var state: State
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>

    init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the value, then wakes one waiting thread if `wakes` is true.
    func withLock<Result>(wakes: Bool = false, _ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        defer { if wakes { pthread_cond_signal(condition) } }
        return body(&state)
    }

    /// Waits until `body` returns a value, or until `limit` has passed; nil after that. `body` runs with the lock held.
    func wait<Result>(atMost limit: Duration?, for body: (inout State) -> Result?) -> Result? {
        let end = limit.map(Self.monotonicTime(after:))
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            if var end {
                if pthread_cond_timedwait(condition, mutex, &end) == ETIMEDOUT { return body(&state) }
            } else {
                pthread_cond_wait(condition, mutex)
            }
        }
    }

    private static func monotonicTime(after limit: Duration) -> timespec {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let (seconds, attoseconds) = limit.components
        let nanoseconds = Int(attoseconds / 1_000_000_000) + time.tv_nsec
        // Limited to a year, so that the sum cannot overflow.
        time.tv_sec += Int(min(max(seconds, 0), 31_536_000)) + nanoseconds / 1_000_000_000
        time.tv_nsec = max(nanoseconds % 1_000_000_000, 0)
        return time
    }
}
