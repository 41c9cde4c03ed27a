internal import EventLoops
internal import HTTP2
internal import HTTPMessage
internal import StreamKit

/// CONNECT over HTTP/2 (RFC 9113 §8.5), on a connection that carries one tunnel only.
struct HTTP2ConnectCarrier: ConnectCarrier {
    let readSize = 16 * 1024
    private let proxy: String
    private let connection: HTTP2ConnectConnection
    /// The head and the body so far of a refusal.
    private var refusal: HTTPResponse?

    /// - Parameter isAdequate: whether TLS with the proxy may carry HTTP/2 (RFC 9113 §9.2.2); if not, the connection fails.
    init(_ proxy: HTTPProxy, isAdequate: Bool) {
        self.proxy = proxy.hostAndPort
        var core = HTTP2ConnectCore(proxy.limits, now: .now)
        if !isAdequate { core.abort(.inadequateSecurity, now: .now) }
        connection = HTTP2ConnectConnection(core)
    }

    /// It belongs to the layer.
    var surplus: [UInt8] { [] }

    mutating func send(_ request: HTTPRequest) throws(StreamError) {
        refusal = nil
        try connection.core.withLock { (core) throws(StreamError) in
            do throws(HTTP2Error) { try core.request(request, now: .now) } catch { throw .http2(error) }
        }
    }

    mutating func takeOutput() -> [UInt8] { connection.core.withLock { $0.takeOutput() } }

    mutating func receive(_ bytes: [UInt8]) throws(StreamError) -> ConnectAnswer? {
        connection.core.withLock { $0.receive(bytes.span.bytes, now: .now) }
        return try answer()
    }

    mutating func receiveEnd() throws(StreamError) -> HTTPResponse {
        connection.core.withLock { $0.receive(RawSpan(), now: .now) }
        guard let answer = try answer() else { throw .tunnelClosed(proxy, "without a response") }
        return answer.response
    }

    func layer(over lower: any StreamTransport) -> (any StreamTransport)? { HTTP2ConnectLayer(connection, over: lower) }

    /// Returns the response once it is complete: a successful one with its head, a refusal with as much of its body as is kept.
    private mutating func answer() throws(StreamError) -> ConnectAnswer? {
        let head = refusal
        let (next, isComplete, mayContinue) = try connection.core.withLock {
            (core) throws(StreamError) -> (HTTPResponse?, Bool, Bool) in
            var next = head
            if next == nil { next = try core.takeResponse() }
            guard var response = next else { return (nil, false, false) }
            if response.status.kind == .successful { return (response, true, false) }
            let isComplete = core.readBody(into: &response.body, upTo: HTTPProxy.refusalBodyLimit)
            return (response, isComplete, core.mayContinue)
        }
        refusal = next
        guard let next, isComplete else { return nil }
        return ConnectAnswer(response: next, mayContinue: mayContinue)
    }
}

/// A connection that the conversation leaves to the layer of its tunnel.
final class HTTP2ConnectConnection: Sendable {
    let core: Locked<HTTP2ConnectCore>

    init(_ core: consuming HTTP2ConnectCore) { self.core = Locked(core) }
}

/// The connection of HTTP/2 with a proxy, and its only stream. No I/O.
struct HTTP2ConnectCore: ~Copyable, Sendable {
    private var machine: HTTP2ClientMachine
    private let start: Moment
    /// The stream of the last request.
    private var stream: StreamID?
    /// The request that waits until the proxy allows a stream.
    private var queued: HTTPRequest?
    private var response: HTTPResponse?
    private var failure: HTTP2StreamFailure?
    /// Whether bytes were not taken, and may not be sent since.
    private(set) var isFull = false
    /// Whether the end of the bytes to the target has been sent.
    private(set) var hasFinished = false

    init(_ limits: HTTPLimits, now: Moment) {
        var protocolLimits = HTTP2Limits(ofClient: limits)
        // The program that uses the tunnel knows how long the target may be silent.
        protocolLimits.pingInterval = nil
        machine = HTTP2ClientMachine(limits: protocolLimits, now: .zero)
        start = now
    }

