internal import EventLoops
internal import HTTP2
internal import HTTPMessage
internal import StreamKit
internal import Synchronization

/// A connection of HTTP/2, which any number of requests share.
///
/// Theory of operation. The ``HTTP2LinkCore`` knows the requests and the protocol; the link carries bytes between it and the connection,
/// under one lock. Loads call the link under their own lock, and the link never calls into a load: what has happened on a stream is kept in
/// its ``HTTP2Stream``, whose point is signalled after the lock has been released. The loop reads for all of them, from the first request to
/// the end of the connection, so that no stream depends on the reader of another one.
///
/// On the loop's thread, frames are written at the end of the turn: the requests of one turn leave in one write. Other threads write at once.
final class HTTP2Link: Watcher, @unchecked Sendable {
    // Unchecked only as a subclass of Watcher: mutable state is behind a lock.

    private struct State: ~Copyable {
        var core: HTTP2LinkCore
        var input = [UInt8](repeating: 0, count: HTTP2Link.readSize)
        /// Whether all input has been read: the next edge announces more.
        var isDrained = false
        /// Whether a layer below holds bytes that it could not pass down.
        var hasUnflushed = false
        /// Whether the loop will call ``work(reads:)``.
        var isWorkScheduled = false
        /// Calls ``work(reads:)`` at the next deadline.
        var timer: LoopTimer?

        /// Whether something has to be written.
        var hasOutput: Bool { hasUnflushed || core.outputCount > 0 }
    }

    private static let readSize = 64 * 1024
    /// The most reads of one turn, before other work of the loop runs.
    private static let readsPerTurn = 4
    /// The most reads after a write has failed: more than the buffer of a socket holds.
    private static let readsAfterFailure = 256

    private static let lastNumber = Atomic(0)

    /// The number of the connection among those of the process, for reports.
    private let number = HTTP2Link.lastNumber.add(1, ordering: .relaxed).newValue
    let pair: StreamPair
    let key: HTTPConnectionKey
    /// The limits of responses.
    let limits: HTTPLimits
    private let loop: EventLoop
    /// Called once, without the lock, when the link takes no further requests.
    private let onDraining: @Sendable (HTTP2Link) -> Void
    private let state: Locked<State>

    /// - Parameters:
    ///   - pair: the open connection.
    ///   - limits: the limits of responses.
    ///   - idleTime: how long the link is kept without streams; nil if it ends with its first one.
    ///   - silenceLimit: as for ``HTTP2LinkCore``.
    ///   - onDraining: called once, when the link takes no further requests.
    init(
        _ pair: StreamPair, key: HTTPConnectionKey, limits: HTTPLimits, idleTime: Duration?,
        silenceLimit: Duration = .seconds(5), onDraining: @escaping @Sendable (HTTP2Link) -> Void
    ) {
        self.pair = pair
        self.key = key
        self.limits = limits
        self.onDraining = onDraining
        loop = pair.input.waitPoint.loop
        let core = HTTP2LinkCore(limits: limits, idleTime: idleTime, silenceLimit: silenceLimit, now: .now)
        state = Locked(State(core: core))
        super.init()
        loop.execute { [self] in work() }
    }

    deinit { pair.close() }

    // MARK: The pool

    /// Whether further requests may share the connection.
    var isShareable: Bool { state.withLock { $0.core.isShareable } }

    /// Whether no request uses the connection, which is open.
    var isIdle: Bool { state.withLock { $0.core.isIdle } }

    /// Whether the server has answered a request.
    var hasAnswered: Bool { state.withLock { $0.core.hasAnswered } }

    /// The error that has ended the connection; nil while it lasts.
    var error: StreamError? { state.withLock { $0.core.error } }

    /// Ends the connection: at once without streams, otherwise with the last one.
    ///
    /// - Parameter unlessPooled: leaves a connection alone that a pool keeps.
    func drain(unlessPooled: Bool = false) {
        withState { $0.core.drain(unlessPooled: unlessPooled, now: .now) }
    }

    // MARK: Requests

