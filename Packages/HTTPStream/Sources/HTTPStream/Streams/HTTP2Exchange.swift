internal import EventLoops
internal import FoundationEssentials
internal import HTTP2
internal import HTTPMessage
internal import StreamKit

/// One request and its response on a stream of HTTP/2.
///
/// Theory of operation. The ``HTTP2ClientLink`` has the frames and the windows; the ``ExchangeMessages`` know the states of both messages, pull the
/// body of the request from its stream, and remove the content coding of the response.
final class HTTP2Exchange: HTTPCarrier, @unchecked Sendable {
    // Unchecked: it belongs to one load, which uses it under its lock.

    private enum Phase {
        /// The request has not been given to the link.
        case prepared
        /// The request waits until the server allows another stream.
        case queued
        /// The request is sent before a response is looked for.
        case sending
        /// The response is received; the rest of the request is sent meanwhile.
        case receiving
    }

    /// The use of the connection; nil once the load has no use for the stream any more.
    @exclusivity(unchecked) private(set) var connection: HTTPConnection?
    private let link: HTTP2ClientLink
    private let stream: HTTP2ClientStream
    private let request: HTTPRequest
    /// The protocol that the stream is to carry after a head that accepts it; nil for a response of HTTP.
    private let connectProtocol: String?
    private let limits: HTTPLimits
    @exclusivity(unchecked) private var phase = Phase.prepared
    @exclusivity(unchecked) private var messages: ExchangeMessages
    /// Coded bytes of the response that have not been decoded.
    private var coded: ReceiveBuffer?
    /// The length of the body that the head declares.
    private var declaredLength: Int64?
    private(set) var trailers = HTTPFields()
    private(set) var repetition = Repetition.none
    /// The number of requests that the connection had sent when ``takeQueueProgress()`` was called last.
    private var queueProgress = 0

    /// - Parameters:
    ///   - request: the request for HTTP/2. Of one for another protocol, `Sec-WebSocket-Key` is not sent.
    ///   - head: the prepared head, of which only the length of the body and the expectation are used.
    ///   - connection: the connection whose link is `link`.
    ///   - connectProtocol: the protocol that the stream is to carry; nil for a response of HTTP.
    ///   - limits: the limits of the response.
    init(
        _ request: HTTPRequest, _ head: RequestPreparation.Head, _ method: HTTPMethod, _ body: HTTPBody?,
        on connection: HTTPConnection, _ link: HTTP2ClientLink, connectProtocol: String? = nil, limits: HTTPLimits
    ) throws(StreamError) {
        self.connection = connection
        self.link = link
        self.limits = limits
        self.connectProtocol = connectProtocol
        stream = HTTP2ClientStream(waitingAt: HTTP2StreamPoint(link, isTunnel: connectProtocol != nil))
        var request = request
        // Its proof that the server knows the protocol is SETTINGS_ENABLE_CONNECT_PROTOCOL here (RFC 8441 §5).
        if connectProtocol != nil { request.fields.remove("Sec-WebSocket-Key") }
        self.request = request
        // The link sends the head.
        var rest = head
        rest.bytes = []
        messages = try ExchangeMessages(
            rest, method, body, bodyFraming: .none, loop: link.loop)
    }
}

// MARK: - Up to the head

extension HTTP2Exchange {
    func advance(_ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        switch phase {
        case .prepared:
            let scheme = connection?.isSecure == true ? "https" : "http"
            let sent = HTTP2Request(request, scheme: scheme, connectProtocol: connectProtocol)
            try perform { () throws(HTTP2LinkFailure) in
                try link.send(sent, endsHere: messages.hasNoRequestBody && !opensTunnel, as: stream)
            }
            (phase, queueProgress) = (.queued, link.sentCount)
            return try open()
        case .queued: return try open()
        case .sending: return try send(&deferred)
        case .receiving: return try receiveHead(&deferred)
        }
    }

