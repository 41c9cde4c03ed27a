internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// One request and its response on one HTTP/1.1 connection.
///
/// Theory of operation. The ``ExchangeMessages`` know the states of both messages, send the one and remove framing and coding of the
/// other; the ``HTTP1Link`` receives bytes. The exchange carries bytes between them, and decides only whether to send or to receive next
/// (``Phase``).
///
/// A class, made for each request: Swift cannot change the payload of an enum in place, and a load's state is an enum.
final class HTTP1Exchange: HTTPCarrier, @unchecked Sendable {
    // Unchecked: it belongs to one load, which uses it under its lock.

    /// What the exchange does on the connection, of which it uses only the ``link``.
    private enum Phase {
        /// The request is sent before anything is received.
        case sending(HTTPConnection)
        /// The same, after a wait for the connection to open or to accept bytes.
        case sendingAfterWait(HTTPConnection)
        /// The response is received; the rest of the request, such as a body that waited for 100 (Continue), is sent meanwhile.
        case receiving(HTTPConnection)
        /// The exchange has given up the connection.
        case over

        /// Notes that the request had to wait for room.
        mutating func noteWait() {
            if case .sending(let connection) = self { self = .sendingAfterWait(connection) }
        }

        /// Looks for the response from now on.
        mutating func endSending() {
            switch self {
            case .sending(let connection), .sendingAfterWait(let connection): self = .receiving(connection)
            case .receiving, .over: break
            }
        }
    }

    /// The most bytes of a coded body that one step decodes without output before other work of the loop runs.
    static let bytesPerTurn = 64 * 1024

    private let link: HTTP1Link
    @exclusivity(unchecked) private var phase: Phase
    @exclusivity(unchecked) private var messages: ExchangeMessages

    /// - Parameters:
    ///   - connection: the open connection.
    ///   - keepsConnection: whether the request permits another one on the connection.
    ///   - offersSwitch: whether the request offers to switch to another protocol.
    ///   - hasWaited: whether the request had to wait for the connection to open.
    init(
        _ head: consuming RequestPreparation.Head, _ method: HTTPMethod, _ body: HTTPBody?,
        on connection: HTTPConnection, _ link: HTTP1Link,
        keepsConnection: Bool, offersSwitch: Bool = false, hasWaited: Bool
    ) throws(StreamError) {
        messages = try ExchangeMessages(
            head, method, body, keepsConnection: keepsConnection, offersSwitch: offersSwitch,
            loop: link.pair.input.waitPoint.loop)
        phase = hasWaited ? .sendingAfterWait(connection) : .sending(connection)
        self.link = link
    }
}

// MARK: - Up to the head

extension HTTP1Exchange {
    func advance(_ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        switch phase {
        case .sending: return try send(hasWaited: false, &deferred)
        case .sendingAfterWait: return try send(hasWaited: true, &deferred)
        case .receiving: return try receiveHead(&deferred)
        case .over: throw CarrierFailure(.closed, of: .connection)
        }
    }

    private func send(hasWaited: Bool, _ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        switch try messages.send(to: HTTP1Output(link: link), &deferred) {
        case .blocked(let need):
            if need == .room { phase.noteWait() }
            return .needs(need)
        case .failed(let error): throw CarrierFailure(error, of: .connection)
        case .answered, .held:
            phase.endSending()
            return .sent(justNow: false)
        case .done:
            phase.endSending()
            // After a wait for the connection, the event that ended it may also have announced an early response.
            return .sent(justNow: !hasWaited)
        }
    }