    /// Sends a request, at once or when the server allows another stream: the stream's point is signalled then, see ``isOpen(_:)``.
    ///
    /// - Parameter endsHere: whether the request has no body.
    func send(_ request: HTTP2Request, endsHere: Bool, as stream: HTTP2Stream) throws(HTTP2LinkFailure) {
        try withState { (state) throws(HTTP2LinkFailure) in
            try state.core.send(request, endsHere: endsHere, as: stream, now: .now)
        }
    }

    /// The number of requests sent so far.
    var sentCount: Int { state.withLock { $0.core.sentCount } }

    /// Whether the request has been sent.
    func isOpen(_ stream: HTTP2Stream) throws(HTTP2LinkFailure) -> Bool {
        try state.withLock { (state) throws(HTTP2LinkFailure) in try state.core.isOpen(stream) }
    }

    /// Sends data of a request's body. Returns the number of bytes taken, or nil if none were; the stream's point is signalled then.
    func send(_ bytes: RawSpan, endsHere: Bool, on stream: HTTP2Stream) throws(HTTP2LinkFailure) -> Int? {
        try withState { (state) throws(HTTP2LinkFailure) in
            try state.core.send(bytes, endsHere: endsHere, on: stream, now: .now)
        }
    }

    /// Reads data of a response.
    func read(_ stream: HTTP2Stream, into target: inout MutableRawSpan) throws(HTTP2LinkFailure) -> HTTP2ReadOutcome {
        try withState { (state) throws(HTTP2LinkFailure) in try state.core.read(stream, into: &target, now: .now) }
    }

    /// Ends the use of a stream. What the server still sends on it is dropped.
    func close(_ stream: HTTP2Stream) {
        withState { $0.core.close(stream, now: .now) }
    }

    /// Reads what is known of a stream.
    func withStream<Result: Sendable>(_ stream: HTTP2Stream, _ body: (HTTP2Stream) -> Result) -> Result {
        state.withLock { _ in body(stream) }
    }

    /// Where a request was sent; nil before it was.
    func place(of stream: HTTP2Stream) -> StreamPlace? {
        withStream(stream) { [number] stream in
            guard let id = stream.identifier, let start = stream.queuedAt, let opened = stream.start else { return nil }
            return StreamPlace(
                stream: Int(id.rawValue), connection: number, others: stream.others, start: start,
                time: start.duration(to: opened))
        }
    }

    // MARK: The loop

    /// Called when the connection may be readable or accept bytes, and when a layer below announces its end, possibly by a thread that
    /// holds the lock: the loop does the work.
    override func fire() {
        loop.execute { [self] in work() }
    }

    /// Reads, acts on deadlines, and writes. On the loop's thread.
    ///
    /// - Parameter reads: whether there may be input.
    private func work(reads: Bool = true) {
        withState(isWork: true) { state in
            if state.core.hasEnded { return }
            state.isWorkScheduled = false
            if reads { state.isDrained = false }
            state.core.act(now: .now)
            read(&state)
        }
    }

    private func read(_ state: inout State) {
        for _ in 0..<HTTP2Link.readsPerTurn {
            if state.isDrained || state.core.isOutputFull || !readOnce(&state) { return }
        }
    }

    /// Reads what there is. Returns whether there may be more.
    private func readOnce(_ state: inout State) -> Bool {
        if state.core.hasEnded { return false }
        let count: Int?
        do throws(StreamError) {
            var span = state.input.mutableSpan
            var memory = span.mutableBytes
            count = try pair.input.tryRead(into: &memory)
        } catch {
            state.core.fail(error, now: .now)
            return false
        }
        state.isDrained = count == nil || count == 0
        if let count { HTTP2Link.pass(state.input, count, to: &state.core) }
        return !state.isDrained
    }

    // Apart, because the compiler would take the span of the input for an access to the whole state.
    private static func pass(_ input: borrowing [UInt8], _ count: Int, to core: inout HTTP2LinkCore) {
        core.receive(input.span.bytes.extracting(0..<count), now: .now)
    }

