@_spi(Packages) internal import EventLoops

/// A read from a connection: see ``HalfCall``. The connection and the buffer are passed to each step: a reference in the value would
/// cost 40 instructions a read.
struct ReadCall {
    /// Whether a try may wait in the system call: for a blocking call. A time limit, which only a wait can have, excludes it.
    private let mayBlock: Bool

    /// A read of a task.
    init() { mayBlock = false }

    private init(blockingAt connection: Connection) { mayBlock = !connection.halves.reader.hasLimit }

    /// Reads available bytes without waiting.
    static func tryOnce(_ connection: Connection, into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if buffer.byteCount == 0 { return .moved(0) }
        try connection.enter(.reader)
        defer { connection.leave(.reader) }
        return try ReadCall().attempt(connection, into: &buffer)
    }

    /// Enters the half and reads, on the calling thread.
    @available(*, noasync)
    static func block(_ connection: Connection, into buffer: inout MutableRawSpan) throws(StreamError) -> Int {
        if buffer.byteCount == 0 { return 0 }
        // A `recv` that blocks costs an eighth less than trying, polling and trying again.
        let call = ReadCall(blockingAt: connection)
        try connection.enter(.reader)
        return try HalfCall.block(.reader) { (wake, deadline) throws(StreamError) in
            try call.step(connection, after: wake, until: deadline, into: &buffer)
        }
    }

    /// Begins the read of a task, and enters the half unless the buffer is empty. Returns the first step if it makes no attempt to read; nil
    /// otherwise.
    func begin(_ connection: Connection, for byteCount: Int) throws(StreamError) -> CallStep? {
        if byteCount == 0 { return .done(0) }
        try connection.enter(.reader)
        if ReadCall.isFutile(connection.point) { return wait(connection, for: .readable, until: nil) }
        guard connection.point.beginTransfer(.reader) else {
            return .wait(.nextTurn(of: connection.loop), .readable, until: nil)
        }
        return nil
    }

    /// Takes a step; the call is inside. Leaves the half unless the call must wait.
    @inline(__always)
    func step(
        _ connection: Connection, after wake: Wake?, until deadline: Moment?, into buffer: inout MutableRawSpan
    ) throws(StreamError) -> CallStep {
        do throws(StreamError) {
            if let wake, wake != .ready { try connection.resume(wake, .reader) }
            let count: Int
            switch try attempt(connection, into: &buffer) {
            case .moved(let moved):
                if !mayBlock, moved < buffer.byteCount, connection.isDrainedByShortRead {
                    connection.point.noteDrained()
                }
                count = moved
            case .ended: count = 0
            case .wouldBlock(let interest): return wait(connection, for: interest, until: deadline)
            }
            connection.leave(.reader)
            return .done(count)
        } catch {
            connection.leave(.reader)
            throw error
        }
    }

    private func wait(_ connection: Connection, for interest: Interest, until deadline: Moment?) -> CallStep {
        connection.point.beginTurn(.reader)
        let deadline = deadline ?? connection.halves.reader.deadline
        return .wait(connection.pointToWaitOrRetry(.reader), interest, until: deadline)
    }

    /// Tries once; the call is inside.
    @inline(__always)
    private func attempt(_ connection: Connection, into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard connection.isOpen(.reader) else { return try connection.attemptWhileNotOpen(.reader) }
        do throws(StreamError) {
            let point = connection.point
            let attempt: Attempt
            if connection.hasSocket {
                attempt = try point.receive(into: &buffer, waits: mayBlock && point.ownership == .owned)
            } else if connection.hasBareTransport,
                // Not `let transport`, which would count a reference.
                let moved = mayBlock
                    ? try connection.transport?.read(into: &buffer) : try connection.transport?.tryRead(into: &buffer)
            {
                attempt = mayBlock ? moved : point.count(moved)
            } else if let layer = connection.engine {
                attempt = mayBlock ? try layer.read(into: &buffer) : point.count(try layer.tryRead(into: &buffer))
            } else {
                return try connection.attemptWhileNotOpen(.reader)
            }
            if case .ended = attempt { try connection.noteReadEnd() }
            return attempt
        } catch {
            throw connection.fail(error, .reader)
        }
    }

    /// True if a read cannot succeed now: the last read on this TCP socket was short, so it took all bytes, and epoll
    /// has reported neither bytes nor an end since. The wait point clears the flag at the first report.
    ///
    /// Saves one system call per round trip. Used only on the loop's thread, where epoll's reports are processed before
    /// this code runs; elsewhere it costs more than it saves.
    private static func isFutile(_ point: WaitPoint) -> Bool { point.isDrained && point.loop.isCurrent }
}

extension WaitPoint {
    /// Counts the bytes that a layer's read moved (``countBytes(_:_:)``); returns the attempt.
    fileprivate func count(_ attempt: Attempt) -> Attempt {
        if case .moved(let count) = attempt { countBytes(count, .reader) }
        return attempt
    }
}
