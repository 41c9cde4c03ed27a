// No import of CGSSAPI here: its headers declare `timespec` again, and the compiler would then attribute the type to that
// module in files that import only Glibc.
internal import Glibc

/// Coordinates GSSAPI calls with the end of the process.
///
/// When a process exits, the library destroys its mutexes. A thread that is inside the library then, or that releases a
/// context later, would abort the process ("k5_mutex_lock: Invalid argument") after all work was done. Every call
/// therefore holds a read lock. At exit the write lock is taken and never released; later calls are skipped.
enum GSSLibrary {
    /// How long the exit waits for running calls, in milliseconds. Calls that only compute finish in that time. A call
    /// that waits for a dead Kerberos server does not; it stays in the kernel while the process ends.
    static let exitWaitMilliseconds = 200

    // Safe: the pointer is written once, here, and the lock may be used by all threads.
    private nonisolated(unsafe) static let lock: UnsafeMutablePointer<pthread_rwlock_t> = {
        let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
        lock.initialize(to: pthread_rwlock_t())
        pthread_rwlock_init(lock, nil)
        // The library was loaded before this line, so its own exit handler runs after this one.
        atexit { GSSLibrary.close() }
        return lock
    }()

    /// Runs GSSAPI calls; returns nil without running them if the process is exiting.
    static func use<Result>(_ body: () -> Result) -> Result? {
        guard pthread_rwlock_tryrdlock(lock) == 0 else { return nil }
        defer { pthread_rwlock_unlock(lock) }
        return body()
    }

    private static func close() {
        var limit = timespec()
        clock_gettime(CLOCK_REALTIME, &limit)
        let nanoseconds = limit.tv_nsec + exitWaitMilliseconds * 1_000_000
        limit.tv_sec += nanoseconds / 1_000_000_000
        limit.tv_nsec = nanoseconds % 1_000_000_000
        pthread_rwlock_timedwrlock(lock, &limit)
    }
}
