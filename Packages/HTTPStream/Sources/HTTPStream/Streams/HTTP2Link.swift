@_spi(Packages) internal import EventLoops
internal import HTTP2
internal import HTTPMessage
internal import StreamKit

/// A connection of HTTP/2, which any number of messages share: an ``HTTP2ClientLink`` or an ``HTTP2ServerLink``.
///
/// Theory of operation. The core knows the messages and the protocol; the link carries bytes between it and the connection, under one lock for the
/// core. The link never calls the program under the lock: what has happened on a stream is kept with it, and the notices of the core are performed
/// after the lock has been released. The loop reads for all streams, or a thread that waits for one of them (``ReadingRole``, which has a lock of
/// its own), so that no stream depends on the reader of another one. Only the reader waits for input. Input that has arrived is also read by a call
/// that looks for data (``read(_:at:into:_:)``), and by the loop beside a thread, before a deadline and after a failed write.
///
/// On the loop's thread, frames are written once for all changes of a turn, so that its messages leave in one write. Other threads write at once.
class HTTP2Link<Core: HTTP2Core & ~Copyable>: Watcher, @unchecked Sendable {
    // Unchecked only as a subclass of Watcher: mutable state is behind a lock.

    let pair: StreamPair
    let loop: EventLoop
    private typealias State = HTTP2LinkState<Core>
    private let state: Locked<State>
    /// The role of waiting for input. Its lock is held for an instant only, also inside that of the state, which a thread may hold for most of
    /// the time.
    private let role = Locked(ReadingRole())

    init(_ pair: StreamPair, _ core: consuming Core) {
        self.pair = pair
        loop = pair.input.waitPoint.loop
        state = Locked(State(core: core))
        super.init()
        loop.execute { [self] in work() }
    }

    deinit { pair.close() }

    /// Tells the program what has happened. Called without the lock, on the loop's thread or on that of a reader
    /// (``readOnThread(for:until:minding:)``). The notices of one change are in order; those of two changes may not be.
    func perform(_ notice: Core.Notice) {}

    /// The point that a notice signals; nil for other notices. Called under the lock.
    func point(signalledBy notice: Core.Notice) -> WaitPoint? { nil }

    /// Called once, without the lock, when the link takes no further requests.
    func didBeginDraining() {}

    /// Called once, without the lock, when the connection has ended.
    func didEnd() {}

    /// The error that has ended the connection; nil while it lasts.
    var error: StreamError? { state.withLock { $0.core.error } }

    /// The size of the memory of the input; 0 while the connection has no messages.
    var inputSize: Int { state.withLock { $0.input.memory.count } }

