internal import Glibc

/// A value protected by a lock: a copy of the `Locked` in EventLoops, which this package does not import. It uses a
/// pthread mutex, which ThreadSanitizer understands.
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

    /// Calls `body` with exclusive access to the value. The lock is not recursive.
    func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}

// Safe to share: the state is accessed in `withLock` only, by one thread at a time, and was passed in as `sending`.
extension Locked: @unchecked Sendable where State: Sendable {}
