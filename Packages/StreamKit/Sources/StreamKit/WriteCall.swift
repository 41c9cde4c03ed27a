internal import EventLoops

/// A write to a connection: see ``HalfCall``. The bytes are passed to each step.
///
/// It ends with flushing, which waits until layers have passed down what they have accepted.
struct WriteCall {
    /// What the call waits for.
    enum Goal {
        /// At least one byte is accepted.
        case some
        /// All bytes are accepted.
        case all
        /// Layers have passed down the bytes that they hold.
        case flush
    }

    let connection: Connection
    private let goal: Goal
    private let isBlocking: Bool
    private var isFlushing: Bool
    /// The number of bytes accepted.
    private var written = 0

    private init(_ connection: Connection, _ goal: Goal, isBlocking: Bool) {
        self.connection = connection
        self.goal = goal
        self.isBlocking = isBlocking
        isFlushing = goal == .flush
    }

    /// Writes as a task; returns the number of bytes written.
    // Inlined: each async call takes memory of a suspended task, and costs more than a write that does not wait.
    @inline(__always)
    static nonisolated(nonsending) func suspend(
        _ connection: Connection, _ goal: Goal, _ bytes: RawSpan = RawSpan()
    ) async throws(StreamError) -> Int {
        if bytes.byteCount == 0, goal != .flush { return 0 }
        try connection.enter(.writer)
        var call = WriteCall(connection, goal, isBlocking: false)
        return try await HalfCall.suspend(.writer) { (wake, deadline) throws(StreamError) in
            try call.next(after: wake, until: deadline, bytes)
        }
    }

    /// Writes on the calling thread; returns the number of bytes written.
    @available(*, noasync)
    static func block(_ connection: Connection, _ goal: Goal, _ bytes: RawSpan) throws(StreamError) -> Int {
        if bytes.byteCount == 0, goal == .some { return 0 }
        try connection.enter(.writer)
        var call = WriteCall(connection, bytes.byteCount == 0 ? .flush : goal, isBlocking: true)
        return try HalfCall.block(.writer) { (wake, deadline) throws(StreamError) in
            try call.next(after: wake, until: deadline, bytes)
        }
    }

    /// Writes as many bytes as fit without waiting.
    static func tryOnce(_ connection: Connection, _ bytes: RawSpan) throws(StreamError) -> Attempt {
        if bytes.byteCount == 0 { return .moved(0) }
        try connection.enter(.writer)
        defer { connection.leave(.writer) }
        return try WriteCall(connection, .some, isBlocking: false).attempt(bytes)
    }

    /// Passes down bytes that layers hold, without waiting.
    static func tryFlush(_ connection: Connection) throws(StreamError) -> Attempt {
        // A socket holds no bytes.
        if connection.isOpen(.writer), connection.hasSocket { return .ended }
        try connection.enter(.writer)
        defer { connection.leaveUntouched(.writer) }
        return try WriteCall(connection, .flush, isBlocking: false).attemptFlush()
    }

    /// Writes until done or until it must wait. Leaves the half when done or when it throws.
    @inline(never)
    private mutating func next(
        after wake: Wake?, until deadline: Moment?, _ bytes: RawSpan
    ) throws(StreamError) -> CallStep {
        var deadline = deadline
        do throws(StreamError) {
            if let wake, wake != .ready {
                do throws(StreamError) {
                    try connection.resume(wake, .writer)
                } catch {
                    throw giveUp(error)
                }
            }
            while true {
                if !isFlushing, !isBlocking, connection.point.isTurnSpent(.writer) {
                    return .wait(.nextTurn(of: connection.loop), .writable, until: nil)
                }
                switch isFlushing ? try attemptFlush() : try attempt(bytes.extracting(droppingFirst: written)) {
                case .moved(let count):
                    if isFlushing { continue }
                    written += count
                    deadline = nil
                    isFlushing = goal != .all || written == bytes.byteCount
                case .ended where goal == .all && !isFlushing:
                    throw StreamError.noRoom(written: written, of: bytes.byteCount)
                case .ended:
                    connection.leave(.writer)
                    return .done(written)
                case .wouldBlock(let interest):
                    connection.point.beginTurn(.writer)
                    let deadline = deadline ?? connection.halves[WaitPoint.Half.writer.index].deadline
                    return .wait(connection.pointForLayers(.writer), interest, until: deadline)
                }
            }
        } catch {
            connection.leave(.writer)
            throw error
        }
    }

    /// Fails the stream after a write that gave up waiting: the peer has received an unknown part of a message.
    private func giveUp(_ error: StreamError) -> StreamError {
        guard error == .cancelled || error == .timedOut, connection.isOpen(.writer) else { return error }
        connection.failBoth(error)
        return error
    }

    /// Whether a try may wait in the system call. A time limit, which only a wait can have, excludes it.
    private var mayBlock: Bool { isBlocking && !connection.halves[WaitPoint.Half.writer.index].hasLimit }

    /// Tries once; the call is inside.
    private func attempt(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard connection.isOpen(.writer) else { return try connection.attemptWhileNotOpen(.writer) }
        do throws(StreamError) {
            let attempt: Attempt
            if connection.hasSocket {
                // The kernel would wait until all bytes are accepted, whereas a single write may return a short count.
                let waits = goal == .all && isBlocking && connection.mayWaitInKernel(.writer)
                attempt = try connection.point.send(bytes, waits: waits)
            } else if connection.hasBareTransport, let transport = connection.transport {
                attempt = mayBlock ? try transport.write(bytes) : try transport.tryWrite(bytes)
            } else if let engine = connection.engine {
                attempt = mayBlock ? try engine.write(bytes) : try engine.tryWrite(bytes)
            } else {
                return try connection.attemptWhileNotOpen(.writer)
            }
            if case .ended = attempt { connection.noteEnd(.writer) }
            return attempt
        } catch {
            throw connection.fail(error, .writer)
        }
    }

    /// Tries once to pass down bytes that layers hold; the call is inside.
    private func attemptFlush() throws(StreamError) -> Attempt {
        guard connection.isOpen(.writer) else {
            if connection.halves[WaitPoint.Half.writer.index].has(.error) { throw connection.error(.writer) ?? .closed }
            return .ended
        }
        guard !connection.hasSocket, let engine = connection.engine else { return .ended }
        do throws(StreamError) {
            return try engine.tryFlush()
        } catch {
            throw connection.fail(error, .writer)
        }
    }
}

extension StreamError {
    static func noRoom(written: Int, of total: Int) -> StreamError {
        StreamError(
            posix: 28,  // ENOSPC
            Sentence(
                "write.noRoom", "The stream is full: %1 of %2 bytes were written.", String(written), String(total)
            ))
    }
}
