internal import EventLoops
internal import Glibc
internal import Synchronization

/// The reading calls. The polling, blocking and async forms of each differ only in how they wait.
extension Connection {
    /// Tries to read once; the caller has entered the reader half. If `waits` is true, the system call may block.
    @inline(__always)
    func attemptRead(into buffer: inout MutableRawSpan, waits: Bool = false) throws(StreamError) -> Attempt {
        guard isOpen(.reader) else { return try attemptWhileNotOpen(.reader) }
        do throws(StreamError) {
            let attempt: Attempt
            if hasSocket {
                attempt = try point.receive(into: &buffer, waits: waits && point.ownership == .owned)
            } else if hasBareTransport,
                // Not `let transport`, which would count a reference.
                let moved = waits ? try transport?.read(into: &buffer) : try transport?.tryRead(into: &buffer)
            {
                attempt = waits ? moved : point.count(moved)
            } else if let engine {
                attempt = waits ? try engine.read(into: &buffer) : try engine.tryRead(into: &buffer, countingAt: point)
            } else {
                return try attemptWhileNotOpen(.reader)
            }
            if case .ended = attempt { try noteReadEnd() }
            return attempt
        } catch {
            throw fail(error, .reader)
        }
    }

    private func noteReadEnd() throws(StreamError) {
        if isClosing(.reader) { throw .closed }
        try withDetails { (details) throws(StreamError) in
            if let failure = details.readFailure { throw failure }
            if settledStatus(.reader) == .open { reader.status = .atEnd }
        }
    }

    /// Throws if an apparent end has another cause: a close or failure of this stream ended the read, or an earlier
    /// write consumed the kernel's report of a reset.
    func verifyReadEnd() throws(StreamError) {
        if isClosing(.reader) { throw .closed }
        if let failure = withDetails({ $0.readFailure }) { throw failure }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        if buffer.byteCount == 0 { return .moved(0) }
        try enter(.reader)
        defer { leave(.reader) }
        return try attemptRead(into: &buffer)
    }

    @available(*, noasync)
    func blockingRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Int {
        if buffer.byteCount == 0 { return 0 }
        try enter(.reader)
        defer { leave(.reader) }
        // A `recv` that blocks costs an eighth less than trying, polling and trying again, but cannot have a time
        // limit.
        let waits = !hasLimit(.reader)
        let deadline = waits ? nil : deadline(.reader)
        while true {
            switch try attemptRead(into: &buffer, waits: waits) {
            case .moved(let count): return count
            case .ended: return 0
            case .wouldBlock(let interest): try block(.reader, for: interest, until: deadline)
            }
        }
    }

    @inline(never)
    func beginRead(into buffer: inout MutableRawSpan) throws(StreamError) -> ReadStep {
        if buffer.byteCount == 0 { return .done(0) }
        try enter(.reader)
        do throws(StreamError) {
            let attempt: Attempt
            if skipsFutileRead {
                attempt = .wouldBlock(.readable)
            } else if point.isTurnSpent(.reader) {
                return .wait(.nextTurn(of: point.loop), .readable, until: nil)
            } else {
                attempt = try attemptRead(into: &buffer)
            }
            return readStep(attempt, room: buffer.byteCount, until: nil)
        } catch {
            leave(.reader)
            throw error
        }
    }

    @inline(never)
    func continueRead(
        after wake: Wake, until deadline: Moment?, into buffer: inout MutableRawSpan
    ) throws(StreamError) -> ReadStep {
        do throws(StreamError) {
            if wake != .ready { try resume(wake, .reader) }
            return readStep(try attemptRead(into: &buffer), room: buffer.byteCount, until: deadline)
        } catch {
            leave(.reader)
            throw error
        }
    }

    @inline(__always)
    private func readStep(_ attempt: Attempt, room: Int, until deadline: Moment?) -> ReadStep {
        switch attempt {
        case .moved(let count):
            if count < room, canDrain { point.noteDrained() }
            leave(.reader)
            return .done(count)
        case .ended:
            leave(.reader)
            return .done(0)
        case .wouldBlock(let interest):
            point.beginTurn(.reader)
            return .wait(pointForLayers(.reader), interest, until: deadline ?? self.deadline(.reader))
        }
    }