    private func receiveHead(
        _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> HeadStep {
        while true {
            if !link.buffer.isEmpty, let head = try takeHead() { return try receive(head, &deferred) }
            switch try fill() {
            case nil: if let need = try needForInput(&deferred) { return .needs(need) }
            case 0?:
                throw CarrierFailure(
                    hasReceived ? .headCutShort : .connectionLost("without a response"), of: .connection)
            default: break
            }
        }
    }

    /// Continues to send when no bytes can be read. Returns nil if another read may succeed.
    private func needForInput(_ deferred: inout DeferredActions) throws(CarrierFailure) -> Need? {
        try messages.sendInsteadOfReading(to: HTTP1Output(link: link), &deferred)
    }

    private func receive(
        _ head: consuming HTTPResponse, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> HeadStep {
        switch try messages.receive(head, leniency: .client, loop, &deferred) {
        case .interim(let head): return .interim(head)
        case .otherProtocol: return .switched
        case .body(let framing, let verdict):
            messages.body.begin(framing, limits: link.limits)
            return .head(verdict)
        }
    }

    func permitBody() { messages.permitBody(loop) }

    func stop(_ deferred: inout DeferredActions) { messages.stop(&deferred) }

    func abandon(_ deferred: inout DeferredActions) {
        stop(&deferred)
        phase = .over
    }

    func takeSwitched(_ deferred: inout DeferredActions) -> (pair: StreamPair, received: [UInt8])? {
        if isOver { return nil }
        abandon(&deferred)
        return (link.pair, link.buffer.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } })
    }
}

// MARK: - The body

extension HTTP1Exchange {
    func decodeContent(limit: Int64) { messages.decodeContent(limit: limit) }

    func read(
        into target: inout MutableRawSpan, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        if messages.body.isCoded { return try readDecoded(into: &target, &deferred) }
        while true {
            if messages.body.isComplete { return .ended(try endResponse()) }
            if link.buffer.isEmpty, messages.body.expectedPayloadCount > 0, target.byteCount >= 1024 {
                // Directly into the caller's memory.
                let attempt: Attempt
                do throws(StreamError) {
                    attempt = try link.read(into: &target, upTo: messages.body.expectedPayloadCount)
                } catch {
                    throw CarrierFailure(error, of: .connection)
                }
                switch attempt {
                case .wouldBlock: if let need = try needForInput(&deferred) { return .needs(need) }
                case .ended: try messages.body.receiveEnd()
                case .moved(let count):
                    try messages.body.advance(count)
                    return .payload(count)
                }
                continue
            }
            switch try messages.body.next(in: &link.buffer, upTo: target.byteCount) {
            case .payload(let range):
                link.buffer.copy(range, into: &target)
                link.buffer.remove(range.upperBound)
                return .payload(range.count)
            case .end: return .ended(try endResponse())
            case .needMore: if let need = try fillBody(&deferred) { return .needs(need) }
            }
        }
    }

