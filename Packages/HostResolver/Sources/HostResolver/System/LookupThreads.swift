internal import Glibc

/// The threads that sit in the system's resolver, which cannot be asked without blocking.
///
/// Theory of operation. A thread is made when a job comes and none is idle, up to a limit; an idle one leaves after a
/// while. A job that waits in line can be withdrawn. One that runs cannot: `getaddrinfo` knows no cancellation, so the
/// thread is left alone with it and counts until the system gives up, which is what bounds the damage of dead servers.
final class LookupThreads: Sendable {
    /// One call to make; its identity is what ``LookupThreads/withdraw(_:)`` goes by.
    final class Job: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    private struct State {
        var line: [Job] = []
        var threads = 0
        /// Threads that run a job; the others are idle or just starting.
        var running = 0

        mutating func takeJob() -> Job? {
            if line.isEmpty { return nil }
            running += 1
            return line.removeFirst()
        }
    }

    private let state = WaitableState(State())
    private let limit: Int
    private let longestLine: Int
    private let idleTime: Duration

    init(limit: Int, longestLine: Int, idleTime: Duration) {
        self.limit = limit
        self.longestLine = longestLine
        self.idleTime = idleTime
    }

    /// Threads that exist, for tests.
    var threadCount: Int { state.withLock { $0.threads } }

    /// Has `job` run by a thread, soon.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/busy`` if the line is full, or the system's error if it gives no thread
    ///   and there is none.
    func run(_ job: Job) throws(ResolverError) {
        enum Next { case wakeOne, makeOne, waitInLine, refuse }
        let next = state.withLock(wakes: true) { state -> Next in
            guard state.line.count < longestLine + limit - state.running else { return .refuse }
            state.line.append(job)
            if state.threads - state.running >= state.line.count { return .wakeOne }
            guard state.threads < limit else { return .waitInLine }
            state.threads += 1
            return .makeOne
        }
        switch next {
        case .wakeOne, .waitInLine: return
        case .refuse: throw ResolverError(.busy, detail: "\(longestLine) lookups wait for a thread")
        case .makeOne: try makeThread(for: job)
        }
    }

    /// Takes a job out of the line; false if it runs or ran.
    func withdraw(_ job: Job) -> Bool {
        state.withLock { state in
            guard let place = state.line.firstIndex(where: { $0 === job }) else { return false }
            state.line.remove(at: place)
            return true
        }
    }

    private func makeThread(for job: Job) throws(ResolverError) {
        // Signals are for the program's own threads: a new thread inherits the mask of who makes it.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        var thread = pthread_t()
        let reference = Unmanaged.passRetained(self)
        let failure = pthread_create(
            &thread, &attributes,
            { reference in
                if let reference { Unmanaged<LookupThreads>.fromOpaque(reference).takeRetainedValue().work() }
                return nil
            }, reference.toOpaque())
        guard failure != 0 else { return }
        reference.release()
        let others = state.withLock { state in
            state.threads -= 1
            return state.threads
        }
        if others == 0, withdraw(job) { throw ResolverError(errno: failure) }
    }

    private func work() {
        var next = nextJob()
        while let job = next {
            job.body()
            // Who waits in line is served without a look at the clock.
            let waiting = state.withLock { state in
                state.running -= 1
                return state.takeJob()
            }
            next = waiting ?? nextJob()
        }
    }

    /// Waits for a job; nil when this thread is to leave.
    private func nextJob() -> Job? {
        if let job = state.wait(atMost: idleTime, for: { $0.takeJob() }) { return job }
        return state.withLock { state in
            // A job may have come since the wait ended, counting on this thread.
            if let job = state.takeJob() { return job }
            state.threads -= 1
            return nil
        }
    }
}
