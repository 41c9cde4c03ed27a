internal import CEventLoops
internal import Glibc
internal import Synchronization

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
/// A pool can be a part of another one, and then occupies at most its own limit of that pool's threads. Calls that may hang together,
/// such as those on one disk, therefore leave threads to others. Of a pool with a reserve, the last threads are only for parts that
/// occupy none, so that several parts that hang leave one to each of the others.
///
/// Invariant: while work is queued, a thread runs or is being created. If the system fails to create the last such thread, all
/// queued work is refused, except for calls that release files: they wait for the next thread.
public final class BlockingThreads: Sendable {
    /// The reason why work did not run.
    @nonexhaustive
    public enum Refusal: Error, Hashable, Sendable {
        /// The queue is full; see `maximumQueueLength` of the initializers.
        case queueIsFull
        /// There is no thread, and the system could not create one; the value is its `errno`.
        case noThread(CInt)
    }

    /// A work item: one call to make.
    public final class Work: Sendable {
        fileprivate let perform: @Sendable () -> Void
        /// Nil for work that is never refused.
        fileprivate let refuse: (@Sendable (Refusal) -> Void)?
        /// The part of the pool that the work is for.
        fileprivate let part: ObjectIdentifier?

        /// Makes a work item for a caller whose refusal may run inside ``BlockingThreads/run(_:)``.
        init(
            perform: @escaping @Sendable () -> Void, refuseAtOnce: (@Sendable (Refusal) -> Void)?,
            for part: BlockingThreads? = nil
        ) {
            self.perform = perform
            refuse = refuseAtOnce
            self.part = part.map { ObjectIdentifier($0) }
        }
    }

    /// Creates a thread that runs the closure; returns 0 or an error number.
    typealias Spawn = @Sendable (_ body: @escaping @Sendable () -> Void) -> CInt

    /// Where the threads come from.
    private enum Origin {
        /// They are created, and kept for a while when there is no work.
        case system(Spawn, idleTime: Duration)
        /// They are those of another pool, borrowed for one call at a time.
        case pool(BlockingThreads)
    }

    private struct State {
        var queue: [Work] = []
        /// The idle threads; the one that became idle last is used first, so that the others can exit.
        var idle: [IdleThread] = []
        /// All threads: idle, running and being created.
        var threads = 0
        /// The threads that are being created. Each will take one item of the queued work.
        var starting = 0
        /// The number of calls that run, and of each part those among them.
        var running = 0
        var runningOfParts: [ObjectIdentifier: Int] = [:]

        /// Whether a thread may take the work: the last threads, `reserve`, are only for parts without one.
        func permits(_ work: Work, _ limit: Int, reserve: Int) -> Bool {
            guard let part = work.part, running >= limit - reserve else { return true }
            return runningOfParts[part] == nil
        }

        mutating func begin(_ work: Work) {
            running += 1
            if let part = work.part { runningOfParts[part, default: 0] += 1 }
        }

        mutating func end(_ work: Work) {
            running -= 1
            guard let part = work.part, let count = runningOfParts[part] else { return }
            runningOfParts[part] = count == 1 ? nil : count - 1
        }

        /// Takes the first work that a thread may take, and counts it as running.
        mutating func take(_ limit: Int, reserve: Int) -> Work? {
            guard let index = queue.firstIndex(where: { permits($0, limit, reserve: reserve) }) else { return nil }
            let work = queue.remove(at: index)
            begin(work)
            return work
        }
    }

    private let state = Locked(State())
    private let limit: Int
    private let reserve: Int
    private let maximumQueueLength: Int
    private let origin: Origin

    /// Makes a pool, initially without threads.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of threads.
    ///   - maximumQueueLength: how many work items may wait for a thread, in addition to those for which a thread is being created.
    ///     Further items are refused.
    ///   - idleTime: how long an idle thread is kept.
    public convenience init(limit: Int, maximumQueueLength: Int = .max, idleTime: Duration = .seconds(10)) {
        self.init(
            limit: limit, maximumQueueLength: maximumQueueLength, idleTime: idleTime, spawn: BlockingThreads.spawn)
    }

