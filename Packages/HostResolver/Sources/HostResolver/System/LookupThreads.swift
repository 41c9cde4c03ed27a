internal import EventLoops
internal import Glibc

/// The threads that call the C library's resolver, which blocks.
///
/// Theory of operation. A thread is created when a job arrives and no thread is idle, up to a limit; an idle thread
/// exits after a while. A queued job can be withdrawn. A running job cannot, because `getaddrinfo` cannot be cancelled:
/// its thread remains occupied, and counts toward the limit, until the C library gives up. The limit bounds the damage
/// of dead servers.
///
/// As long as a job is queued, there is a thread that runs or is being created. If the system fails to create the last
/// such thread, all queued jobs are refused.
final class LookupThreads: Sendable {
    /// One call to make. ``LookupThreads/withdraw(_:)`` identifies a job by object identity.
    final class Job: Sendable {
        /// Makes the call; runs on one of the threads.
        let perform: @Sendable () -> Void
        /// Called instead, on the shared event loop, if no thread is available.
        let refuse: @Sendable (ResolverError) -> Void

        init(perform: @escaping @Sendable () -> Void, refuse: @escaping @Sendable (ResolverError) -> Void) {
            self.perform = perform
            self.refuse = refuse
        }
    }

    /// A function that runs a closure on a new thread; returns 0, or the system's error number.
    typealias Spawn = @Sendable (_ body: @escaping @Sendable () -> Void) -> CInt

    private struct State {
        var queue: [Job] = []
        var threads = 0
        /// The number of threads that run a job; the others are idle or starting.
        var running = 0

        mutating func takeJob() -> Job? {
            if queue.isEmpty { return nil }
            running += 1
            return queue.removeFirst()
        }
    }

    private let state = WaitableState(State())
    private let limit: Int
    private let longestQueue: Int
    private let idleTime: Duration
    private let spawn: Spawn

    init(limit: Int, longestQueue: Int, idleTime: Duration, spawn: @escaping Spawn = LookupThreads.spawn) {
        self.spawn = spawn
        self.limit = limit
        self.longestQueue = longestQueue
        self.idleTime = idleTime
    }

    /// The number of threads, for tests.
    var threadCount: Int { state.withLock { $0.threads } }

    /// Queues `job` to run on a thread.
    ///
    /// The job is refused with ``ResolverError/Code-swift.struct/busy`` if the queue is full, and with the system's
    /// error if no thread exists and none can be created. Neither of its functions is called from inside this call.
    func run(_ job: Job) {
        enum Next { case wakeOne, makeOne, wait, refuse }
        let next = state.withLock(wakes: true) { state -> Next in
            guard state.queue.count < longestQueue + limit - state.running else { return .refuse }
            state.queue.append(job)
            if state.threads - state.running >= state.queue.count { return .wakeOne }
            guard state.threads < limit else { return .wait }
            state.threads += 1
            return .makeOne
        }
        switch next {
        case .wakeOne, .wait: return
        case .refuse:
            refuse([job], ResolverError(.busy, detail: "\(longestQueue) lookups are already waiting for a thread"))
        case .makeOne:
            let failure = spawn { [self] in runJobs() }
            if failure != 0 { threadFailed(ResolverError(errno: failure)) }
        }
    }

    private func threadFailed(_ error: ResolverError) {
        let refused = state.withLock { state -> [Job] in
            state.threads -= 1
            // Another thread, perhaps still being created, takes the queued jobs.
            guard state.threads == 0 else { return [] }
            defer { state.queue = [] }
            return state.queue
        }
        refuse(refused, error)
    }

    private func refuse(_ jobs: [Job], _ error: ResolverError) {
        guard !jobs.isEmpty else { return }
        EventLoop.shared.execute { for job in jobs { job.refuse(error) } }
    }

    /// Removes a job from the queue; false if it is running or has run.
    func withdraw(_ job: Job) -> Bool {
        state.withLock { state in
            guard let index = state.queue.firstIndex(where: { $0 === job }) else { return false }
            state.queue.remove(at: index)
            return true
        }
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Runs a closure on a new detached thread.
    static func spawn(_ body: @escaping @Sendable () -> Void) -> CInt {
        // Block all signals in the new thread, which inherits the mask of its creator: signals are for the program's
        // own threads.
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

    private func runJobs() {
        var next = nextJob()
        while let job = next {
            job.perform()
            // Take the next queued job without computing a time limit.
            let waiting = state.withLock { state in
                state.running -= 1
                return state.takeJob()
            }
            next = waiting ?? nextJob()
        }
    }

    /// Waits for a job; nil if this thread must exit.
    private func nextJob() -> Job? {
        if let job = state.wait(atMost: idleTime, for: { $0.takeJob() }) { return job }
        return state.withLock { state in
            // A job may have been queued for this thread after the wait ended.
            if let job = state.takeJob() { return job }
            state.threads -= 1
            return nil
        }
    }
}
