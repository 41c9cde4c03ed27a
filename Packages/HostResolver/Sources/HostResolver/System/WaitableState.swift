internal import Glibc

/// A value behind a lock, with threads that wait for it to change: a mutex and a condition on the monotonic clock.
final class WaitableState<State>: @unchecked Sendable {
    // The value is touched only under the mutex; the pointers never change.

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

    /// Runs `body` alone with the value, then wakes one thread that waits if `wakes` is true.
    func withLock<Result>(wakes: Bool = false, _ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        defer { if wakes { pthread_cond_signal(condition) } }
        return body(&state)
    }

    /// Waits until `body` gives a value, at most for `limit`; nil when the time is over. `body` runs with the lock held.
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
        // A year is as good as for ever, and cannot overflow.
        time.tv_sec += Int(min(max(seconds, 0), 31_536_000)) + nanoseconds / 1_000_000_000
        time.tv_nsec = max(nanoseconds % 1_000_000_000, 0)
        return time
    }
}
