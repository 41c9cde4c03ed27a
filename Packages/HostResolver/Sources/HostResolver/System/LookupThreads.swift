internal import EventLoops
internal import Glibc

/// The threads that sit in the system's resolver, which cannot be asked without blocking.
///
/// Theory of operation. A thread is made when a job comes and none is idle, up to a limit; an idle one leaves after a
/// while. A job that waits in line can be withdrawn. One that runs cannot: `getaddrinfo` knows no cancellation, so the
/// thread is left alone with it and counts until the system gives up, which is what bounds the damage of dead servers.
///
/// A job in the line always has a thread to come, one that runs or one that is being made: when the system refuses the last of
/// these, every job in the line is refused.
final class LookupThreads: Sendable {
    /// One call to make; its identity is what ``LookupThreads/withdraw(_:)`` goes by.
    final class Job: Sendable {
        /// Makes the call, on one of the threads.
        let perform: @Sendable () -> Void
        /// Called instead, on the shared loop, if there is no thread for it.
        let refuse: @Sendable (ResolverError) -> Void

        init(perform: @escaping @Sendable () -> Void, refuse: @escaping @Sendable (ResolverError) -> Void) {
            self.perform = perform
            self.refuse = refuse
        }
    }

    /// Runs a closure on a new thread; gives the system's error number, 0 for none.
    typealias Spawn = @Sendable (_ body: @escaping @Sendable () -> Void) -> CInt

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
    private let spawn: Spawn

    init(limit: Int, longestLine: Int, idleTime: Duration, spawn: @escaping Spawn = LookupThreads.spawn) {
        self.spawn = spawn
        self.limit = limit
        self.longestLine = longestLine
        self.idleTime = idleTime
    }

    /// Threads that exist, for tests.
    var threadCount: Int { state.withLock { $0.threads } }

    /// Has `job` run by a thread, soon.
    ///
    /// It is refused with ``ResolverError/Code-swift.struct/busy`` if the line is full, and with the system's error if that gives
    /// no thread and there is none. It is never called from inside this call.
    func run(_ job: Job) {
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
        case .refuse:
            refuse([job], ResolverError(.busy, detail: "\(longestLine) lookups are already waiting for a thread"))
        case .makeOne:
            let failure = spawn { [self] in work() }
            if failure != 0 { threadFailed(ResolverError(errno: failure)) }
        }
    }

    private func threadFailed(_ error: ResolverError) {
        let stranded = state.withLock { state -> [Job] in
            state.threads -= 1
            // Another thread, perhaps not made yet either, takes what is in the line.
            guard state.threads == 0 else { return [] }
            defer { state.line = [] }
            return state.line
        }
        refuse(stranded, error)
    }

    private func refuse(_ jobs: [Job], _ error: ResolverError) {
        guard !jobs.isEmpty else { return }
        EventLoop.shared.execute { for job in jobs { job.refuse(error) } }
    }

    /// Takes a job out of the line; false if it runs or ran.
    func withdraw(_ job: Job) -> Bool {
        state.withLock { state in
            guard let place = state.line.firstIndex(where: { $0 === job }) else { return false }
            state.line.remove(at: place)
            return true
        }
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Runs a closure on a new thread of the system's.
    static func spawn(_ body: @escaping @Sendable () -> Void) -> CInt {
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
        let reference = Unmanaged.passRetained(Body(body))
        let failure = pthread_create(
            &thread, &attributes,
            { reference in
                if let reference { Unmanaged<Body>.fromOpaque(reference).takeRetainedValue().run() }
                return nil
            }, reference.toOpaque())
        if failure != 0 { reference.release() }
        return failure
    }

    private func work() {
        var next = nextJob()
        while let job = next {
            job.perform()
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