    mutating func abort(_ code: ErrorCode, now: Moment) { machine.abort(code, now: elapsed(now)) }

    /// Whether another request can be sent.
    var mayContinue: Bool { !machine.isDraining }

    /// Whether output has to be written before more is received.
    var isOutputFull: Bool { machine.isOutputFull }

    /// Sends a request on a stream of its own, at once or when the proxy allows one.
    mutating func request(_ request: HTTPRequest, now: Moment) throws(HTTP2Error) {
        if let stream { machine.close(stream, now: elapsed(now)) }
        (stream, response, failure) = (nil, nil, nil)
        var head = request
        head.fields.removeConnectionFields()
        stream = try machine.request(HTTP2Request(head, scheme: ""), endsHere: false, now: elapsed(now))
        queued = stream == nil ? request : nil
    }

    /// Processes bytes from the proxy; none mean the end of the connection.
    mutating func receive(_ bytes: RawSpan, now: Moment) {
        machine.pass(bytes, now: elapsed(now))
        while let event = machine.nextEvent() {
            switch event {
            case .response(stream, let head): response = head
            case .reset(stream, let failure): self.failure = failure
            case .room: if let queued { try? request(queued, now: now) }
            default: break
            }
        }
        if isFull, let stream, machine.nextWritable() == stream { isFull = false }
    }

    mutating func takeOutput() -> [UInt8] {
        let bytes = machine.withOutput { $0.withUnsafeBytes { Array($0) } }
        machine.didWrite(bytes.count)
        return bytes
    }

    /// Writes output to the layer below. Returns the interest to wait for if some remains.
    mutating func write(to lower: any StreamTransport) throws(StreamError) -> Interest? {
        while machine.outputCount > 0 {
            let attempt = try machine.withOutput { (bytes) throws(StreamError) in try lower.tryWrite(bytes) }
            switch attempt {
            case .moved(let count): machine.didWrite(count)
            case .wouldBlock(let interest): return interest
            case .ended: throw StreamError(posix: 32)  // EPIPE
            }
        }
        return nil
    }

    /// Returns the head of the response, once; nil before it has arrived.
    mutating func takeResponse() throws(StreamError) -> HTTPResponse? {
        if let response = response.take() { return response }
        if let failure { throw .http2(failure) }
        if let failure = machine.failure { throw .http2(failure) }
        return nil
    }

    /// Appends what has arrived of a response's body. Returns whether it is complete, or as long as the limit.
    mutating func readBody(into body: inout [UInt8], upTo limit: Int) -> Bool {
        while body.count < limit {
            var piece = [UInt8](repeating: 0, count: min(4096, limit - body.count))
            var span = piece.mutableSpan
            var memory = span.mutableBytes
            guard let outcome = try? read(into: &memory, now: .now) else { return true }
            switch outcome {
            case .bytes(let count): body += piece[..<count]
            case .blocked: return false
            case .ended, .reset: return true
            }
        }
        return true
    }

    // MARK: The tunnel

    mutating func read(into target: inout MutableRawSpan, now: Moment) throws(StreamError) -> HTTP2ReadOutcome {
        guard let stream else { throw .closed }
        do throws(HTTP2Error) {
            return try machine.read(stream, into: &target, now: elapsed(now))
        } catch {
            throw .http2(error)
        }
    }

    /// Sends bytes to the target. Returns the number of those taken, or nil if neither bytes nor the end were taken.
    mutating func send(_ bytes: RawSpan, endsHere: Bool, now: Moment) throws(StreamError) -> Int? {
        guard let stream else { throw .closed }
        if let failure { throw .http2(failure) }
        do throws(HTTP2Error) {
            let outcome = try machine.send(bytes, on: stream, endsHere: endsHere, now: elapsed(now))
            isFull = !outcome.isComplete
            if outcome.isComplete, endsHere { hasFinished = true }
            return outcome.taken
        } catch {
            throw .http2(error)
        }
    }

    mutating func close(now: Moment) {
        if let stream { machine.close(stream, now: elapsed(now)) }
        machine.shutDown(now: elapsed(now))
    }

