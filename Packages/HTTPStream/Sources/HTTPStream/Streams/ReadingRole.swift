internal import EventLoops

/// The role of the reader, which waits for the input of a connection that requests share: the loop, or a thread that waits for one of them.
///
/// A thread that waits for its own request reads for all of them meanwhile, so that no other thread is woken for what it waits for. When its own
/// request can go on, it gives the role up: to the loop if only tasks or callbacks wait. Otherwise the role is free, and a thread that waits is
/// woken to take it. A few milliseconds later, the loop checks whether a thread reads, and takes the role if not.
///
/// A call that looks for data of a body reads the input itself where its thread may (``mayTake(onLoop:)``), so that the data is copied only once. A
/// thread whose call has found none (``foundNothing(at:)``) waits as the reader. When input arrives, it gives the role up without waking another
/// thread (``threadTakes(at:)``), and calls again. Another waiter gets the role after that call (``callerGoesOn()``).
///
///     reader | a thread waits             | a task waits      | the reading thread goes on, or leaves    | the loop checks
///     loop   | a task waits: waits;       | is noted          |                                          | -
///            | none: takes the role       |                   |                                          |
///     thread | waits                      | is noted          | only tasks wait, or it leaves: loop;     | -
///            |                            |                   | else free, the first thread that waits   |
///            |                            |                   | is woken, and the loop checks soon       |
///            |                            |                   | it takes its data itself: free, and the  |
///            |                            |                   | loop checks soon                         |
///     free   | takes the role             | is noted; loop    |                                          | loop; if a thread has read
///            |                            |                   |                                          | since, it checks again
struct ReadingRole: Sendable {
    enum Reader: Hashable, Sendable {
        case loop
        case thread
        /// No reader. `hasWoken`: a thread has been woken to take the role, and has not waited again.
        case free(hasWoken: Bool)
    }

    /// What a thread does that has to wait.
    enum ThreadWait: Sendable {
        /// It waits for the connection, and reads.
        case reads(insteadOfLoop: Bool)
        /// It waits for its own request.
        case waits
    }

    /// What follows once a thread that has read, or a call that has taken data, goes on.
    enum Succession: Sendable {
        /// The loop reads, and must be called.
        case loop
        /// The role is free for now. The thread that waits at this point must be signalled, and takes the role when it waits again. If `checksSoon` is
        /// true, the loop must check soon: that thread may have something else to do.
        case free(wakes: WaitPoint?, checksSoon: Bool)
    }

    /// Whether the loop is about to check whether there is a reader.
    enum Check: Hashable, Sendable {
        case none
        /// It is the reader then, unless a thread has read meanwhile.
        case expected(hasThreadRead: Bool)
    }

    private(set) var reader = Reader.loop
    private(set) var check = Check.none
    /// The points of the threads that wait while another one reads.
    private(set) var threads: [WaitPoint] = []
    /// The points at which a task or a callback has begun to wait, and that have not been signalled since.
    private(set) var tasks: Set<ObjectIdentifier> = []
    /// The points of the messages whose last read has found no data. Their threads take it from the input, see `HTTP2Link.read`.
    private(set) var takers: [WaitPoint] = []

    mutating func threadWaits(at point: WaitPoint) -> ThreadWait {
        let wasLoop = reader == .loop
        let mayRead =
            switch reader {
            case .loop: tasks.isEmpty
            case .thread: false
            case .free: true
            }
        guard mayRead else {
            threads.append(point)
            return .waits
        }
        reader = .thread
        if case .expected = check { check = .expected(hasThreadRead: true) }
        return .reads(insteadOfLoop: wasLoop)
    }

    /// A thread that waited for its own request goes on.
    mutating func threadGoesOn(at point: WaitPoint) {
        // Only one entry: the two halves of a stream have one point.
        if let index = threads.firstIndex(where: { $0 === point }) { threads.remove(at: index) }
    }

    /// A task or a callback is about to wait. Returns whether the loop becomes the reader, and must be called.
    mutating func taskWaits(at point: WaitPoint) -> Bool {
        tasks.insert(ObjectIdentifier(point))
        guard case .free = reader else { return false }
        reader = .loop
        return true
    }

    /// The point is being signalled, or its request has ended: its waiter goes on.
    mutating func waitEnds(at point: WaitPoint) {
        if !tasks.isEmpty { tasks.remove(ObjectIdentifier(point)) }
        if !threads.isEmpty { threads.removeAll { $0 === point } }
        if !takers.isEmpty { takers.removeAll { $0 === point } }
    }

    // MARK: Data taken from the input

    /// Whether a call that looks for data may take it from the input, instead of the reader: on the loop's thread while the loop reads, on other
    /// threads otherwise.
    func mayTake(onLoop isLoop: Bool) -> Bool {
        (reader == .loop) == isLoop
    }

    /// A call that takes data from the input has found none.
    mutating func foundNothing(at point: WaitPoint) {
        if !takers.contains(where: { $0 === point }) { takers.append(point) }
    }

    /// A call that takes data from the input has found some, or the end. Returns what follows if the role is free.
    mutating func callerGoesOn() -> Succession? {
        guard case .free(let hasWoken) = reader else { return nil }
        if case .expected = check { check = .expected(hasThreadRead: true) }
        // A woken thread is on its way to the role: no second one is woken.
        return hasWoken || threads.isEmpty && tasks.isEmpty ? nil : readerGoesOn()
    }

    /// There is input for the thread that reads. If it takes its data from the input itself, the role becomes free, and no thread is woken.
    ///
    /// - Returns: what follows; nil if the thread has to read for all.
    mutating func threadTakes(at point: WaitPoint) -> Succession? {
        guard let index = takers.firstIndex(where: { $0 === point }) else { return nil }
        takers.remove(at: index)
        reader = .free(hasWoken: false)
        return .free(wakes: nil, checksSoon: expectCheck())
    }

    /// The thread that reads goes on.
    mutating func readerGoesOn() -> Succession {
        if threads.isEmpty, !tasks.isEmpty {
            reader = .loop
            return .loop
        }
        reader = .free(hasWoken: !threads.isEmpty)
        return .free(wakes: threads.isEmpty ? nil : threads.removeFirst(), checksSoon: expectCheck())
    }

    /// Returns whether the loop has to check that there is a reader, and does not expect to.
    private mutating func expectCheck() -> Bool {
        if check != .none { return false }
        check = .expected(hasThreadRead: false)
        return true
    }

    /// The thread that reads waits at its point from now on. The loop reads, and must be called.
    mutating func leaveToLoop(threadAt point: WaitPoint) {
        reader = .loop
        threads.append(point)
    }

    /// The loop checks whether there is a reader. Returns whether it must check again soon.
    mutating func loopChecks() -> Bool {
        switch (check, reader) {
        case (.expected(hasThreadRead: true), .free):
            (check, reader) = (.expected(hasThreadRead: false), .free(hasWoken: false))
            return true
        case (_, .free): reader = .loop
        case (_, .thread), (_, .loop): break
        }
        check = .none
        return false
    }
}
