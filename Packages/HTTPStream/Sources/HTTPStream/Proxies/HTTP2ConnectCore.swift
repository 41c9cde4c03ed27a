internal import EventLoops
internal import Glibc
internal import HTTP2
internal import HTTPMessage
internal import StreamKit

/// A connection that the conversation leaves to the layer of its tunnel.
final class HTTP2ConnectConnection: Sendable {
    let core: Locked<HTTP2ConnectCore>

    init(_ core: consuming HTTP2ConnectCore) { self.core = Locked(core) }
}

/// The connection of HTTP/2 with a proxy, and its only stream. No I/O.
struct HTTP2ConnectCore: ~Copyable, Sendable {
    private let proxy: String
    private var machine: HTTP2ClientMachine
    private let start: Moment
    private var lastRequest = LastRequest.none
    private var response: HTTPResponse?
    /// Whether the proxy has established the tunnel.
    private var isEstablished = false
    /// Whether the bytes of the target are complete.
    private var hasEnded = false
    /// Why nothing more can be sent on the stream.
    private(set) var failure: StreamError?
    /// Why nothing more can be received from the layer below.
    private var readFailure: StreamError?
    /// Whether bytes were not taken, and may not be sent since.
    private(set) var isFull = false
    /// Whether the end of the bytes to the target has been sent.
    private(set) var hasFinished = false

    private enum LastRequest {
        case none
        /// It waits until the proxy allows a stream.
        case queued(HTTPRequest)
        case sent(on: StreamID)
    }

    /// - Parameters:
    ///   - proxy: the host and port of the proxy.
    ///   - isAdequate: whether TLS may carry HTTP/2; if not, the connection has failed.
    init(_ proxy: String, _ limits: HTTPLimits, isAdequate: Bool, now: Moment) {
        self.proxy = proxy
        var limits = HTTP2Limits(ofClient: limits)
        // The program that uses the tunnel knows how long the target may be silent.
        limits.pingInterval = nil
        machine = HTTP2ClientMachine(limits: limits, now: .zero)
        if !isAdequate { machine.abort(.inadequateSecurity, now: .zero) }
        start = now
    }

    /// Whether another request can be sent.
    var mayContinue: Bool { !machine.isDraining }

    /// Whether output has to be written before more is received.
    var isOutputFull: Bool { machine.isOutputFull }

    /// When ``act(now:)`` has to be called.
    var nextDeadline: Moment? { machine.nextDeadline.map { start + $0 } }

    /// Sends a request on a stream of its own, at once or when the proxy allows one.
    mutating func request(_ request: HTTPRequest, now: Moment) throws(StreamError) {
        if let stream { machine.close(stream, now: elapsed(now)) }
        (lastRequest, response, failure, hasEnded) = (.none, nil, nil, false)
        if let failure = machine.failure { throw .tunnelFailed(proxy, failure) }
        var head = request
        head.fields.removeConnectionFields()
        do throws(HTTP2Error) {
            let opened = try machine.request(HTTP2Request(head, scheme: ""), endsHere: false, now: elapsed(now))
            lastRequest = opened.map { .sent(on: $0) } ?? .queued(request)
        } catch {
            throw .tunnelFailed(proxy, error)
        }
        if case .queued = lastRequest, machine.isDraining {
            lastRequest = .none
            throw .tunnelClosed(proxy, "without a response")
        }
    }

    /// The stream of the last request; nil before it has one.
    private var stream: StreamID? { if case .sent(let stream) = lastRequest { stream } else { nil } }

    /// Processes bytes from the proxy; none mean the end of the connection.
    mutating func receive(_ bytes: RawSpan, now: Moment) {
        machine.pass(bytes, now: elapsed(now))
        takeEvents(now: now)
    }

    /// Acts on deadlines that have passed.
    mutating func act(now: Moment) {
        do throws(HTTP2Error) { try machine.tick(now: elapsed(now)) } catch {}
        takeEvents(now: now)
    }

    private mutating func takeEvents(now: Moment) {
        while let event = machine.nextEvent() {
            switch event {
            case .response(stream, let head):
                response = head
                isEstablished = head.status.kind == .successful
            case .ended(stream): hasEnded = true
            case .reset(stream, let failure), .sendingStopped(stream, let failure): fail(failure)
            case .room:
                guard case .queued(let request) = lastRequest else { continue }
                do throws(StreamError) { try self.request(request, now: now) } catch { fail(error) }
            case .goAway: if case .queued = lastRequest { fail(.tunnelClosed(proxy, "without a response")) }
            default: break
            }
        }
        if let error = machine.failure { fail(.tunnelFailed(proxy, error)) }
        noteRoom()
    }

    /// Notes that nothing more can be received.
    mutating func failToRead(_ error: StreamError) {
        readFailure = error
        fail(error)
    }

    private mutating func fail(_ failure: HTTP2StreamFailure) {
        switch failure.cause {
        case .violation(let error), .connection(let error): fail(.tunnelFailed(proxy, error))
        case .peer, .goAway: fail(.tunnelReset(proxy, failure))
        }
    }

    private mutating func fail(_ error: StreamError) {
        failure = failure ?? lost(error)
        if case .queued = lastRequest { lastRequest = .none }
        // A writer learns of it when it writes.
        isFull = false
    }