    /// Looks at the core, without consequences.
    func withCore<Result: Sendable, Failure: Error>(
        _ body: (borrowing Core) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) in try body(state.core) }
    }

    /// Changes the core, and does what follows from that.
    ///
    /// - Parameter point: the point of a message that has no waiter any more.
    func changeCore<Result: Sendable, Failure: Error>(
        endingWaitsAt point: WaitPoint? = nil, _ body: (inout Core) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withState { (state) throws(Failure) in
            if let point { role.withLock { $0.waitEnds(at: point) } }
            return try body(&state.core)
        }
    }

    /// Reads data of a message. Data that the core keeps comes first; otherwise the input is read straight into the target, if the calling thread may.
    ///
    /// A thread that finds nothing, and waits, becomes the reader. It returns when there is input, and calls this again: see
    /// ``ReadingRole/threadTakes(at:)``.
    ///
    /// - Parameters:
    ///   - message: the stream of the message; nil if it has none.
    ///   - point: the point of the message.
    ///   - readKept: reads what is kept.
    final func read<Failure: Error>(
        _ message: StreamID?, at point: WaitPoint, into target: inout MutableRawSpan,
        _ readKept: (inout Core, inout MutableRawSpan) throws(Failure) -> HTTP2ReadOutcome
    ) throws(Failure) -> HTTP2ReadOutcome {
        var succession: ReadingRole.Succession?
        // Not here: the caller may hold locks, and a succession signals points.
        defer { if let succession { loop.execute { [self] in succeed(succession) } } }
        return try withState { (state) throws(Failure) in
            let kept = try readKept(&state.core, &target)
            guard case .blocked = kept, let message, role.withLock({ $0.mayTake(onLoop: loop.isCurrent) }) else {
                return kept
            }
            let count = take(message, &state, into: &target)
            // The events behind the data take effect now, since the caller may close the stream next.
            state.core.settle(now: .now)
            var isBlocked = false
            defer { if !isBlocked { succession = role.withLock { $0.callerGoesOn() } } }
            if count > 0 { return .bytes(count) }
            let outcome = try readKept(&state.core, &target)
            if case .blocked = outcome {
                isBlocked = true
                role.withLock { $0.foundNothing(at: point) }
            }
            return outcome
        }
    }

    /// Lets the core receive input until data of a message has been taken. Returns the number of bytes taken.
    private func take(_ message: StreamID, _ state: inout State, into target: inout MutableRawSpan) -> Int {
        var count = 0
        for _ in 0..<HTTP2Link.maximumPiecesBetweenOthers {
            let room = target.byteCount - count
            if room == 0 || state.isOutputFull { break }
            // A piece is no larger than the room, so that no data of this message is kept.
            let hasMore = readPiece(&state, maximumCount: min(room, HTTP2Input.maximumPieceSize)) { stream, data in
                if stream != message { return 0 }
                target.withUnsafeMutableBytes { target in
                    data.withUnsafeBytes { target[count...].copyBytes(from: $0) }
                }
                count += data.byteCount
                return data.byteCount
            }
            if !hasMore || loop.isCurrent && loop.isShareSpent { break }
        }
        // The socket does not announce again what is already in the input: the thread that waits for it is signalled.
        if state.input.mayHaveMore, role.withLock({ $0.reader == .thread }) { inputPoint.signal(.readable) }
        return count
    }

    private var inputPoint: WaitPoint { pair.input.waitPoint }
    private var outputPoint: WaitPoint { pair.output.waitPoint }

    // MARK: The loop

    /// Lets the loop work. For `fire()`, which is called when the connection may be readable or accept bytes, and when a layer below announces
    /// its end, possibly by a thread that holds the lock.
    ///
    /// Each link overrides `fire()` itself: an override in this generic class would not be specialized for its core, nor would the work that it
    /// begins, which would take twice the time.
    final func scheduleReading() { loop.execute { [self] in work() } }

    /// Reads if the loop may, acts on deadlines, and writes. On the loop's thread.
    ///
    /// - Parameter reads: whether there may be input.
    private func work(reads: Bool = true) {
        withState(isReaderWork: true) { state in
            state.isWorkScheduled = false
            if state.core.hasEnded { return }
            if reads { state.input.noteMore() }
            if loopMayRead(state) { read(&state) }
            guard reads, let deadline = state.core.nextDeadline, deadline <= .now else { return }
            // What has arrived comes first: this thread may be late, or the one that reads.
            if loopMayRead(state) { read(&state, maximumPieces: .max) } else { readArrived(&state) }
            state.core.act(now: .now)
        }
    }

    /// Lets the core receive all that one read finds, beside a thread that has the role of the reader.
    private func readArrived(_ state: inout State) {
        for _ in 0..<2 {  // what is left of an earlier read, then another one
            repeat {
                if state.isOutputFull || !readPiece(&state) { break }
            } while !state.input.isEmpty
        }
        // The thread that waits at the socket would not notice what a layer above it holds.
        if state.input.mayHaveMore { inputPoint.signal(.readable) }
    }

    private func read(_ state: inout State, maximumPieces: Int = HTTP2Input.maximumPiecesPerTurn) {
        for _ in 0..<maximumPieces {
            if state.isOutputFull || !readPiece(&state) || loop.isShareSpent { return }
        }
    }

    /// Lets the core receive the next piece of the input. Returns whether there may be more.
    ///
    /// - Parameters:
    ///   - maximumCount: the maximum number of bytes.
    ///   - take: as for `HTTP2Core.receive(_:now:take:)`.
    private func readPiece(
        _ state: inout State, maximumCount: Int = HTTP2Input.maximumPieceSize,
        take: (StreamID, RawSpan) -> Int = { _, _ in 0 }
    ) -> Bool {
        if state.core.hasEnded { return false }
        if state.input.isEmpty {
            let count = state.input.isExhausted ? nil : fill(&state)
            if count == 0 { state.core.receive(RawSpan(), now: .now) }
            guard let count, count > 0 else {
                if let failure = state.writeFailure { state.core.fail(failure.error, now: .now) }
                return false
            }
        }
        if let failure = state.writeFailure, failure.remainingBytes <= 0 {
            state.core.fail(failure.error, now: .now)
            return false
        }
        let piece = state.input.takePiece(upTo: maximumCount)
        state.writeFailure?.remainingBytes -= piece.count
        HTTP2Link.pass(state.input.memory, piece, to: &state.core, take)
        return state.input.mayHaveMore
    }

    /// As `HTTP2Input.fill(from:)`. Returns nil also if the connection has failed.
    private func fill(_ state: inout State) -> Int? {
        do throws(StreamError) {
            return try state.input.fill(from: pair.input)
        } catch {
            state.core.fail(error, now: .now)
            return nil
        }
    }

    // Apart, because the compiler would take the span of the input for an access to the whole state.
    private static func pass(
        _ input: borrowing [UInt8], _ piece: Range<Int>, to core: inout Core, _ take: (StreamID, RawSpan) -> Int
    ) {
        core.receive(input.span.bytes.extracting(piece), now: .now, take: take)
    }

    /// Writes the output, as far as the connection accepts it.
    private func write(_ state: inout State) {
        if !state.hasOutput { return }
        do throws(StreamError) {
            while state.core.outputCount > 0 {
                let count = try state.core.withOutput { (bytes) throws(StreamError) in try pair.output.tryWrite(bytes) }
                guard let count else { return }
                if count == 0 { throw .closed }
                state.core.didWrite(count)
            }
            state.hasUnflushed = try !pair.output.tryFlush()
        } catch {
            state.writeFailure = .init(error: error)
            state.input.noteMore()
        }
    }

    /// Whether the loop reads what there is. After a failed write, it reads beside a thread, which may wait already.
    private func loopMayRead(_ state: borrowing State) -> Bool { isLoopReader || state.writeFailure != nil }

    private func watch(_ state: inout State) {
        if !loopMayRead(state) {
            // The thread that reads looks for input.
        } else if state.input.mayHaveMore {
            // Other work of the loop first. While the output is full, its edge leads to the next read.
            if !state.isOutputFull { scheduleWork(&state) }
        } else if isLoopReader, !inputPoint.isRegistered(.reader, self),
            let wake = inputPoint.watch(.reader, for: .readable, with: self)
        {
            state.input.noteMore()
            handle(wake, &state)
        }
        if state.hasOutput, !outputPoint.isRegistered(.writer, self),
            let wake = outputPoint.watch(.writer, for: .writable, with: self)
        {
            handle(wake, &state)
        }
    }

    private func handle(_ wake: Wake, _ state: inout State) {
        if case .failed(let number) = wake { return state.core.fail(StreamError(posix: number), now: .now) }
        scheduleWork(&state)
    }

    // MARK: After each change

    /// Changes the state, and does what follows from that: events, output and deadlines; then performs the notices without the lock. On the
    /// loop's thread, outside its work, all of this follows later, once for all changes of the turn.
    ///
    /// - Parameter isReaderWork: whether the loop or a thread that reads calls this, which holds no lock: its notices are performed at once. Those
    ///   of other callers are performed by the loop, since the caller may hold locks.
    @discardableResult
    private func withState<Result: Sendable, Failure: Error>(
        isReaderWork: Bool = false, _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var consequences = Consequences()
        defer {
            if isReaderWork {
                consequences.perform(self)
            } else if !consequences.isEmpty {
                loop.execute { [self, consequences] in consequences.perform(self) }
            }
        }
        return try change(collecting: &consequences, isReaderWork: isReaderWork, body)
    }

    /// As ``withState(isReaderWork:_:)``, but the caller performs the consequences.
    private func change<Result: Sendable, Failure: Error>(
        collecting consequences: inout Consequences, isReaderWork: Bool, _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) in
            let (wasOpen, hadEnded) = (state.core.isOpen, state.core.hasEnded)
            defer {
                if isReaderWork || !loop.isCurrent { conclude(&state) } else { scheduleWork(&state) }
                consequences.beginsDraining = wasOpen && !state.core.isOpen
                consequences.hasEnded = state.core.hasEnded && !hadEnded
                consequences.notices = state.core.takeNotices()
                noteSignals(consequences.notices)
            }
            return try body(&state)
        }
    }

    /// What a change leads to once the lock has been released.
    private struct Consequences: Sendable {
        var notices: [Core.Notice] = []
        var beginsDraining = false
        var hasEnded = false

        var isEmpty: Bool { notices.isEmpty && !beginsDraining && !hasEnded }

        func perform(_ link: HTTP2Link) {
            if beginsDraining { link.didBeginDraining() }
            if hasEnded { link.didEnd() }
            for notice in notices { link.perform(notice) }
        }
    }

    private func conclude(_ state: inout State) {
        let now = Moment.now
        state.core.settle(now: now)
        if !state.core.hasEnded {
            write(&state)
            state.core.endIfOver(now: now)
        }
        if !state.core.hasEnded {
            if loop.isCurrent {
                watch(&state)
            } else if state.hasOutput || state.input.mayHaveMore && loopMayRead(state) {
                scheduleWork(&state)
            }
        }
        setTimer(&state)
        if state.core.isUnused { state.input.freeMemory() }
    }

    private func scheduleWork(_ state: inout State) {
        if state.isWorkScheduled { return }
        state.isWorkScheduled = true
        loop.execute { [self] in work(reads: false) }
    }

    private func setTimer(_ state: inout State) {
        if state.core.hasEnded {
            state.timer?.cancel()
            state.timer = nil
        }
        // A timer that fires early finds nothing to do and is set again: deadlines come, move and go with nearly every call.
        guard let deadline = state.core.nextDeadline else { return }
        if let current = state.timer?.deadline, current <= deadline { return }
        state.timer?.cancel()
        // Not weak: each use of an object with weak references costs more. A connection that has ended has no timer.
        state.timer = loop.schedule(at: deadline) { [self] in timerFired() }
    }

    private func timerFired() {
        state.withLock { $0.timer = nil }
        work()
    }
}