    private func elapsed(_ now: Moment) -> Duration { start.duration(to: now) }
}

/// Carries the bytes of a tunnel in DATA frames of its stream.
///
/// The end of the bytes of one side is END_STREAM, and a reset of the connection behind the proxy is RST_STREAM (RFC 9113 §8.5). Credit is given
/// for what has been read. Reader and writer both receive what the proxy sends: the writer waits for credit.
final class HTTP2ConnectLayer: StreamTransport {
    private let connection: HTTP2ConnectConnection
    private let lower: any StreamTransport

    /// The maximum number of bytes of one read.
    private static let readSize = 16 * 1024

    init(_ connection: HTTP2ConnectConnection, over lower: any StreamTransport) {
        self.connection = connection
        self.lower = lower
    }

    var waitPoint: WaitPoint { lower.waitPoint }

    /// The layer below may signal clients that are called at once, and use this transport.
    private func withCore<Result: Sendable>(
        _ body: (inout HTTP2ConnectCore) throws(StreamError) -> Result
    ) throws(StreamError) -> Result {
        try DirectTarget.delayingCalls { () throws(StreamError) in
            try connection.core.withLock { (core) throws(StreamError) in try body(&core) }
        }
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        try withCore { (core) throws(StreamError) in
            while true {
                let outcome = try core.read(into: &buffer, now: .now)
                // Credit for what was read, unless the layer below is full: then the next call writes it. A failed write does not lose what the
                // proxy has sent before.
                let blocked = try? core.write(to: lower)
                switch outcome {
                case .bytes(let count): return .moved(count)
                case .ended: return .ended
                case .reset(let failure): throw .http2(failure)
                case .blocked:
                    if let blocked, core.isOutputFull { return .wouldBlock(blocked) }
                    if let interest = try receive(&core) { return .wouldBlock(interest.union(blocked ?? [])) }
                }
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
            while true {
                // Otherwise the output would grow.
                if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
                if let count = try core.send(bytes, endsHere: false, now: .now) {
                    _ = try core.write(to: lower)
                    return .moved(count)
                }
                if let interest = try receive(&core) { return .wouldBlock(interest) }
            }
        }
    }

    func writability() throws(StreamError) -> Attempt {
        try withCore { (core) throws(StreamError) in
            if let interest = try core.write(to: lower) { return .wouldBlock(interest) }
            while core.isFull {
                if let interest = try receive(&core) { return .wouldBlock(interest) }
            }
            return .moved(1)
        }
    }

    func tryFlush() throws(StreamError) -> Attempt {
        let interest = try withCore { (core) throws(StreamError) in try core.write(to: lower) }
        return if let interest { .wouldBlock(interest) } else { try lower.tryFlush() }
    }

    func tryFinish() throws(StreamError) -> Attempt {
        let interest = try withCore { (core) throws(StreamError) -> Interest? in
            while !core.hasFinished {
                if let interest = try core.write(to: lower) { return interest }
                if try core.send(RawSpan(), endsHere: true, now: .now) == nil, let interest = try receive(&core) {
                    return interest
                }
            }
            return try core.write(to: lower)
        }
        return if let interest { .wouldBlock(interest) } else { try lower.tryFlush() }
    }

    func close() {
        try? withCore { (core) throws(StreamError) in
            core.close(now: .now)
            _ = try core.write(to: lower)
        }
        lower.close()
    }

    func property(named name: String) -> (any Sendable)? { lower.property(named: name) }

    func setProperty(_ value: (any Sendable)?, named name: String) throws(StreamError) -> Bool {
        try lower.setProperty(value, named: name)
    }

    /// Receives what the proxy has sent, once, and wakes the other half, for which it may be. Returns the interest to wait for if there is nothing.
    private func receive(_ core: inout HTTP2ConnectCore) throws(StreamError) -> Interest? {
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
        guard waitPoint.loop.isShareSpent else { return nil }
        // A proxy can send much that carries nothing.
        waitPoint.signalNextTurn([.readable, .writable])
        return .readable
    }
}