    /// Makes a pool whose last threads are for the parts that occupy none.
    ///
    /// - Parameter reserve: the number of those threads.
    convenience init(limit: Int, reserve: Int, idleTime: Duration = .seconds(10)) {
        self.init(
            limit: limit, reserve: reserve, maximumQueueLength: .max,
            origin: .system(BlockingThreads.spawn, idleTime: idleTime))
    }

    /// Makes a part of another pool. Its calls run on threads of that pool, which it returns after each call.
    ///
    /// ```swift
    /// let threads = BlockingThreads(limit: 16)
    /// let archive = BlockingThreads(partOf: threads, limit: 4, maximumQueueLength: 1000)
    /// let names = try await archive.value { try? FileManager.default.contentsOfDirectory(atPath: "/mnt/archive") }
    /// ```
    ///
    /// - Parameters:
    ///   - pool: the pool whose threads are used.
    ///   - limit: the maximum number of its threads that this part occupies at once.
    ///   - maximumQueueLength: how many work items may wait for a thread here. Further items are refused, as are those that the pool
    ///     refuses.
    public convenience init(partOf pool: BlockingThreads, limit: Int, maximumQueueLength: Int = .max) {
        self.init(limit: limit, maximumQueueLength: maximumQueueLength, origin: .pool(pool))
    }

    convenience init(limit: Int, maximumQueueLength: Int, idleTime: Duration, spawn: @escaping Spawn) {
        self.init(limit: limit, maximumQueueLength: maximumQueueLength, origin: .system(spawn, idleTime: idleTime))
    }

    private init(limit: Int, reserve: Int = 0, maximumQueueLength: Int, origin: Origin) {
        precondition(limit > reserve, "BlockingThreads: the limit must be positive, and greater than the reserve")
        self.limit = limit
        self.reserve = reserve
        self.maximumQueueLength = maximumQueueLength
        self.origin = origin
    }

    /// The number of threads: idle, running and being created; of a part, those of the pool that it occupies or waits for.
    public var threadCount: Int { state.withLock { $0.threads } }

    // For tests.
    var idleCount: Int { state.withLock { $0.idle.count } }
    var queueCount: Int { state.withLock { $0.queue.count } }

    /// Runs `work` on a thread as soon as one is free. Neither closure of ``Work/init(perform:refuse:)`` is called from inside this call.
    public func run(_ work: Work) {
        enum Next {
            case wake(IdleThread)
            case create, queued, refuse
        }
        let next = state.withLock { state -> Next in
            if state.permits(work, limit, reserve: reserve) {
                if let thread = state.idle.popLast() {
                    state.begin(work)
                    return .wake(thread)
                }
                if state.threads < limit {
                    state.queue.append(work)
                    state.threads += 1
                    state.starting += 1
                    return .create
                }
            }
            guard state.queue.count - state.starting < maximumQueueLength || work.refuse == nil else { return .refuse }
            state.queue.append(work)
            return .queued
        }
        switch next {
        case .wake(let thread): thread.give(work)
        case .queued: return
        case .refuse: refuse([work], .queueIsFull)
        case .create: createThread()
        }
    }