// MARK: - Threads

extension HTTP2Link where Core: ~Copyable {
    /// What a thread does once it has read.
    private enum ThreadStep {
        /// It waits for input.
        case waits
        /// It reads on: there is more of what it has read, or more to read, since the last read was a long one.
        case readsOn
        /// There may be more input. A thread whose point has been signalled looks at that first.
        case mindsOthers
        /// It leaves the connection, which has ended or accepts no output, to the loop.
        case leaves
    }

    /// The time between two checks whether there is a reader.
    private static var checkInterval: Duration { .milliseconds(5) }
    /// The maximum number of pieces that a thread reads before it looks at what else it waits for.
    private static var maximumPiecesBetweenOthers: Int { 16 }

    /// Reads for all messages on the calling thread, which waits for one of them, until it has a reason to go on.
    ///
    /// - Parameters:
    ///   - caller: what the thread waits for, at the point of its message.
    ///   - deadline: when to stop at the latest.
    ///   - others: what else the thread waits for.
    /// - Returns: why it ended, as of `WaitPoint.block` at the caller's point; nil if another thread or the loop reads. The thread waits at its point then,
    ///   and calls ``threadGoesOn(at:)`` afterwards.
    @available(*, noasync)
    final func readOnThread(
        for caller: WaitPoint.Readiness, until deadline: Moment?, minding others: [WaitPoint.Readiness]
    ) -> BlockedWake? {
        let point = caller.point
        guard beginReading(at: point) else { return nil }
        // The others first: their indices are then those of the result.
        var callers = others
        callers.append(caller)
        while true {
            let step = readForThread(at: point)
            if case .leaves = step {
                role.withLock { $0.leaveToLoop(threadAt: point) }
                loop.execute { [self] in work() }
                return nil
            }
            if let deadline, deadline <= .now { return stopReading(.here(.ready)) }
            let end = if case .mindsOthers = step { Moment.now } else { deadline }
            switch inputPoint.block(.reader, for: .readable, until: end, minding: callers) {
            case .elsewhere(others.count, let wake): return stopReading(.here(wake))
            case .elsewhere(let index, let wake): return stopReading(.elsewhere(index, wake))
            case .here(.ready):
                state.withLock { $0.input.noteMore() }
                if let succession = role.withLock({ $0.threadTakes(at: point) }) {
                    succeed(succession)
                    return .here(.ready)
                }
            case .here(.timedOut): break
            case .here(let wake): return stopReading(.here(wake))
            }
        }
    }

