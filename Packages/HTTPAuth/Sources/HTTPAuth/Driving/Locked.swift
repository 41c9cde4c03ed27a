internal import Glibc

/// A value behind a lock: what `Locked` of EventLoops is, which this package does not import. Built on a mutex of
/// pthreads, which ThreadSanitizer understands.
final class Locked<State> {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    init(_ state: sending State) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        self.state = state
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` alone with the value. It must not call out.
    func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}

// The state is touched within `withLock` only, by one thread at a time, and came in as `sending`.
extension Locked: @unchecked Sendable where State: Sendable {}