    nonisolated(nonsending) func wait(
        toRead interest: Interest, until deadline: Moment?
    ) async throws(StreamError) {
        guard let waitPoint = pointToWait(.reader) else { return }
        try resume(await waitPoint.readerWait(for: interest, until: deadline), .reader)
    }

    /// Suspends until a read would return at once.
    nonisolated(nonsending) func readable() async throws(StreamError) {
        try enter(.reader)
        defer { leaveUntouched(.reader) }
        let deadline = deadline(.reader)
        while case .wouldBlock(let interest) = try poll(.reader) {
            try await wait(toRead: interest, until: deadline)
        }
    }

    @available(*, noasync)
    func blockUntilReadable() throws(StreamError) {
        try enter(.reader)
        defer { leaveUntouched(.reader) }
        if mayWaitInKernel(.reader) {
            do throws(StreamError) {
                _ = try Syscalls.peek(point.descriptor, waits: true)
            } catch {
                throw fail(error, .reader)
            }
            if isClosing(.reader) { throw .closed }
            return
        }
        let deadline = deadline(.reader)
        while case .wouldBlock(let interest) = try poll(.reader) {
            try block(.reader, for: interest, until: deadline)
        }
    }

    /// Waits until the half is open.
    nonisolated(nonsending) func opened(_ half: StreamHalf) async throws(StreamError) {
        try enter(half)
        defer { leaveUntouched(half) }
        while try !hasOpened(half) {
            guard let waitPoint = pointOfOpening(half) else { continue }
            let wake =
                half == .reader
                ? await waitPoint.readerWait(for: .readable, until: nil)
                : await waitPoint.writerWait(for: .writable, until: nil)
            try resume(wake, half)
        }
    }

    @available(*, noasync)
    func blockUntilOpened(_ half: StreamHalf) throws(StreamError) {
        try enter(half)
        defer { leaveUntouched(half) }
        while try !hasOpened(half) {
            guard let waitPoint = pointOfOpening(half) else { continue }
            try resume(waitPoint.block(half, for: [.readable, .writable], until: nil), half)
        }
    }

    /// Whether the half is open; false while it is opening. Throws the reason if it is neither.
    private func hasOpened(_ half: StreamHalf) throws(StreamError) -> Bool {
        switch status(half) {
        case .opening: return false
        case .notOpen: throw .notOpen
        case .closed: throw .closed
        case .error: throw error(half) ?? .closed
        case .open, .reading, .writing, .atEnd: return true
        }
    }

    @available(*, noasync)
    func block(_ half: StreamHalf, for interest: Interest, until deadline: Moment?) throws(StreamError) {
        guard let waitPoint = pointToWait(half) else { return }
        let wake = waitPoint.block(half, for: interest, until: deadline)
        // A transport that is woken again and again without receiving bytes must not defer the limit.
        if wake == .ready, let deadline, Moment.now >= deadline { throw .timedOut }
        try resume(wake, half)
    }

    /// True if a blocked call may wait in the kernel: on an open owned socket, which close can shut down, without a
    /// time limit.
    @inline(__always)
    func mayWaitInKernel(_ half: StreamHalf) -> Bool {
        guard isOpen(half), hasSocket else { return false }
        return point.ownership == .owned && !hasLimit(half)
    }
}

// MARK: - Skipping reads that cannot succeed

extension Connection {
    /// True if a read cannot succeed now: the last read on this TCP socket was short, so it took all bytes, and epoll
    /// has reported neither bytes nor an end since. The wait point clears the flag at the first report.
    ///
    /// Saves one system call per round trip. Used only on the loop's thread, where epoll's reports are processed before
    /// this code runs; elsewhere it costs more than it saves.
    @inline(__always)
    private var skipsFutileRead: Bool {
        point.isDrained && point.loop.isCurrent
    }
}