    private var isLoopReader: Bool { role.withLock { $0.reader == .loop } }

    private func noteSignals(_ notices: [Core.Notice]) {
        if notices.isEmpty { return }
        role.withLock { role in
            for notice in notices { if let point = point(signalledBy: notice) { role.waitEnds(at: point) } }
        }
    }

    /// A thread that has waited at its point goes on.
    final func threadGoesOn(at point: WaitPoint) { role.withLock { $0.threadGoesOn(at: point) } }

    /// A task or a callback is about to wait at the point of a message.
    final func taskWaits(at point: WaitPoint) {
        if role.withLock({ $0.taskWaits(at: point) }) { loop.execute { [self] in work() } }
    }

    private func beginReading(at point: WaitPoint) -> Bool {
        // Under the lock of the state, so that the loop does not begin to watch meanwhile.
        state.withLock { _ in
            guard case .reads(let insteadOfLoop) = role.withLock({ $0.threadWaits(at: point) }) else { return false }
            if insteadOfLoop {
                inputPoint.unwatch(.reader, self)
                // Otherwise each packet would wake the loop.
                if !outputPoint.isRegistered(.writer, self) { inputPoint.rest() }
            }
            return true
        }
    }

    /// Reads until there is no more. Once the point is signalled, reads only what a long read has left.
    private func readForThread(at point: WaitPoint) -> ThreadStep {
        var isSignalled = false
        for _ in 0..<HTTP2Link.maximumPiecesBetweenOthers {
            var consequences = Consequences()
            let step = change(collecting: &consequences, isReaderWork: true) { state -> ThreadStep in
                if state.core.hasEnded || state.isOutputFull { return .leaves }
                _ = readPiece(&state)
                if !state.input.mayHaveMore { return .waits }
                let wasLong = state.input.wasLastReadLong
                return wasLong || !state.input.isEmpty ? .readsOn : .mindsOthers
            }
            consequences.perform(self)
            isSignalled = isSignalled || consequences.notices.contains { self.point(signalledBy: $0) === point }
            switch step {
            case .readsOn: break
            case .mindsOthers: if isSignalled { return step }
            case .waits, .leaves: return step
            }
        }
        return .mindsOthers
    }

    private func stopReading(_ wake: BlockedWake) -> BlockedWake {
        succeed(role.withLock { $0.readerGoesOn() })
        return wake
    }

    private func succeed(_ succession: ReadingRole.Succession) {
        switch succession {
        case .loop: loop.execute { [self] in work() }
        case .free(let point, let checksSoon):
            if checksSoon { loop.executeDeferred { [self] in checkReader() } }
            point?.signal([.readable, .writable])
        }
    }

    /// Checks whether there is a reader. On the loop's thread.
    private func checkReader() {
        let (checksAgain, reader) = role.withLock { ($0.loopChecks(), $0.reader) }
        if checksAgain {
            loop.schedule(at: .now + HTTP2Link.checkInterval) { [self] in checkReader() }
        } else if reader == .loop {
            work()
        }
    }
}