    private func open() throws(CarrierFailure) -> HeadStep {
        if opensTunnel, link.acceptsConnectProtocol == false {
            guard link.isShareable else { throw CarrierFailure(.noOtherProtocols, of: .caller) }
            // Another attempt uses HTTP/1.1, if that is permitted.
            repetition = .again
            throw CarrierFailure(.noOtherProtocols, of: .connection)
        }
        guard try perform({ () throws(HTTP2LinkFailure) in try link.hasSent(stream) }) else { return .needs(.standby) }
        phase = messages.hasNoRequestBody ? .receiving : .sending
        // A body follows in the next step.
        return .sent(justNow: false)
    }

    private func send(_ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        switch try messages.send(to: output, &deferred) {
        case .blocked(let need): return .needs(need)
        case .failed(let error): throw CarrierFailure(error, of: .connection)
        case .answered, .held, .done:
            phase = .receiving
            return .sent(justNow: false)
        }
    }

    private func receiveHead(_ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        while true {
            let (head, failure) = link.withStream(stream) { stream in
                (stream.heads.isEmpty ? nil : stream.heads.removeFirst(), stream.failure)
            }
            if let head { return try receive(head, &deferred) }
            if let failure { throw self.failure(failure) }
            if let need = try needForInput(&deferred) { return .needs(need) }
        }
    }

    /// Continues to send when nothing can be read. Returns nil to look again.
    private func needForInput(_ deferred: inout DeferredActions) throws(CarrierFailure) -> Need? {
        // What follows the head of a request for another protocol is for its user to send.
        opensTunnel ? .input : try messages.sendInsteadOfReading(to: output, &deferred)
    }

    private func receive(
        _ head: consuming HTTPResponse, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> HeadStep {
        if opensTunnel, head.status.kind == .successful {
            messages.acceptTunnel(head)
            return .switched
        }
        switch try messages.receive(head, leniency: .strict, loop, &deferred) {
        case .interim(let head): return .interim(head)
        case .otherProtocol: throw CarrierFailure(.switchedProtocols("another protocol"), of: .server)
        case .body(let framing, let verdict):
            // The end of the stream is the end of the body, whose length the link checks.
            messages.body.begin(framing == .none ? .none : .untilClose, limits: limits)
            if case .length(let length) = framing { declaredLength = length }
            // A response has a stream, so it cannot have crossed the request.
            return .head(verdict == .crossed ? .answer : verdict)
        }
    }

    func permitBody() { messages.permitBody(loop) }

    func stop(_ deferred: inout DeferredActions) { messages.stop(&deferred) }

    func abandon(_ deferred: inout DeferredActions) {
        stop(&deferred)
        leave()
    }

    private func leave() {
        if isOver { return }
        trailers = link.withStream(stream) { $0.trailers }
        link.close(stream)
        connection = nil
    }

    func takeSwitched(_ deferred: inout DeferredActions) -> (pair: StreamPair, received: [UInt8])? {
        if isOver { return nil }
        connection = nil
        link.drainUnlessPooled()
        return (HTTP2Tunnel.streams(HTTP2ClientTunnelEnd(link: link, stream: stream)), [])
    }
}

// MARK: - The body

extension HTTP2Exchange {
    func decodeContent(limit: Int64) {
        messages.decodeContent(limit: limit)
        if messages.body.isCoded { coded = ReceiveBuffer(capacity: HTTP1Link.bufferSize) }
    }

    func read(
        into target: inout MutableRawSpan, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        if messages.body.isCoded {
            let step = try prepareDecoded(&deferred)
            guard case .payload = step else { return step }
            return .payload(messages.body.readDecoded(into: &target))
        }
        while true {
            let outcome = try perform { () throws(HTTP2LinkFailure) in try link.read(stream, into: &target) }
            switch outcome {
            case .bytes(let count):
                try messages.body.advance(count)
                return .payload(count)
            case .blocked: if let need = try needForInput(&deferred) { return .needs(need) }
            case .ended: return .ended(try endResponse())
            case .reset(let failure): throw self.failure(failure)
            }
        }
    }

