internal import Glibc

/// Threads for calls that block and cannot be interrupted, such as `getaddrinfo`.
///
/// ```swift
/// let threads = BlockingThreads(limit: 8)
/// let host = try await threads.value(until: .now + .seconds(5)) { lookUp("example.com") }
/// ```
///
/// Theory of operation. A thread is created when work arrives and no thread is idle, up to a limit; an idle thread exits after
/// a while. Queued work can be withdrawn. Work that runs cannot: its thread remains occupied, and counts toward the limit,
/// until the call returns. The limits bound the damage of calls that never return.
///
/// Invariant: while work is queued, a thread runs or is being created. If the system fails to create the last such thread, all
/// queued work is refused.
public final class BlockingThreads: Sendable {
    /// The reason why work did not run.
    @nonexhaustive
    public enum Refusal: Error, Hashable, Sendable {
        /// The queue is full; see the queue limit of the initializer.
        case queueIsFull
        /// There is no thread, and the system could not create one; the value is its `errno`.
        case noThread(CInt)
    }

    /// A work item: one call to make.
    public final class Work: Sendable {
        fileprivate let perform: @Sendable () -> Void
        fileprivate let refuse: @Sendable (Refusal) -> Void

        /// Makes a work item.
        ///
        /// - Parameters:
        ///   - perform: makes the call; runs on one of the threads.
        ///   - refuse: called instead, on the shared event loop, if no thread is available.
        public init(perform: @escaping @Sendable () -> Void, refuse: @escaping @Sendable (Refusal) -> Void) {
            self.perform = perform
            self.refuse = refuse
        }
    }

    /// Creates a thread that runs the closure; returns 0 or an error number.
    typealias Spawn = @Sendable (_ body: @escaping @Sendable () -> Void) -> CInt

    private struct State {
        var queue: [Work] = []
        /// The idle threads; the one that became idle last is used first, so that the others can exit.
        var idle: [OneShot<Work>] = []
        /// All threads: idle, running and being created.
        var threads = 0
        /// The threads that are being created. Each will take one item of the queued work.
        var starting = 0
    }

    private let state = Locked(State())
    private let limit: Int
    private let queueLimit: Int
    private let idleTime: Duration
    private let spawn: Spawn

    /// Makes a pool, initially without threads.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of threads.
    ///   - queueLimit: how many work items may wait for a thread, in addition to those for which a thread is being created.
    ///     Further items are refused.
    ///   - idleTime: how long an idle thread is kept.
    public convenience init(limit: Int, queueLimit: Int = .max, idleTime: Duration = .seconds(10)) {
        self.init(limit: limit, queueLimit: queueLimit, idleTime: idleTime, spawn: BlockingThreads.spawn)
    }

    init(limit: Int, queueLimit: Int, idleTime: Duration, spawn: @escaping Spawn) {
        precondition(limit > 0, "BlockingThreads: the limit must be positive")
        self.limit = limit
        self.queueLimit = queueLimit
        self.idleTime = idleTime
        self.spawn = spawn
    }

    /// The threads of this process for calls on files: a disk may be slow, and a network file system may not answer at all.
    ///
    /// ```swift
    /// let text = try await BlockingThreads.files.value { try? String(contentsOfFile: "/etc/hostname", encoding: .utf8) }
    /// ```
    ///
    /// A call that no thread can take, because 16 calls run and 4096 wait, throws ``WaitError/busy``. A wait that ends early discards
    /// the result of the call: one that opens a file must therefore return an object that owns the descriptor and closes it in
    /// its `deinit`, and not the number.
    public static let files = BlockingThreads(limit: 16, queueLimit: 4096)

    /// The number of threads: idle, running and being created.
    public var threadCount: Int { state.withLock { $0.threads } }

    // For tests.
    var idleCount: Int { state.withLock { $0.idle.count } }
    var queueCount: Int { state.withLock { $0.queue.count } }

    /// Runs `work` on a thread as soon as one is free. Neither of its closures is called from inside this call.
    public func run(_ work: Work) {
        enum Next {
            case wake(OneShot<Work>)
            case create, queued, refuse
        }
        let next = state.withLock { state -> Next in
            if let thread = state.idle.popLast() { return .wake(thread) }
            if state.threads < limit {
                state.queue.append(work)
                state.threads += 1
                state.starting += 1
                return .create
            }
            guard state.queue.count - state.starting < queueLimit else { return .refuse }
            state.queue.append(work)
            return .queued
        }
        switch next {
        case .wake(let thread): thread.provide(work)
        case .queued: return
        case .refuse: refuse([work], .queueIsFull)
        case .create:
            let failure = spawn { [self] in serve() }
            if failure != 0 { threadFailed(failure) }
        }
    }