    /// Makes a call that gives something back and may block, such as `close(2)`: on one of the threads if the calling thread is that of an event
    /// loop or runs a task, and otherwise at once.
    ///
    /// Tasks share as many threads as the machine has processors, so a call that hangs would stop the others. The call is never refused:
    /// without a thread, it waits for the next one.
    public func release(_ call: @escaping @Sendable () -> Void) {
        guard LoopThread.isCurrent || withUnsafeCurrentTask(body: { $0 != nil }) else { return call() }
        // The work keeps the pool: its other references may go away while there is no thread.
        run(Work(perform: { [self] in withExtendedLifetime(self) { call() } }, refuseAtOnce: nil))
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

    // MARK: Threads

    private func createThread() {
        switch origin {
        case .system(let spawn, let idleTime):
            let failure = spawn { [self] in serve(idleTime: idleTime) }
            if failure != 0 { threadFailed(.noThread(failure)) }
        case .pool(let pool):
            pool.run(
                Work(perform: { [self] in serveOnce() }, refuseAtOnce: { [self] in threadFailed($0) }, for: self))
        }
    }

    private func threadFailed(_ refusal: Refusal) {
        let stranded = state.withLock { state -> [Work] in
            state.threads -= 1
            state.starting -= 1
            // Another thread, perhaps still being created, takes the queued work.
            guard state.threads == 0 else { return [] }
            let stranded = state.queue.filter { $0.refuse != nil }
            state.queue.removeAll { $0.refuse != nil }
            return stranded
        }
        refuse(stranded, refusal)
    }

    private func refuse(_ work: [Work], _ refusal: Refusal) {
        for work in work { work.refuse?(refusal) }
    }

    /// Performs one work item on a thread of the pool that this is a part of. More of them wait for their turn in that pool.
    private func serveOnce() {
        let work = state.withLock { state -> Work? in
            state.starting -= 1
            let work = state.take(limit, reserve: reserve)
            if work == nil { state.threads -= 1 }
            return work
        }
        guard let work else { return }
        work.perform()
        let continues = state.withLock { state in
            state.end(work)
            if state.queue.isEmpty { state.threads -= 1 } else { state.starting += 1 }
            return !state.queue.isEmpty
        }
        if continues { createThread() }
    }

    private func serve(idleTime: Duration) {
        var isStarting = true
        // An idle thread keeps no work: what that holds, such as an open file, is released as soon as the call has returned.
        while let work = next(isStarting: isStarting, idleTime) {
            work.perform()
            state.withLock { $0.end(work) }
            isStarting = false
        }
    }

    /// The next work for the calling thread; nil if the thread must exit.
    private func next(isStarting: Bool, _ idleTime: Duration) -> Work? {
        let idle = IdleThread()
        let queued = state.withLock { state -> Work? in
            if isStarting { state.starting -= 1 }
            if let work = state.take(limit, reserve: reserve) { return work }
            state.idle.append(idle)
            return nil
        }
        if let queued { return queued }
        if let work = idle.waitForWork(within: idleTime) { return work }
        let exits = state.withLock { state in
            guard let index = state.idle.firstIndex(where: { $0 === idle }) else { return false }
            state.idle.remove(at: index)
            state.threads -= 1
            return true
        }
        // Otherwise, work arrived as the idle time ended: this thread was removed from the list, and is about to receive it.
        return exits ? nil : idle.waitForWork()
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

/// A thread that waits for its next work. It waits without a descriptor, which a pool must not keep for each idle thread.
private final class IdleThread: Sendable {
    private let work = Locked<BlockingThreads.Work?>(nil)
    /// 1 once there is work.
    private let word = Atomic<UInt32>(0)

    /// Gives the thread its work, once.
    func give(_ work: BlockingThreads.Work) {
        self.work.withLock { $0 = work }
        word.store(1, ordering: .releasing)
        withUnsafePointer(to: word) { netkit_wake($0) }
    }

    /// Waits for work on the calling thread.
    ///
    /// - Parameter time: the longest wait; nil for no limit.
    /// - Returns: nil if there is no work within the time.
    func waitForWork(within time: Duration? = nil) -> BlockingThreads.Work? {
        let end = time.map { Moment.now + $0 }
        while word.load(ordering: .acquiring) == 0 {
            let left = end.map { Moment.now.nanoseconds(to: $0) } ?? .max
            if left <= 0 { return nil }
            withUnsafePointer(to: word) { netkit_wait_while_for($0, 0, left) }
        }
        return work.withLock { $0.take() }
    }
}