    func peek(_ deferred: inout DeferredActions) throws(CarrierFailure) -> BodyStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        if messages.body.isCoded { return try prepareDecoded(&deferred) }
        while true {
            if messages.body.isComplete { return .ended(try endResponse()) }
            // `.payload` does not occur with a limit of 0.
            switch try messages.body.next(in: &link.buffer, upTo: 0) {
            case .end, .payload: return .ended(try endResponse())
            case .needMore:
                let ahead = Int(min(messages.body.expectedPayloadCount, Int64(link.buffer.count)))
                if ahead > 0 { return .payload(ahead) }
                if let need = try fillBody(&deferred) { return .needs(need) }
            }
        }
    }

    /// Reads into the buffer. Returns nil to try again.
    private func fillBody(_ deferred: inout DeferredActions) throws(CarrierFailure) -> Need? {
        guard let count = try fill() else { return try needForInput(&deferred) }
        if count == 0 { try messages.body.receiveEnd() }
        return nil
    }

    private func readDecoded(
        into target: inout MutableRawSpan, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep {
        let step = try prepareDecoded(&deferred)
        guard case .payload = step else { return step }
        return .payload(messages.body.readDecoded(into: &target))
    }

    /// Decodes until there are bytes to read, or the turn's budget is used up: a server can send any amount of data that
    /// decodes to nothing.
    private func prepareDecoded(
        _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep {
        var budget = HTTP1Exchange.bytesPerTurn
        while true {
            if messages.body.hasDecodedBytes { return .payload(1) }
            if messages.body.isComplete {
                if budget <= 0 { return .needs(.turn) }
                guard let cost = try messages.body.finishDecoding() else { return .ended(try endResponse()) }
                budget -= cost
                continue
            }
            // The framing's own bytes first, then all buffered payload at once.
            _ = try messages.body.next(in: &link.buffer, upTo: 0)
            let ahead = Int(min(messages.body.expectedPayloadCount, Int64(link.buffer.count)))
            if ahead > 0 {
                if budget <= 0 { return .needs(.turn) }
                budget -= try messages.body.decode(ahead, from: &link.buffer)
            } else if !messages.body.isComplete, let need = try fillBody(&deferred) {
                return .needs(need)
            }
        }
    }

    func endIfComplete() throws(CarrierFailure) -> ResponseEnd? {
        messages.body.isComplete && !messages.body.isCoded ? try endResponse() : nil
    }

    /// Ends the exchange: the response is complete.
    private func endResponse() throws(CarrierFailure) -> ResponseEnd {
        try messages.endResponse()
        guard let connection else { throw CarrierFailure(.closed, of: .connection) }
        phase = .over
        return ResponseEnd(connection: connection, isReusable: messages.isReusable && link.buffer.isEmpty)
    }

    // MARK: Failures

    private func fill() throws(CarrierFailure) -> Int? {
        do throws(StreamError) {
            return try link.fill()
        } catch {
            throw CarrierFailure(error, of: .connection)
        }
    }

    private func takeHead() throws(CarrierFailure) -> HTTPResponse? {
        do throws(HTTPMessageError) {
            return try link.takeHead()
        } catch {
            throw CarrierFailure(error)
        }
    }
}

// MARK: - Waiting and facts

extension HTTP1Exchange {
    private var isOver: Bool { if case .over = phase { true } else { false } }
    private var loop: EventLoop { link.pair.input.waitPoint.loop }

    var waitPoint: WaitPoint? { isOver ? nil : link.pair.input.waitPoint }
    var sourcePoint: WaitPoint? { messages.sender.sourcePoint }
    var isReadingBody: Bool { messages.sender.isReadingBody }
    var input: (any CarrierInput)? { isOver ? nil : link }

    /// Payload is read directly into the caller's memory, not into the buffer.
    var fillsBuffer: Bool {
        !messages.isReceivingBody || messages.body.isCoded || messages.body.expectedPayloadCount == 0
    }

    var connection: HTTPConnection? {
        switch phase {
        case .sending(let connection), .sendingAfterWait(let connection), .receiving(let connection): connection
        case .over: nil
        }
    }

    var response: HTTPResponse? { messages.response }
    var streamPlace: StreamPlace? { nil }
    /// A connection of HTTP/1.1 carries one request at a time.
    func takeQueueProgress() -> Bool { false }
    var isSending: Bool {
        switch phase {
        case .sending, .sendingAfterWait: true
        case .receiving, .over: false
        }
    }
    var bytesSent: Int { messages.sender.bytesSent }
    var bodyBytesSent: Int64 { messages.sender.bodyBytesSent }
    var hasBegunRequestBody: Bool { !messages.isHeld }
    var repetition: Repetition { !hasReceived && messages.mayRepeatRequest ? .ifReused : .none }
    var lastRead: Moment { link.lastRead }
    var hasReceived: Bool { messages.hasBegunResponse || !isOver && !link.buffer.isEmpty }

    var endsByItself: Bool { messages.body.endsByItself }
    var isDecoding: Bool { messages.body.isCoded }
    var bodyLength: Int64? { messages.body.length }
    var trailers: HTTPFields { messages.body.trailers }
    var droppedTrailers: HTTPFields { messages.body.droppedTrailers }
    func sentRequest(at url: URL) -> HTTPRequest? { RequestPreparation.parsed(messages.sender.head)?.at(url) }
}

/// The connection, as the output of a request.
private struct HTTP1Output: ExchangeOutput {
    var writeFailureSource: CarrierFailure.Source { .connection }

    let link: HTTP1Link

    var hasArrivals: Bool { link.pair.input.hasBytesAvailable }
    /// A server of HTTP/1.1 has no other means than a response.
    var isRefused: Bool { false }

    func tryWrite(_ bytes: RawSpan, isLast: Bool) throws(StreamError) -> Int? { try link.pair.output.tryWrite(bytes) }
    func tryFlush() throws(StreamError) -> Bool { try link.pair.output.tryFlush() }
    func tryEnd(_ trailers: HTTPFields?) throws(StreamError) -> Bool { try tryFlush() }
}

/// A thread that waits for the response borrows the link.
extension HTTP1Link: CarrierInput {}
