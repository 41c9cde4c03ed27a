internal import EventLoops
@_spi(Packages) internal import StreamKit

/// Carries the bytes of a tunnel in DATA frames of its stream.
///
/// The end of the bytes of one side is END_STREAM, and a reset of the connection behind the proxy is RST_STREAM (RFC 9113 §8.5). Credit is given
/// for what has been read. Reader and writer both receive what the proxy sends, since the writer waits for credit, and each call writes what the
/// machine answers. Between calls, PINGs wait for their answers.
final class HTTP2ConnectLayer: StreamTransport {
    /// The maximum number of bytes of one read.
    static let readSize = 16 * 1024
    /// The most reads of one call: a proxy can send much that carries nothing.
    private static let maximumReads = 4

    private let connection: HTTP2ConnectConnection
    private let lower: any StreamTransport
    private let lingerTime: Duration
    private let timer = Locked<LoopTimer?>(nil)

    /// - Parameter lingerTime: the longest time for which a closed connection waits for the proxy.
    init(_ connection: HTTP2ConnectConnection, over lower: any StreamTransport, lingerTime: Duration = .seconds(2)) {
        self.connection = connection
        self.lower = lower
        self.lingerTime = lingerTime
    }

    deinit { timer.withLock { $0?.cancel() } }

    var waitPoint: WaitPoint { lower.waitPoint }

    /// What one call has received, of what it may.
    private struct Budget {
        var reads = 0
        var isSpent = false
    }

    /// Uses the core, and then wakes the other half, for which something may have been received.
    ///
    /// The layer below may signal clients that are called at once, and use this transport.
    private func withCore<Result: Sendable>(
        _ body: (inout HTTP2ConnectCore, inout Budget) throws(StreamError) -> Result
    ) throws(StreamError) -> Result {
        var budget = Budget()
        defer {
            if budget.isSpent {
                waitPoint.signalNextTurn([.readable, .writable])
            } else if budget.reads > 0 {
                waitPoint.signal([.readable, .writable])
            }
        }
        return try DirectTarget.delayingCalls { () throws(StreamError) in
            try connection.core.withLock { (core) throws(StreamError) in
                defer { setTimer(core.nextDeadline) }
                return try body(&core, &budget)
            }
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try withCore { (core, budget) throws(StreamError) in
            while true {
                let attempt = try core.read(into: &buffer, now: .now)
                // Credit for what was read. A failed write does not lose what the proxy has sent before.
                let blocked = (try? core.write(to: lower)) ?? nil
                guard case .wouldBlock = attempt else { return attempt }
                if let blocked, core.isOutputFull { return .wouldBlock(blocked) }
                if let interest = try receive(&core, &budget) { return .wouldBlock(interest.union(blocked ?? [])) }
            }
        }
    }

    func peek() throws(StreamError) -> Attempt { try peekByReading() }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try withCore { (core, budget) throws(StreamError) in
            while true {
                if let failure = core.failure { throw failure }
                // Otherwise the output would grow.
                if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
                if let count = try core.send(bytes, endsHere: false, now: .now) {
                    _ = try core.write(to: lower)
                    return .moved(count)
                }
                if let interest = try receive(&core, &budget) { return .wouldBlock(interest) }
            }
        }
    }

    func writability() throws(StreamError) -> Attempt {
        try withCore { (core, budget) throws(StreamError) in
            while true {
                // The call that writes throws the error.
                if core.failure != nil { return .moved(1) }
                if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
                if !core.isFull { return .moved(1) }
                if let interest = try receive(&core, &budget) { return .wouldBlock(interest) }
            }
        }
    }

    func tryFlush() throws(StreamError) -> Attempt {
        try withCore { (core, budget) throws(StreamError) in
            if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
            return try lower.tryFlush()
        }
    }

    func tryFinish() throws(StreamError) -> Attempt {
        try withCore { (core, budget) throws(StreamError) in
            while true {
                if let failure = core.failure { throw failure }
                if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
                if core.hasFinished { return try lower.tryFlush() }
                if try core.send(RawSpan(), endsHere: true, now: .now) == nil,
                    let interest = try receive(&core, &budget)
                {
                    return .wouldBlock(interest)
                }
            }
        }
    }

    func close() {
        let lingers = try? withCore { (core, _) throws(StreamError) in
            let lingers = core.close(now: .now)
            return try core.write(to: lower) == nil && lingers
        }
        if lingers == true { linger() } else { lower.close() }
    }

    /// Lets the proxy receive what was written: a connection that is closed while the proxy still sends, such as credit, is reset.
    private func linger() {
        Task(executorPreference: lower.loop) { [lower, lingerTime] in
            let pair = StreamPair(transport: lower)
            defer { pair.close() }
            let end = Moment.now + lingerTime
            do throws(StreamError) {
                try pair.open()
                try await pair.output.finish()
                while true {
                    let rest = Moment.now.duration(to: end)
                    if rest <= .zero { return }
                    try pair.set(.readTimeout, to: rest)
                    if try await pair.input.read(upTo: HTTP2ConnectLayer.readSize).isEmpty { return }
                }
            } catch {}
        }
    }

    func property(named name: String) -> (any Sendable)? { lower.property(named: name) }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try lower.setProperty(value, named: name)
    }

    /// Receives what the proxy has sent. Returns the interest to wait for if there is nothing, or the budget of the call is spent.
    private func receive(_ core: inout HTTP2ConnectCore, _ budget: inout Budget) throws(StreamError) -> Interest? {
        if budget.reads == HTTP2ConnectLayer.maximumReads || (budget.reads > 0 && waitPoint.loop.isShareSpent) {
            budget.isSpent = true
            return .readable
        }
        var buffer = [UInt8](repeating: 0, count: HTTP2ConnectLayer.readSize)
        var span = buffer.mutableSpan
        var memory = span.mutableBytes
        do throws(StreamError) {
            let attempt = try lower.tryRead(into: &memory)
            if case .wouldBlock(let interest) = attempt { return interest }
            core.receive(buffer.span.bytes.extracting(first: attempt.moved), now: .now)
        } catch {
            core.failToRead(error)
        }
        budget.reads += 1
        return nil
    }

    /// Calls the machine at its next deadline. Called under the lock.
    private func setTimer(_ deadline: Moment?) {
        timer.withLock { timer in
            if timer?.deadline == deadline { return }
            timer?.cancel()
            timer = deadline.map { deadline in
                waitPoint.loop.schedule(at: deadline) { [weak self] in self?.act() }
            }
        }
    }

    private func act() {
        try? withCore { (core, budget) throws(StreamError) in
            // A timer that fired while the tunnel was being closed would read beside the lingering connection.
            if core.isClosed { return }
            // What has arrived comes first: this thread may be late.
            while try receive(&core, &budget) == nil {}
            core.act(now: .now)
            _ = try core.write(to: lower)
        }
        waitPoint.signal([.readable, .writable])
    }
}

extension Attempt {
    /// The number of bytes transferred, 0 at the end.
    fileprivate var moved: Int { if case .moved(let count) = self { count } else { 0 } }
}