    func peek(_ deferred: inout DeferredActions) throws(CarrierFailure) -> BodyStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        if messages.body.isCoded { return try prepareDecoded(&deferred) }
        while true {
            let (isReadable, hasEnded, failure) = link.withStream(stream) { ($0.isReadable, $0.hasEnded, $0.failure) }
            if isReadable { return .payload(1) }
            if hasEnded { return .ended(try endResponse()) }
            if let failure { throw self.failure(failure) }
            if let need = try needForInput(&deferred) { return .needs(need) }
        }
    }

    /// Decodes until there are bytes to read, or the turn's budget is used up: a server can send any amount of data that decodes to nothing.
    private func prepareDecoded(_ deferred: inout DeferredActions) throws(CarrierFailure) -> BodyStep {
        var budget = HTTP1Exchange.bytesPerTurn
        while true {
            if messages.body.hasDecodedBytes { return .payload(1) }
            if budget <= 0 { return .needs(.turn) }
            if let count = coded?.count, count > 0 {
                budget -= try messages.body.decode(count, from: &coded!)
            } else if messages.body.isComplete {
                guard let cost = try messages.body.finishDecoding() else { return .ended(try endResponse()) }
                budget -= cost
            } else if let need = try fill(&deferred) {
                return .needs(need)
            }
        }
    }

    /// Reads coded bytes. Returns nil to go on.
    private func fill(_ deferred: inout DeferredActions) throws(CarrierFailure) -> Need? {
        let outcome = try perform { () throws(HTTP2LinkFailure) in
            var outcome = HTTP2ReadOutcome.blocked
            try coded?.fill { (target) throws(HTTP2LinkFailure) in
                outcome = try link.read(stream, into: &target)
                return if case .bytes(let count) = outcome { count } else { 0 }
            }
            return outcome
        }
        switch outcome {
        case .bytes: return nil
        case .blocked: return try needForInput(&deferred)
        case .ended:
            try messages.body.receiveEnd()
            return nil
        case .reset(let failure): throw self.failure(failure)
        }
    }

    func endIfComplete() throws(CarrierFailure) -> ResponseEnd? {
        if messages.body.isCoded || isOver { return nil }
        return link.withStream(stream) { $0.hasEnded && !$0.isReadable } ? try endResponse() : nil
    }

    /// Ends the exchange: the response is complete.
    private func endResponse() throws(CarrierFailure) -> ResponseEnd {
        try messages.endResponse()
        guard let connection else { throw CarrierFailure(.closed, of: .connection) }
        leave()
        // Giving up the connection closes the source of a request that goes on.
        return ResponseEnd(connection: connection, isReusable: messages.sender.isDone)
    }

    // MARK: Failures

    private func perform<Result>(_ body: () throws(HTTP2LinkFailure) -> Result) throws(CarrierFailure) -> Result {
        do throws(HTTP2LinkFailure) {
            return try body()
        } catch {
            switch error {
            case .unavailable:
                repetition = link.sentCount > 0 ? .elsewhere : .again
                throw CarrierFailure(.closed, of: .connection)
            case .connection(let error):
                repetition = link.sentCount > 0 ? .elsewhere : .again
                throw CarrierFailure(error, of: .connection)
            case .stream(let failure): throw self.failure(failure)
            case .protocolError(let error): throw CarrierFailure(.http2(error), of: .caller)
            }
        }
    }

    /// The failure of the stream, which tells whether the request may be repeated.
    private func failure(_ failure: HTTP2StreamFailure) -> CarrierFailure {
        repetition = repetition(after: failure)
        return CarrierFailure(link.error(of: failure), of: repetition == .none ? .server : .connection)
    }

    private func repetition(after failure: HTTP2StreamFailure) -> Repetition {
        if failure.requiresHTTP11 { return .overHTTP1 }
        if failure.processing == .notProcessed {
            if case .goAway(let goAway) = failure.cause, goAway.code == .noError, goAway.lastStream != .connection {
                return .elsewhere
            }
            return failure.code == .refusedStream ? .afterPause : .again
        }
        // The server may have closed the connection while it was idle.
        guard case .connection = failure.cause, connection?.isReused == true || link.hasAnswered,
            !messages.hasBegunResponse, request.method.isIdempotent
        else { return .none }
        return .again
    }
}

