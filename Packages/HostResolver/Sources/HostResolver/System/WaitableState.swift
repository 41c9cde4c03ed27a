internal import Glibc

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
