internal import Glibc

/// A small thread pool for work that can block and cannot be interrupted.
///
/// Threads are created on demand, at most ``limit``, and exit when no work is left. When a wait ends early, running
/// work continues and its outcome is dropped; work that has not started is skipped.
final class WorkThreads: Sendable {
    static let shared = WorkThreads(limit: 8)

    private struct State {
        var queue: [Job] = []
        var threadCount = 0
    }

    private let limit: Int
    private let state = Locked(State())

    init(limit: Int) {
        self.limit = limit
    }

    typealias Outcome = Result<BlockingWork.Output, HTTPAuthError>

    /// A piece of work and its completion handler, which is called once: with the outcome or, if the wait ends first,
    /// with its error.
    final class Job: Sendable {
        let work: BlockingWork
        private let completion: Locked<(@Sendable (Outcome) -> Void)?>

        init(_ work: BlockingWork, completion: @escaping @Sendable (Outcome) -> Void) {
            self.work = work
            self.completion = Locked(completion)
        }

        var isPending: Bool { completion.withLock { $0 != nil } }

        func finish(_ outcome: Outcome) {
            let completion = completion.withLock { completion in
                defer { completion = nil }
                return completion
            }
            completion?(outcome)
        }
    }

    /// Starts a job as soon as a thread is available.
    func start(_ job: Job) {
        let needsThread = state.withLock { state in
            state.queue.append(job)
            guard state.threadCount < limit else { return false }
            state.threadCount += 1
            return true
        }
        guard needsThread else { return }
        var thread = pthread_t()
        let box = Unmanaged.passRetained(self)
        let failed = pthread_create(
            &thread, nil,
            { box in
                guard let box else { return nil }
                Unmanaged<WorkThreads>.fromOpaque(box).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        if failed != 0 {
            box.release()
            let stranded = state.withLock { state -> [Job] in
                state.threadCount -= 1
                guard state.threadCount == 0 else { return [] }
                defer { state.queue = [] }
                return state.queue
            }
            for job in stranded {
                job.finish(.failure(HTTPAuthError(.unavailable, detail: "no thread can be created")))
            }
        } else {
            pthread_detach(thread)
        }
    }

    private func run() {
        while true {
            let job = state.withLock { state -> Job? in
                if !state.queue.isEmpty { return state.queue.removeFirst() }
                state.threadCount -= 1
                return nil
            }
            guard let job else { return }
            if job.isPending { job.finish(job.work.run()) }
        }
    }

    /// Runs the work on a thread of this pool and blocks the calling thread until the work finishes or the time limit
    /// passes.
    func wait(for work: BlockingWork, limit: Duration) -> Outcome {
        let oneShot = OneShot()
        let job = Job(work) { oneShot.complete(with: $0) }
        start(job)
        if let outcome = oneShot.wait(limit) { return outcome }
        job.finish(.failure(HTTPAuthError(.timedOut)))
        return oneShot.wait(.seconds(1)) ?? .failure(HTTPAuthError(.timedOut))
    }

    /// Runs the work on a thread of this pool without blocking the calling thread. Cancelling the task ends the wait.
    func outcome(of work: BlockingWork, limit: Duration) async -> Outcome {
        let (outcomes, continuation) = AsyncStream.makeStream(of: Outcome.self)
        let job = Job(work) { outcome in
            continuation.yield(outcome)
            continuation.finish()
        }
        start(job)
        let timer = Task.detached {
            try await Task.sleep(for: limit)
            job.finish(.failure(HTTPAuthError(.timedOut)))
        }
        defer { timer.cancel() }
        for await outcome in outcomes { return outcome }
        job.finish(.failure(HTTPAuthError(.cancelled)))
        return .failure(HTTPAuthError(.cancelled))
    }
}

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