    /// The error of a tunnel that has ended early is that of a connection of TCP, so that what was received before can be read.
    private func lost(_ error: StreamError) -> StreamError {
        isEstablished ? .tunnelLost(proxy, hasEnded ? EPIPE : ECONNRESET, error) : error
    }

    /// Notes whether bytes can be sent again that were not taken.
    private mutating func noteRoom() {
        if isFull, let stream, machine.nextWritable() == stream { isFull = false }
    }

    mutating func takeOutput() -> [UInt8] {
        let bytes = machine.withOutput { $0.withUnsafeBytes { Array($0) } }
        machine.didWrite(bytes.count)
        return bytes
    }

    /// Writes output to the layer below. Returns the interest to wait for if some remains.
    mutating func write(to lower: any StreamTransport) throws(StreamError) -> Interest? {
        // It makes room for more.
        defer { noteRoom() }
        while machine.outputCount > 0 {
            let attempt: Attempt
            do throws(StreamError) {
                attempt = try machine.withOutput { (bytes) throws(StreamError) in try lower.tryWrite(bytes) }
            } catch {
                throw hasEnded ? lost(error) : error
            }
            switch attempt {
            case .moved(let count): machine.didWrite(count)
            case .wouldBlock(let interest): return interest
            case .ended: throw StreamError(posix: EPIPE)
            }
        }
        return nil
    }

    /// Returns the head of the response, once; nil before it has arrived.
    mutating func takeResponse() throws(StreamError) -> HTTPResponse? {
        if let response = response.take() { return response }
        if let failure { throw failure }
        return nil
    }

    /// Appends what has arrived of a response's body. Returns whether it is complete, or as long as the limit.
    mutating func readBody(into body: inout [UInt8], upTo limit: Int, now: Moment) -> Bool {
        while body.count < limit {
            var piece = [UInt8](repeating: 0, count: min(4096, limit - body.count))
            var span = piece.mutableSpan
            var memory = span.mutableBytes
            switch try? read(into: &memory, now: now) {
            case .moved(let count): body += piece[..<count]
            case .wouldBlock: return false
            // Even if the body is incomplete, the response is known to be a refusal.
            case .ended, nil: return true
            }
        }
        return true
    }

    // MARK: The tunnel

    /// Reads bytes of the target; into no memory, to find out whether there are any.
    mutating func read(into target: inout MutableRawSpan, now: Moment) throws(StreamError) -> Attempt {
        guard let stream else { throw failure ?? .closed }
        let outcome: HTTP2ReadOutcome
        do throws(HTTP2Error) {
            outcome = try machine.read(stream, into: &target, now: elapsed(now))
        } catch {
            throw .tunnelFailed(proxy, error)
        }
        switch outcome {
        case .bytes(let count): return .moved(count)
        case .blocked:
            if let readFailure { throw readFailure }
            return .wouldBlock(.readable)
        case .ended: return .ended
        case .reset: throw failure ?? .closed
        }
    }

    /// Sends bytes to the target. Returns the number of those taken, or nil if neither bytes nor the end were taken.
    mutating func send(_ bytes: RawSpan, endsHere: Bool, now: Moment) throws(StreamError) -> Int? {
        if let failure { throw failure }
        guard let stream else { throw .closed }
        do throws(HTTP2Error) {
            let outcome = try machine.send(bytes, on: stream, endsHere: endsHere, now: elapsed(now))
            isFull = !outcome.isComplete
            if outcome.isComplete, endsHere { hasFinished = true }
            return outcome.taken
        } catch {
            throw .tunnelFailed(proxy, error)
        }
    }

    /// Ends the connection with the bytes of both sides. The stream is not reset, since the proxy could drop what it has not passed on. Returns
    /// whether the proxy has still to receive them.
    mutating func close(now: Moment) -> Bool {
        if !hasFinished { _ = try? send(RawSpan(), endsHere: true, now: now) }
        machine.shutDown(now: elapsed(now))
        return hasFinished && failure == nil
    }

    private func elapsed(_ now: Moment) -> Duration { start.duration(to: now) }
}

extension StreamError {
    /// A tunnel has ended early.
    ///
    /// - Parameter number: `EPIPE` if the bytes of the target are complete, otherwise `ECONNRESET`.
    fileprivate static func tunnelLost(_ proxy: String, _ number: CInt, _ cause: StreamError) -> StreamError {
        StreamError(
            posix: number,
            Sentence("proxy.lost", "The tunnel through the proxy %1 has ended: %2", proxy, cause.description),
            underlying: cause)
    }

    /// The proxy has ended the stream of a request.
    fileprivate static func tunnelReset(_ proxy: String, _ failure: HTTP2StreamFailure) -> StreamError {
        .proxy(
            .tunnelConnectionFailure,
            Sentence("proxy.reset", "The proxy %1 reset the stream: %2.", proxy, "\(failure.code)"),
            underlying: http2(failure))
    }

    /// The connection with a proxy has failed.
    fileprivate static func tunnelFailed(_ proxy: String, _ error: HTTP2Error) -> StreamError {
        if error.code == .noError { return tunnelClosed(proxy, "before the end of the stream") }
        return .proxy(
            .unexpectedResponseToConnect,
            Sentence("proxy.http2Failed", "The HTTP/2 connection with the proxy %1 failed: %2.", proxy, "\(error)"),
            underlying: error)
    }
}
