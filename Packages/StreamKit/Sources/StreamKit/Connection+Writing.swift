internal import EventLoops
internal import Synchronization

/// The writing calls, once per way of waiting. They differ in nothing else.
extension Connection {
    /// One try, while inside the writer half. If `waits` is true, a layer may wait on the calling thread.
    @inline(__always)
    func attemptWrite(_ bytes: RawSpan, waits: Bool = false) throws(StreamError) -> Attempt {
        guard isOpen(.writer) else { return try attemptWhileNotOpen(.writer) }
        do throws(StreamError) {
            let attempt: Attempt
            if hasSocket {
                attempt = try point.send(bytes)
            } else if hasBareTransport, let transport {
                attempt = waits ? try transport.write(bytes) : try transport.tryWrite(bytes)
            } else if let engine {
                attempt = waits ? try engine.write(bytes) : try engine.tryWrite(bytes)
            } else {
                return try attemptWhileNotOpen(.writer)
            }
            if case .ended = attempt { noteEnd(.writer) }
            return attempt
        } catch {
            throw fail(error, .writer)
        }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        if bytes.byteCount == 0 { return .moved(0) }
        try enter(.writer)
        defer { leave(.writer) }
        return try attemptWrite(bytes)
    }

    @available(*, noasync)
    func blockingWrite(_ bytes: RawSpan) throws(StreamError) -> Int {
        if bytes.byteCount == 0 { return 0 }
        try enter(.writer)
        defer { leave(.writer) }
        let written = try blockingWriteInside(bytes, all: false)
        try blockingFlush()
        return written
    }

