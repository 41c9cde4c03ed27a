internal import Glibc

/// Blocks a thread until an outcome is available.
final class OneShot: @unchecked Sendable {
    // `outcome` is accessed under `mutex` only.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var outcome: WorkThreads.Outcome?

    init() {
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

    func complete(with outcome: WorkThreads.Outcome) {
        pthread_mutex_lock(mutex)
        self.outcome = outcome
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Waits for the outcome; returns nil if the time limit passes first.
    func wait(_ limit: Duration) -> WorkThreads.Outcome? {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let (seconds, attoseconds) = limit.components
        let nanoseconds = deadline.tv_nsec + Int(attoseconds / 1_000_000_000)
        deadline.tv_sec += Int(min(max(seconds, 0), 1 << 31)) + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while outcome == nil {
            if pthread_cond_timedwait(condition, mutex, &deadline) != 0 { break }  // timed out, or the time is invalid
        }
        return outcome
    }
}