    /// Removes work from the queue; false if it is running, has run or was refused.
    @discardableResult
    public func withdraw(_ work: Work) -> Bool {
        state.withLock { state in
            guard let index = state.queue.firstIndex(where: { $0 === work }) else { return false }
            state.queue.remove(at: index)
            return true
        }
    }

    /// Runs `call` on a thread and suspends until it has returned.
    ///
    /// - Parameters:
    ///   - deadline: when to give up; nil for no limit.
    ///   - call: the call. Its result is discarded if the wait has ended by then.
    /// - Throws: ``WaitError``. A call that has not begun is withdrawn; a running call continues.
    public nonisolated(nonsending) func value<Value: Sendable>(
        until deadline: Moment? = nil, of call: @escaping @Sendable () -> Value
    ) async throws(WaitError) -> Value {
        let (result, work) = begin(call)
        do throws(WaitError) {
            return try await result.value(until: deadline).get()
        } catch {
            withdraw(work)
            throw error
        }
    }

    /// Runs `call` on a thread and blocks the calling thread until it has returned. As ``value(until:of:)``.
    @available(*, noasync, message: "blocks the thread; use await")
    public func value<Value: Sendable>(
        until deadline: Moment? = nil, of call: @escaping @Sendable () -> Value
    ) throws(WaitError) -> Value {
        let (result, work) = begin(call)
        do throws(WaitError) {
            return try result.value(until: deadline).get()
        } catch {
            withdraw(work)
            throw error
        }
    }

    private func begin<Value: Sendable>(
        _ call: @escaping @Sendable () -> Value
    ) -> (OneShot<Result<Value, WaitError>>, Work) {
        let result = OneShot<Result<Value, WaitError>>()
        let once = Once(call)
        let work = Work {
            if let value = once.call() { result.provide(.success(value)) }
        } refuse: { refusal in
            switch refusal {
            case .queueIsFull: result.provide(.failure(.busy))
            case .noThread(let number): result.provide(.failure(.failed(number)))
            }
        }
        run(work)
        return (result, work)
    }

    /// A call that is made once. What it holds, such as an open file, is released before its result is provided: the waiter may open
    /// the file again at once.
    private final class Once<Value: Sendable>: Sendable {
        // A structure: see Locked.
        private struct State {
            var body: (@Sendable () -> Value)?
        }
        private let state: Locked<State>

        init(_ body: @escaping @Sendable () -> Value) { state = Locked(State(body: body)) }

        func call() -> Value? { state.withLock { $0.body.take() }?() }
    }

    // MARK: Threads

    private func threadFailed(_ number: CInt) {
        let stranded = state.withLock { state -> [Work] in
            state.threads -= 1
            state.starting -= 1
            // Another thread, perhaps still being created, takes the queued work.
            guard state.threads == 0 else { return [] }
            defer { state.queue = [] }
            return state.queue
        }
        refuse(stranded, .noThread(number))
    }

    private func refuse(_ work: [Work], _ refusal: Refusal) {
        guard !work.isEmpty else { return }
        EventLoop.shared.execute { for work in work { work.refuse(refusal) } }
    }

    private func serve() {
        var isStarting = true
        // An idle thread keeps no work: what that holds, such as an open file, is released as soon as the call has returned.
        while let work = next(isStarting: isStarting) {
            work.perform()
            isStarting = false
        }
    }

    /// The next work for the calling thread; nil if the thread must exit.
    private func next(isStarting: Bool) -> Work? {
        let idle = OneShot<Work>()
        let queued = state.withLock { state -> Work? in
            if isStarting { state.starting -= 1 }
            if !state.queue.isEmpty { return state.queue.removeFirst() }
            state.idle.append(idle)
            return nil
        }
        if let queued { return queued }
        do throws(WaitError) {
            return try idle.value(until: .now + idleTime)
        } catch {
            let exits = state.withLock { state in
                guard let index = state.idle.firstIndex(where: { $0 === idle }) else { return false }
                state.idle.remove(at: index)
                state.threads -= 1
                return true
            }
            if exits { return nil }
            // Work arrived as the idle time ended: this thread was removed from the list, and is about to receive it.
            while true { if let work = try? idle.value() { return work } }
        }
    }

    /// Runs a closure on a new detached thread.
    static func spawn(_ body: @escaping @Sendable () -> Void) -> CInt {
        // Block all signals, which the program's own threads handle. A new thread inherits the mask of its creator.
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

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}