// MARK: - Waiting and facts

extension HTTP2Exchange {
    private var isOver: Bool { connection == nil }
    /// Whether the stream is to carry another protocol.
    private var opensTunnel: Bool { if case .none = connectProtocol { false } else { true } }
    private var loop: EventLoop { link.loop }
    private var output: HTTP2BodyOutput { HTTP2BodyOutput(link: link, stream: stream) }

    var waitPoint: WaitPoint? { isOver ? nil : stream.point }
    var sourcePoint: WaitPoint? { messages.sender.sourcePoint }
    var isReadingBody: Bool { messages.sender.isReadingBody }
    /// The connection is read for all streams.
    var input: (any CarrierInput)? { nil }
    var fillsBuffer: Bool { false }

    var response: HTTPResponse? { messages.response }
    var streamPlace: StreamPlace? { link.place(of: stream) }

    func takeQueueProgress() -> Bool {
        let count = link.sentCount
        defer { queueProgress = count }
        return count != queueProgress
    }

    var isSending: Bool {
        switch phase {
        case .prepared, .queued, .sending: !isOver
        case .receiving: false
        }
    }

    /// The head counts as one byte: the link writes the frames of all streams together, and does not tell when those of this one have left.
    var bytesSent: Int {
        switch phase {
        case .prepared, .queued: 0
        case .sending, .receiving: 1 + messages.sender.bytesSent
        }
    }
    var bodyBytesSent: Int64 { messages.sender.bodyBytesSent }
    var hasBegunRequestBody: Bool { !messages.isHeld && bytesSent > 0 }
    var hasReceived: Bool { messages.hasBegunResponse }
    var lastRead: Moment { link.lastInput }

    var endsByItself: Bool { true }
    var isDecoding: Bool { messages.body.isCoded }
    var bodyLength: Int64? { messages.body.isCoded ? nil : messages.body.length ?? declaredLength }
    var droppedTrailers: HTTPFields { HTTPFields() }

    func sentRequest(at url: URL) -> HTTPRequest? { request.at(url, version: .http20) }
}

/// The stream, as the output of a request's body.
private struct HTTP2BodyOutput: ExchangeOutput {
    /// The connection's failure is one that has arrived; what remains is a body that the stream cannot carry.
    var writeFailureSource: CarrierFailure.Source { .caller }

    let link: HTTP2ClientLink
    let stream: HTTP2ClientStream

    var hasArrivals: Bool { if case .arrived = arrival { true } else { false } }
    var isRefused: Bool { if case .sendingStopped = arrival { true } else { false } }
    private var arrival: HTTP2ClientStream.Arrival { link.withStream(stream) { $0.arrival } }

    func tryWrite(_ bytes: RawSpan, isLast: Bool) throws(StreamError) -> Int? {
        try perform { () throws(HTTP2LinkFailure) in try link.send(bytes, endsHere: isLast, on: stream) }
    }

    /// Frames are written by the link.
    func tryFlush() throws(StreamError) -> Bool { true }

    /// Ends a request whose last bytes were not known to be the last.
    func tryEnd(_ trailers: HTTPFields?) throws(StreamError) -> Bool {
        if link.withStream(stream, { $0.isRequestEnded }) { return true }
        guard let trailers, !trailers.isEmpty else { return try tryWrite(RawSpan(), isLast: true) != nil }
        try perform { () throws(HTTP2LinkFailure) in try link.sendTrailers(trailers, on: stream) }
        return true
    }

    private func perform<Result>(_ body: () throws(HTTP2LinkFailure) -> Result) throws(StreamError) -> Result {
        do throws(HTTP2LinkFailure) {
            return try body()
        } catch {
            // The exchange looks at the stream first.
            if case .protocolError(let error) = error { throw .http2(error) }
            throw .closed
        }
    }
}
