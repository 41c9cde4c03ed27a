internal import Glibc

/// Keeps GSSAPI's calls and the end of the process apart.
///
/// When a process exits, the library takes its mutexes down. A thread of ours that is in one of its calls then, or lets go
/// of a context, would abort the process ("k5_mutex_lock: Invalid argument") after all its work was done. So every call
/// holds this lock as one of many; at exit it is taken for good, and calls that come later are not made.
enum GSSLibrary {
    /// How long the end of the process waits for a call under way. Calls that compute are done by then. One that waits for
    /// a dead Kerberos server is not, and sits in the kernel while the process ends.
    static let longestWait = 200

    // Unsafe but right: the pointer is written once, here, and the lock behind it is made for all threads.
    private nonisolated(unsafe) static let lock: UnsafeMutablePointer<pthread_rwlock_t> = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        lock.initialize(to: pthread_rwlock_t())
        pthread_rwlock_init(lock, nil)
        // The library's own end comes later: it was loaded before this was called.
        atexit { GSSLibrary.close() }
        return lock
    }()

    /// Makes calls; nil if the process is at its end.
    static func use<Result>(_ body: () -> Result) -> Result? {
        guard pthread_rwlock_tryrdlock(lock) == 0 else { return nil }
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }

    private static func close() {
        var limit = timespec()
        clock_gettime(CLOCK_REALTIME, &limit)
        let nanoseconds = limit.tv_nsec + longestWait * 1_000_000
        limit.tv_sec += nanoseconds / 1_000_000_000
        limit.tv_nsec = nanoseconds % 1_000_000_000
        pthread_rwlock_timedwrlock(lock, &limit)
    }
}