    @available(*, noasync)
    func blockingWriteAll(_ bytes: RawSpan) throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        var written = 0
        while written < bytes.byteCount {
            let count = try blockingWriteInside(bytes.extracting(droppingFirst: written), all: true)
            if count == 0 { throw StreamError.noRoom(written: written, of: bytes.byteCount) }
            written += count
        }
        try blockingFlush()
    }

    /// Waits until layers have passed down all accepted bytes.
    @available(*, noasync)
    private func blockingFlush() throws(StreamError) {
        while case .wouldBlock(let interest) = try attemptFlush() {
            do throws(StreamError) {
                try block(.writer, for: interest, until: deadline(.writer))
            } catch {
                throw failWrite(error)
            }
        }
    }

    @inline(__always)
    private func attemptFlush() throws(StreamError) -> Attempt {
        guard isOpen(.writer) else {
            if settledStatus(.writer) == .error { throw error(.writer) ?? .closed }
            return .ended
        }
        guard !hasSocket, let engine else { return .ended }
        do throws(StreamError) {
            return try engine.tryFlush()
        } catch {
            throw fail(error, .writer)
        }
    }

    @available(*, noasync)
    private func blockingWriteInside(_ bytes: RawSpan, all: Bool) throws(StreamError) -> Int {
        // The kernel would wait until all bytes are accepted, whereas a single write may return a short count.
        if all, mayWaitInKernel(.writer) {
            let attempt: Attempt
            do throws(StreamError) {
                let descriptor = point.descriptor
                attempt = try bytes.withUnsafeBytes { (bytes) throws(StreamError) in
                    try Syscalls.send(descriptor, bytes, waits: true)
                }
            } catch {
                throw fail(error, .writer)
            }
            if case .moved(let count) = attempt { return count }
        }
        let waits = !hasLimit(.writer)
        let deadline = waits ? nil : deadline(.writer)
        while true {
            switch try attemptWrite(bytes, waits: waits) {
            case .moved(let count): return count
            case .ended: return 0
            case .wouldBlock(let interest):
                do throws(StreamError) {
                    try block(.writer, for: interest, until: deadline)
                } catch {
                    throw failWrite(error)
                }
            }
        }
    }

    // Inlined: each async call takes memory of a suspended task, and costs more than a write that does not wait.

    @inline(__always)
    nonisolated(nonsending) func write(_ bytes: RawSpan) async throws(StreamError) -> Int {
        if bytes.byteCount == 0 { return 0 }
        return try await write(bytes, all: false)
    }

    @inline(__always)
    nonisolated(nonsending) func writeAll(_ bytes: RawSpan) async throws(StreamError) {
        if bytes.byteCount > 0 { _ = try await write(bytes, all: true) }
    }

    @inline(__always)
    private nonisolated(nonsending) func write(_ bytes: RawSpan, all: Bool) async throws(StreamError) -> Int {
        var progress = WriteProgress(all: all)
        return try await complete(&progress, bytes)
    }

    @inline(__always)
    nonisolated(nonsending) func flush() async throws(StreamError) {
        var progress = WriteProgress(all: false)
        progress.isFlushing = true
        _ = try await complete(&progress, RawSpan())
    }

    @inline(__always)
    private nonisolated(nonsending) func complete(
        _ progress: inout WriteProgress, _ bytes: RawSpan
    ) async throws(StreamError) -> Int {
        try enter(.writer)
        while case .wait(let waitPoint, let interest, let deadline) = try step(&progress, bytes) {
            progress.wake = await waitPoint.writerWait(for: interest, until: deadline)
        }
        return progress.written
    }

    /// The progress of a write that waits as a task. As with reading, the work is done in functions that do not
    /// suspend.
    private struct WriteProgress {
        let all: Bool
        var written = 0
        /// True once all bytes are accepted and layers must still pass some down.
        var isFlushing = false
        /// The result of the last wait.
        var wake = Wake.ready
        var deadline: Moment?

        init(all: Bool) {
            self.all = all
        }
    }

    private enum WriteStep {
        case done
        case wait(WaitPoint, Interest, until: Moment?)
    }

    /// Writes until done or until it must wait. Leaves the half when done or when it throws.
    @inline(never)
    private func step(_ progress: inout WriteProgress, _ bytes: RawSpan) throws(StreamError) -> WriteStep {
        do throws(StreamError) {
            if progress.wake != .ready { try resume(progress.wake, .writer) }
            while true {
                let attempt: Attempt
                if progress.isFlushing {
                    attempt = try attemptFlush()
                } else if point.isTurnSpent(.writer) {
                    return .wait(.nextTurn(of: point.loop), .writable, until: nil)
                } else {
                    attempt = try attemptWrite(bytes.extracting(droppingFirst: progress.written))
                }
                switch attempt {
                case .moved(let count):
                    if progress.isFlushing { continue }
                    progress.written += count
                    progress.deadline = nil
                    progress.isFlushing = !progress.all || progress.written == bytes.byteCount
                case .ended where progress.all && !progress.isFlushing:
                    throw StreamError.noRoom(written: progress.written, of: bytes.byteCount)
                case .ended:
                    leave(.writer)
                    return .done
                case .wouldBlock(let interest):
                    point.beginTurn(.writer)
                    if progress.deadline == nil { progress.deadline = deadline(.writer) }
                    return .wait(pointForLayers(.writer), interest, until: progress.deadline)
                }
            }
        } catch {
            let failure = progress.wake == .ready ? error : failWrite(error)
            leave(.writer)
            throw failure
        }
    }

    /// Fails the stream after a write that gave up waiting: the peer has received an unknown part of a message.
    private func failWrite(_ error: StreamError) -> StreamError {
        guard error == .cancelled || error == .timedOut, isOpen(.writer) else { return error }
        failBoth(error)
        return error
    }

    func tryFlush() throws(StreamError) -> Attempt {
        // A socket holds no bytes.
        if isOpen(.writer), hasSocket { return .ended }
        try enter(.writer)
        defer { leaveUntouched(.writer) }
        return try attemptFlush()
    }

    // MARK: Ending the sending direction

    func tryFinish() throws(StreamError) -> Attempt {
        try enter(.writer)
        defer { leave(.writer) }
        return try attemptFinish()
    }

    @available(*, noasync)
    func blockingFinish() throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        let deadline = deadline(.writer)
        while case .wouldBlock(let interest) = try attemptFinish() {
            try block(.writer, for: interest, until: deadline)
        }
    }

    nonisolated(nonsending) func finish() async throws(StreamError) {
        try enter(.writer)
        defer { leave(.writer) }
        let deadline = deadline(.writer)
        while case .wouldBlock(let interest) = try attemptFinish() {
            guard let waitPoint = pointToWait(.writer) else { continue }
            try resume(await waitPoint.writerWait(for: interest, until: deadline), .writer)
        }
    }

    private func attemptFinish() throws(StreamError) -> Attempt {
        guard isOpen(.writer), let engine else { return try attemptWhileNotOpen(.writer) }
        do throws(StreamError) {
            let attempt = try engine.tryFinish()
            if case .ended = attempt { noteEnd(.writer) }
            return attempt
        } catch {
            throw fail(error, .writer)
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
