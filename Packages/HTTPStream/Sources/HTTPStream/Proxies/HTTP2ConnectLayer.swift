internal import EventLoops
internal import StreamKit

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
    private let timer = Locked<LoopTimer?>(nil)

    init(_ connection: HTTP2ConnectConnection, over lower: any StreamTransport) {
        self.connection = connection
        self.lower = lower
    }

    deinit { timer.withLock { $0?.cancel() } }

    var waitPoint: WaitPoint { lower.waitPoint }

    /// The layer below may signal clients that are called at once, and use this transport.
    private func withCore<Result: Sendable>(
        _ body: (inout HTTP2ConnectCore) throws(StreamError) -> Result
    ) throws(StreamError) -> Result {
        try DirectTarget.delayingCalls { () throws(StreamError) in
            try connection.core.withLock { (core) throws(StreamError) in
                defer { setTimer(core.nextDeadline) }
                return try body(&core)
            }
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try withCore { (core) throws(StreamError) in
            var reads = 0
            while true {
                let attempt = try core.read(into: &buffer, now: .now)
                // Credit for what was read. A failed write does not lose what the proxy has sent before.
                let blocked = (try? core.write(to: lower)) ?? nil
                guard case .wouldBlock = attempt else { return attempt }
                if let blocked, core.isOutputFull { return .wouldBlock(blocked) }
                if let interest = try receive(&core, &reads) { return .wouldBlock(interest.union(blocked ?? [])) }
            }
        }
    }

    func peek() throws(StreamError) -> Attempt {
        var nothing: [UInt8] = []
        var span = nothing.mutableSpan
        var memory = span.mutableBytes
        let attempt = try tryRead(into: &memory)
        return if case .moved = attempt { .moved(1) } else { attempt }
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt {
        try withCore { (core) throws(StreamError) in
            var reads = 0
            while true {
                // Otherwise the output would grow.
                if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
                if let count = try core.send(bytes, endsHere: false, now: .now) {
                    _ = try core.write(to: lower)
                    return .moved(count)
                }
                if let interest = try receive(&core, &reads) { return .wouldBlock(interest) }
            }
        }
    }

    func writability() throws(StreamError) -> Attempt {
        try withCore { (core) throws(StreamError) in
            var reads = 0
            while true {
                if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
                if !core.isFull { return .moved(1) }
                if let interest = try receive(&core, &reads) { return .wouldBlock(interest) }
            }
        }
    }

    func tryFlush() throws(StreamError) -> Attempt {
        try withCore { (core) throws(StreamError) in
            if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
            return try lower.tryFlush()
        }
    }

    func tryFinish() throws(StreamError) -> Attempt {
        try withCore { (core) throws(StreamError) in
            var reads = 0
            while true {
                if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
                if core.hasFinished { return try lower.tryFlush() }
                if try core.send(RawSpan(), endsHere: true, now: .now) == nil,
                    let interest = try receive(&core, &reads)
                {
                    return .wouldBlock(interest)
                }
            }
        }
    }

    func close() {
        try? withCore { (core) throws(StreamError) in
            core.close(now: .now)
            _ = try core.write(to: lower)
        }
        timer.withLock { $0?.cancel() }
        lower.close()
    }

    func property(named name: String) -> (any Sendable)? { lower.property(named: name) }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try lower.setProperty(value, named: name)
    }

    /// Receives what the proxy has sent, and wakes the other half, for which it may be. Returns the interest to wait for if there is nothing, or
    /// the share of the call is spent.
    private func receive(_ core: inout HTTP2ConnectCore, _ reads: inout Int) throws(StreamError) -> Interest? {
        if reads == HTTP2ConnectLayer.maximumReads || (reads > 0 && waitPoint.loop.isShareSpent) {
            waitPoint.signalNextTurn([.readable, .writable])
            return .readable
        }
        reads += 1
        var buffer = [UInt8](repeating: 0, count: HTTP2ConnectLayer.readSize)
        var span = buffer.mutableSpan
        var memory = span.mutableBytes
        let count: Int
        switch try lower.tryRead(into: &memory) {
        case .moved(let moved): count = moved
        case .ended: count = 0
        case .wouldBlock(let interest): return interest
        }
        core.receive(buffer.span.bytes.extracting(first: count), now: .now)
        waitPoint.signal([.readable, .writable])
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
        try? withCore { (core) throws(StreamError) in
            core.act(now: .now)
            _ = try core.write(to: lower)
        }
        waitPoint.signal([.readable, .writable])
    }
}
