@_spi(Packages) internal import EventLoops

/// A write to a connection: see ``HalfCall``. The connection and the bytes are passed to each step, as in ``ReadCall``.
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

    private let goal: Goal
    private let isBlocking: Bool

    private init(_ goal: Goal, isBlocking: Bool) {
        self.goal = goal
        self.isBlocking = isBlocking
    }

    /// What the steps have done so far.
    private struct Progress {
        /// The number of bytes accepted.
        var written = 0
        var isFlushing: Bool
    }

    /// Writes as a task; returns the number of bytes written.
    // Inlined: each async call takes memory of a suspended task, and costs more than a write that does not wait.
    @inline(__always)
    static nonisolated(nonsending) func suspend(
        _ connection: Connection, _ goal: Goal, _ bytes: RawSpan = RawSpan()
    ) async throws(StreamError) -> Int {
        if bytes.byteCount == 0, goal != .flush { return 0 }
        try connection.enter(.writer)
        let call = WriteCall(goal, isBlocking: false)
        var progress = Progress(isFlushing: goal == .flush)
        return try await HalfCall.suspend(.writer) { (wake, deadline) throws(StreamError) in
            try call.next(connection, &progress, after: wake, until: deadline, bytes)
        }
    }

    /// Writes on the calling thread; returns the number of bytes written.
    @available(*, noasync)
    static func block(_ connection: Connection, _ goal: Goal, _ bytes: RawSpan) throws(StreamError) -> Int {
        if bytes.byteCount == 0, goal == .some { return 0 }
        try connection.enter(.writer)
        let call = WriteCall(goal, isBlocking: true)
        var progress = Progress(isFlushing: bytes.byteCount == 0)
        return try HalfCall.block(.writer) { (wake, deadline) throws(StreamError) in
            try call.step(connection, &progress, after: wake, until: deadline, bytes)
        }
    }

    /// Writes as many bytes as fit without waiting.
    static func tryOnce(_ connection: Connection, _ bytes: RawSpan) throws(StreamError) -> Attempt {
        if bytes.byteCount == 0 { return .moved(0) }
        try connection.enter(.writer)
        defer { connection.leave(.writer) }
        return try WriteCall(.some, isBlocking: false).attempt(connection, bytes)
    }

    /// Passes down bytes that layers hold, without waiting.
    static func tryFlush(_ connection: Connection) throws(StreamError) -> Attempt {
        // A socket holds no bytes.
        if connection.isOpen(.writer), connection.hasSocket { return .ended }
        try connection.enter(.writer)
        defer { connection.leaveUntouched(.writer) }
        return try attemptFlush(connection)
    }

    /// A step of a task: not inlined, so that its variables do not add to the memory of a suspended task.
    @inline(never)
    private func next(
        _ connection: Connection, _ progress: inout Progress, after wake: Wake?, until deadline: Moment?,
        _ bytes: RawSpan
    ) throws(StreamError) -> CallStep {
        try step(connection, &progress, after: wake, until: deadline, bytes)
    }

    /// Writes until done or until it must wait. Leaves the half when done or when it throws.
    @inline(__always)
    private func step(
        _ connection: Connection, _ progress: inout Progress, after wake: Wake?, until deadline: Moment?,
        _ bytes: RawSpan
    ) throws(StreamError) -> CallStep {
        var deadline = deadline
        do throws(StreamError) {
            if let wake, wake != .ready {
                do throws(StreamError) {
                    try connection.resume(wake, .writer)
                } catch {
                    throw WriteCall.giveUp(connection, error)
                }
            }
            while true {
                if !progress.isFlushing, !isBlocking, !connection.point.beginTransfer(.writer) {
                    return .wait(.nextTurn(of: connection.loop), .writable, until: nil)
                }
                let attempt =
                    progress.isFlushing
                    ? try WriteCall.attemptFlush(connection)
                    : try attempt(connection, bytes.extracting(droppingFirst: progress.written))
                switch attempt {
                case .moved(let count):
                    if progress.isFlushing { continue }
                    progress.written += count
                    deadline = nil
                    progress.isFlushing = goal != .all || progress.written == bytes.byteCount
                    // A socket holds no bytes.
                    guard progress.isFlushing, connection.hasSocket else { continue }
                case .ended where goal == .all && !progress.isFlushing:
                    throw StreamError.noRoom(written: progress.written, of: bytes.byteCount)
                case .ended: break
                case .wouldBlock(let interest):
                    connection.point.beginTurn(.writer)
                    let deadline = deadline ?? connection.halves.writer.deadline
                    return .wait(connection.pointToWaitOrRetry(.writer), interest, until: deadline)
                }
                connection.leave(.writer)
                return .done(progress.written)
            }
        } catch {
            connection.leave(.writer)
            throw error
        }
    }

    /// Fails the stream after a write that gave up waiting: the peer has received an unknown part of a message.
    private static func giveUp(_ connection: Connection, _ error: StreamError) -> StreamError {
        guard error == .cancelled || error == .timedOut, connection.isOpen(.writer) else { return error }
        connection.failBoth(error)
        return error
    }

    /// Whether a try may wait in the system call. A time limit, which only a wait can have, excludes it.
    private func mayBlock(_ connection: Connection) -> Bool { isBlocking && !connection.halves.writer.hasLimit }

    /// Tries once; the call is inside.
    @inline(__always)
    private func attempt(_ connection: Connection, _ bytes: RawSpan) throws(StreamError) -> Attempt {
        guard connection.isOpen(.writer) else { return try connection.attemptWhileNotOpen(.writer) }
        do throws(StreamError) {
            let attempt: Attempt
            if connection.hasSocket {
                // The kernel would wait until all bytes are accepted, whereas a single write may return a short count.
                let waits = goal == .all && isBlocking && connection.mayWaitInKernel(.writer)
                attempt = try connection.point.send(bytes, waits: waits)
            } else if connection.hasBareTransport, let transport = connection.transport {
                attempt = mayBlock(connection) ? try transport.write(bytes) : try transport.tryWrite(bytes)
            } else if let engine = connection.engine {
                attempt = mayBlock(connection) ? try engine.write(bytes) : try engine.tryWrite(bytes)
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
    private static func attemptFlush(_ connection: Connection) throws(StreamError) -> Attempt {
        guard connection.isOpen(.writer) else {
            if connection.halves.writer.has(.error) { throw connection.error(.writer) ?? .closed }
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