    /// Writes the output, as far as the connection accepts it.
    private func write(_ state: inout State) {
        do throws(StreamError) {
            while state.core.outputCount > 0 {
                let count = try state.core.withOutput { (bytes) throws(StreamError) in try pair.output.tryWrite(bytes) }
                guard let count else { return }
                if count == 0 { throw .closed }
                state.core.didWrite(count)
            }
            state.hasUnflushed = try !pair.output.tryFlush()
        } catch {
            // What the server has sent before it closed the connection tells which requests it has processed.
            var reads = 0
            while reads < HTTP2Link.readsAfterFailure, readOnce(&state) { reads += 1 }
            state.core.fail(error, now: .now)
        }
    }

    private func watch(_ state: inout State) {
        let input = pair.input.waitPoint
        let output = pair.output.waitPoint
        if !state.isDrained {
            // Other work of the loop first. While the output is full, its edge leads to the next read.
            if !state.core.isOutputFull { scheduleWork(&state) }
        } else if !input.isRegistered(.reader, self), let wake = input.watch(.reader, for: .readable, with: self) {
            handle(wake, &state)
        }
        if state.hasOutput, !output.isRegistered(.writer, self),
            let wake = output.watch(.writer, for: .writable, with: self)
        {
            handle(wake, &state)
        }
    }

    private func handle(_ wake: Wake, _ state: inout State) {
        if case .failed(let number) = wake { return state.core.fail(StreamError(posix: number), now: .now) }
        state.isDrained = false
        scheduleWork(&state)
    }

    // MARK: After each change

    /// Changes the state, and does what follows from that: events, output and deadlines; then signals the streams without the lock.
    ///
    /// - Parameter isWork: whether the loop calls this, and not a load under its own lock. Output is written at once then, and streams are
    ///   signalled by this call; for a load, which signals nothing under its lock, the loop does both.
    private func withState<Result: Sendable, Failure: Error>(
        isWork: Bool = false, _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var consequences = Consequences()
        defer {
            if isWork {
                consequences.perform(self)
            } else if !consequences.isEmpty {
                loop.execute { [self, consequences] in consequences.perform(self) }
            }
        }
        return try state.withLock { (state) throws(Failure) in
            let (wasOpen, hadEnded) = (state.core.isOpen, state.core.hasEnded)
            defer {
                conclude(&state, writes: isWork || !loop.isCurrent)
                consequences.beginsDraining = wasOpen && !state.core.isOpen
                consequences.hasEnded = state.core.hasEnded && !hadEnded
                consequences.signals = state.core.takeSignals()
                if consequences.hasEnded { state.input = [] }
            }
            return try body(&state)
        }
    }

    /// What a change leads to once the lock has been released.
    private struct Consequences: Sendable {
        /// The streams to signal.
        var signals: [WaitPoint] = []
        var beginsDraining = false
        var hasEnded = false

        var isEmpty: Bool { signals.isEmpty && !beginsDraining && !hasEnded }

        func perform(_ link: HTTP2Link) {
            if beginsDraining { link.onDraining(link) }
            if hasEnded { link.pair.close() }
            for point in signals { point.signal([.readable, .writable]) }
        }
    }

    private func conclude(_ state: inout State, writes: Bool) {
        state.core.settle(now: .now)
        if !state.core.hasEnded {
            if writes { write(&state) } else if state.core.outputCount > 0 { scheduleWork(&state) }
            state.core.endIfOver(now: .now)
        }
        if !state.core.hasEnded {
            if loop.isCurrent { watch(&state) } else if state.hasOutput || !state.isDrained { scheduleWork(&state) }
        }
        setTimer(&state)
    }

    private func scheduleWork(_ state: inout State) {
        if state.isWorkScheduled { return }
        state.isWorkScheduled = true
        loop.execute { [self] in work(reads: false) }
    }

    private func setTimer(_ state: inout State) {
        let deadline = state.core.nextDeadline
        // A timer that rings early finds nothing to do and is set again: deadlines move with nearly every call.
        if let current = state.timer?.deadline, let deadline, current <= deadline, current > .now { return }
        state.timer?.cancel()
        state.timer = deadline.map { deadline in
            loop.schedule(at: deadline) { [weak self] in self?.work(reads: false) }
        }
    }
}
