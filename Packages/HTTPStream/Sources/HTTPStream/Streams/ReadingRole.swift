internal import EventLoops

/// The role of the reader, which waits for the input of a connection that requests share: the loop, or a thread that waits for one of them.
///
/// A thread that waits for its own request reads for all of them meanwhile, so that no other thread is woken for what it waits for. It gives
/// the role up when its own request can go on: to another thread that waits, to the loop if a task or a callback waits; else it is free.
/// After a few milliseconds without a thread that reads, the loop takes the role.
///
///     reader | a thread waits           | a task waits | the thread goes on                     | the loop looks
///     loop   | takes the role, unless a | -            |                                        | -
///            | task waits; else waits   |              |                                        |
///     thread | waits                    | is noted     | free; wakes a thread that waits, or    | -
///            |                          |              | the loop for tasks; else the loop looks |
///     free   | takes the role           | loop         |                                        | loop, unless a thread has read since
struct ReadingRole: Sendable {
    enum Reader: Sendable {
        case loop, thread, free
    }

    /// What a thread does that has to wait.
    enum ThreadWait: Sendable {
        /// It waits for the connection, and reads.
        case reads(insteadOfLoop: Bool)
        /// It waits for its own request.
        case waits
    }

    /// What follows once a thread that has read goes on.
    enum Succession: Sendable {
        /// The loop reads, and must be called.
        case loop
        /// The role is free for now. The thread that waits at this point must be signalled, and takes the role when it waits again. If `looks` is
        /// true, the loop must look soon: that thread may have something else to do.
        case free(wakes: WaitPoint?, looks: Bool)
    }

    /// Whether the loop is about to look whether there is a reader.
    enum Look: Hashable, Sendable {
        case none
        /// It is the reader then, unless a thread has read meanwhile.
        case expected(hasThreadRead: Bool)
    }

    private(set) var reader = Reader.loop
    private(set) var look = Look.none
    /// The points of the threads that wait while another one reads.
    private(set) var threads: [WaitPoint] = []
    /// The points at which a task or a callback waits.
    private(set) var tasks: Set<ObjectIdentifier> = []

    mutating func threadWaits(at point: WaitPoint) -> ThreadWait {
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
        defer { reader = .thread }
        if case .expected = look { look = .expected(hasThreadRead: true) }
        return .reads(insteadOfLoop: reader == .loop)
    }

    /// A thread that waited for its own request goes on.
    mutating func threadGoesOn(at point: WaitPoint) { threads.removeAll { $0 === point } }

    /// A task or a callback is about to wait. Returns whether the loop becomes the reader, and must be called.
    mutating func taskWaits(at point: WaitPoint) -> Bool {
        tasks.insert(ObjectIdentifier(point))
        guard case .free = reader else { return false }
        reader = .loop
        return true
    }

    /// The point is being signalled, or its request has ended: its waiter goes on.
    mutating func wakes(_ point: WaitPoint) {
        if !tasks.isEmpty { tasks.remove(ObjectIdentifier(point)) }
        threads.removeAll { $0 === point }
    }

    /// The thread that reads goes on.
    mutating func readerGoesOn() -> Succession {
        if threads.isEmpty, !tasks.isEmpty {
            reader = .loop
            return .loop
        }
        reader = .free
        let isLookExpected = look != .none
        if !isLookExpected { look = .expected(hasThreadRead: false) }
        return .free(wakes: threads.isEmpty ? nil : threads.removeFirst(), looks: !isLookExpected)
    }

    /// The thread that reads waits at its point from now on. The loop reads, and must be called.
    mutating func leaveToLoop(threadAt point: WaitPoint) {
        reader = .loop
        threads.append(point)
    }

    /// The loop looks whether there is a reader. Returns whether it must look again soon.
    mutating func loopLooks() -> Bool {
        switch (look, reader) {
        case (.expected(hasThreadRead: true), .free):
            look = .expected(hasThreadRead: false)
            return true
        case (_, .free): reader = .loop
        case (_, .thread), (_, .loop): break
        }
        look = .none
        return false
    }
}
