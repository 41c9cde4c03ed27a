internal import Glibc

/// What a thread knows of being that of an event loop.
enum LoopThread {
    /// Set on the threads of loops.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let failure = pthread_key_create(&key, nil)
        precondition(
            failure == 0, "EventLoop: the process has no thread-specific data left (pthread_key_create: \(failure))")
        return key
    }()

    /// Whether the calling thread is that of some loop, and must not wait for anything else.
    static var isCurrent: Bool { pthread_getspecific(key) != nil }

    /// Makes the calling thread that of a loop, until it ends.
    static func begin() { pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1)) }
}
