internal import EventLoops
internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// One request and its response on one HTTP/1.1 connection.
///
/// Theory of operation. The ``RequestSender`` sends bytes, the ``HTTP1Link`` receives them, the ``ResponseBody`` removes framing and
/// coding, and the `ExchangeMachine` knows the states of both messages. The exchange carries bytes between them, and decides only
/// whether to send or to receive next (``Phase``).
///
/// A class, made for each request: Swift cannot change the payload of an enum in place, and a load's state is an enum.
final class HTTP1Exchange: HTTPCarrier, @unchecked Sendable {
    // Unchecked: it belongs to one load, which uses it under its lock.

    private enum Phase {
        /// The request is sent before anything is received.
        case sending(hasWaited: Bool)
        /// The response is received; the rest of the request, such as a body that waited for 100 (Continue), is sent meanwhile.
        case receiving
        /// Another request may use the connection.
        case over
    }

    /// The most bytes of a coded body that one step decodes without output before other work of the loop runs.
    static let bytesPerTurn = 64 * 1024

    /// The connection, of which the exchange uses only the ``link``, and nothing once it is over.
    private let line: HTTPConnection
    private let link: HTTP1Link
    @exclusivity(unchecked) private var phase: Phase
    @exclusivity(unchecked) private(set) var response: HTTPResponse?
    @exclusivity(unchecked) private var machine = ExchangeMachine(.client)
    @exclusivity(unchecked) private var sender: RequestSender
    @exclusivity(unchecked) private var body = ResponseBody()

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
        var framing = BodyFraming.none
        if case .some = body { framing = head.bodyLength.map { .length($0) } ?? .chunked }
        phase = .sending(hasWaited: hasWaited)
        do throws(HTTPMessageError) {
            try machine.beginRequest(
                method, framing: framing, expectsContinue: head.expectsContinue, isPersistent: keepsConnection,
                offersSwitch: offersSwitch)
        } catch {
            throw StreamError(error)
        }
        sender = RequestSender(head, body, loop: connection.pair.input.waitPoint.loop)
        line = connection
        self.link = link
    }
}

// MARK: - Up to the head

extension HTTP1Exchange {
    func advance(_ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        switch phase {
        case .sending(let hasWaited): return try send(hasWaited: hasWaited, &deferred)
        case .receiving: return try receiveHead(&deferred)
        case .over: throw CarrierFailure(.closed, of: .connection)
        }
    }

    private func send(hasWaited: Bool, _ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        switch try sendMore(&deferred) {
        case .blocked(let need):
            if need == .room { phase = .sending(hasWaited: true) }
            return .needs(need)
        case .failed(let error): throw CarrierFailure(error, of: .connection)
        case .answered, .held:
            phase = .receiving
            return .sent(justNow: false)
        case .done:
            phase = .receiving
            // After a wait for the connection, the event that ended it may also have announced an early response.
            return .sent(justNow: !hasWaited)
        }
    }

    /// The outcome of sending as much as possible.
    private enum Sending {
        case done
        case held
        case blocked(Need)
        /// The server has sent bytes: read them before sending more.
        case answered
        case failed(StreamError)
    }

    private func sendMore(
        _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> Sending {
        while true {
            let progress: RequestSender.Progress
            do throws(StreamError) {
                progress = try sender.advance(link.pair.output)
            } catch {
                throw CarrierFailure(error, of: .caller)
            }
            switch progress {
            case .done:
                if machine.request == .body {
                    try conclude { (machine) throws(HTTPMessageError) in try machine.endRequest() }
                }
                stop(&deferred)
                return .done
            case .awaitsContinue: return .held
            case .failed(let error): return link.pair.input.hasBytesAvailable ? .answered : .failed(error)
            case .sentPiece: if link.pair.input.hasBytesAvailable { return .answered }
            case .connectionBlocks: return link.pair.input.hasBytesAvailable ? .answered : .blocked(.room)
            case .sourceBlocks: return link.pair.input.hasBytesAvailable ? .answered : .blocked(.source)
            case .turnEnds: return .blocked(.turn)
            case .needsReading:
                deferred.bodyReading = sender.beginBodyReading()
                return .blocked(.bodyReading)
            case .isReadingBody: return link.pair.input.hasBytesAvailable ? .answered : .blocked(.bodyReading)
            }
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
        if machine.request == .held { return .permission }
        if sender.isDone { return .input }
        switch try sendMore(&deferred) {
        case .done: return .input
        case .held: return .permission
        case .blocked(let need): return need
        case .answered: return nil
        case .failed:
            stop(&deferred)  // the response that arrived before is valid
            return nil
        }
    }

    private func receive(
        _ head: consuming HTTPResponse, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> HeadStep {
        let status = head.status
        let verdict = verdict(on: status)
        switch try begin(head) {
        case .interim: return .interim(head)
        case .continueRequest:
            permitBody()
            return .interim(head)
        case .switchProtocol:
            response = head
            return .switched
        case .body(let framing, let stopsRequest):
            if let coding = head.furtherTransferCoding(framing) {
                throw CarrierFailure(.transferCoded(coding), of: .server)
            }
            body = ResponseBody(framing, limits: link.limits)
            machine.endPersistence(ifRefused: status, after: bodyBytesSent)
            if stopsRequest { stop(&deferred) }
            response = head
            return .head(verdict)
        }
    }

    /// What the status of a response that has not been reported yet means for the request.
    private func verdict(on status: HTTPStatus) -> HeadVerdict {
        if machine.isExpectationRefused(by: status) { return .refusesExpectation }
        return machine.hasCrossed(status) ? .crossed : .answer
    }

    private func begin(_ head: borrowing HTTPResponse) throws(CarrierFailure) -> ExchangeMachine.ResponseAction {
        do throws(HTTPMessageError) {
            return try machine.beginResponse(
                head, leniency: .client, offering: RequestPreparation.offeredProtocol(in: sender.head))
        } catch {
            switch error.code {
            // A switch to a protocol that the request has not offered.
            case .outOfOrder:
                throw CarrierFailure(.switchedProtocols(head.fields[.upgrade] ?? "another protocol"), of: .server)
            case .tooManyInterimResponses:
                throw CarrierFailure(.tooManyInterim(HTTPLimits.interimResponses), of: .server)
            default: throw CarrierFailure(StreamError(error), of: .server)
            }
        }
    }

    func permitBody() {
        machine.permitBody()
        if let point = waitPoint { sender.permitBody(point.loop) }
    }

    func stop(_ deferred: inout DeferredActions) {
        machine.abandonRequest()
        if let source = sender.stop() { deferred.add(.closeBody(source)) }
    }

    func abandon(_ deferred: inout DeferredActions) {
        stop(&deferred)
        phase = .over
    }

    func takeSwitched(_ deferred: inout DeferredActions) -> [UInt8] {
        if isOver { return [] }
        abandon(&deferred)
        return link.buffer.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
    }
}

// MARK: - The body

extension HTTP1Exchange {
    func decodeContent(limit: Int64) {
        if let response { body.decodeContent(of: response, limit: limit) }
    }

    func read(
        into target: inout MutableRawSpan, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        if !body.isCoded { return try readPayload(into: &target, &deferred) }
        let step = try prepareDecoded(&deferred)
        guard case .payload = step else { return step }
        return .payload(body.readDecoded(into: &target))
    }

    func peek(_ deferred: inout DeferredActions) throws(CarrierFailure) -> BodyStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        if body.isCoded { return try prepareDecoded(&deferred) }
        while true {
            if body.isComplete { return try end() }
            switch try nextEvent(upTo: 0) {
            case .end, .payload: return try end()
            case .needMore:
                let ahead = Int(min(body.expectedPayloadCount, Int64(link.buffer.count)))
                if ahead > 0 { return .payload(ahead) }
                if let need = try fillBody(&deferred) { return .needs(need) }
            }
        }
    }

    private func readPayload(
        into target: inout MutableRawSpan, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep {
        while true {
            if body.isComplete { return try end() }
            if link.buffer.isEmpty, body.expectedPayloadCount > 0, target.byteCount >= 1024 {
                // Directly into the caller's memory.
                let count: Int?
                do throws(StreamError) {
                    count = try link.read(into: &target, upTo: body.expectedPayloadCount)
                } catch {
                    throw CarrierFailure(error, of: .connection)
                }
                switch count {
                case nil: if let need = try needForInput(&deferred) { return .needs(need) }
                case 0?: try changeBody { (body) throws(StreamError) in try body.receiveEnd() }
                case let count?:
                    try changeBody { (body) throws(StreamError) in try body.advance(count) }
                    return .payload(count)
                }
                continue
            }
            switch try nextEvent(upTo: target.byteCount) {
            case .payload(let range):
                link.buffer.copy(range, into: &target)
                link.buffer.remove(range.upperBound)
                return .payload(range.count)
            case .end: return try end()
            case .needMore: if let need = try fillBody(&deferred) { return .needs(need) }
            }
        }
    }

    /// Reads into the buffer. Returns nil to try again.
    private func fillBody(_ deferred: inout DeferredActions) throws(CarrierFailure) -> Need? {
        guard let count = try fill() else { return try needForInput(&deferred) }
        if count == 0 { try changeBody { (body) throws(StreamError) in try body.receiveEnd() } }
        return nil
    }

    /// Decodes until there are bytes to read, or the turn's budget is used up: a server can send any amount of data that
    /// decodes to nothing.
    private func prepareDecoded(
        _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep {
        var budget = HTTP1Exchange.bytesPerTurn
        while true {
            if body.hasDecodedBytes { return .payload(1) }
            if body.isComplete {
                if budget <= 0 { return .needs(.turn) }
                var cost: Int?
                try changeBody { (body) throws(StreamError) in cost = try body.finishDecoding() }
                guard let cost else { return try end() }
                budget -= cost
                continue
            }
            // The framing's own bytes first, then all buffered payload at once.
            _ = try nextEvent(upTo: 0)
            let ahead = Int(min(body.expectedPayloadCount, Int64(link.buffer.count)))
            if ahead > 0 {
                if budget <= 0 { return .needs(.turn) }
                try changeBody { (body) throws(StreamError) in budget -= try body.decode(ahead, from: &link.buffer) }
            } else if !body.isComplete, let need = try fillBody(&deferred) {
                return .needs(need)
            }
        }
    }

    func endIfComplete() throws(CarrierFailure) -> BodyStep? {
        body.isComplete && !body.isCoded ? try end() : nil
    }

    /// Ends the exchange: the response is complete.
    private func end() throws(CarrierFailure) -> BodyStep {
        try conclude { (machine) throws(HTTPMessageError) in try machine.endResponse() }
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        phase = .over
        return .ended(line, isReusable: machine.outcome == .reusable && link.buffer.isEmpty)
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
            throw CarrierFailure(StreamError(error), of: .server)
        }
    }

    private func nextEvent(upTo limit: Int) throws(CarrierFailure) -> BodyDecoder.Event {
        do throws(StreamError) {
            return try body.next(in: &link.buffer, upTo: limit)
        } catch {
            throw CarrierFailure(error, of: .server)
        }
    }

    private func changeBody(_ change: (inout ResponseBody) throws(StreamError) -> Void) throws(CarrierFailure) {
        do throws(StreamError) {
            try change(&body)
        } catch {
            throw CarrierFailure(error, of: .server)
        }
    }

    private func conclude(
        _ report: (inout ExchangeMachine) throws(HTTPMessageError) -> Void
    ) throws(CarrierFailure) {
        do throws(HTTPMessageError) {
            try report(&machine)
        } catch {
            throw CarrierFailure(StreamError(error), of: .server)
        }
    }
}

// MARK: - Waiting and facts

extension HTTP1Exchange {
    private var isOver: Bool { if case .over = phase { true } else { false } }

    var connection: HTTPConnection? { isOver ? nil : line }
    var waitPoint: WaitPoint? { isOver ? nil : link.pair.input.waitPoint }
    var sourcePoint: WaitPoint? { sender.sourcePoint }
    var isReadingBody: Bool { sender.isReadingBody }
    var input: (any CarrierInput)? { isOver ? nil : link }

    /// Payload is read directly into the caller's memory, not into the buffer.
    var fillsBuffer: Bool { machine.response != .body || body.isCoded || body.expectedPayloadCount == 0 }

    var streamPlace: StreamPlace? { nil }
    var queueProgress: Int { 0 }
    var isSending: Bool { if case .sending = phase { true } else { false } }
    var bytesSent: Int { sender.bytesSent }
    var bodyBytesSent: Int64 { sender.bodyBytesSent }
    var hasBegunRequestBody: Bool { machine.request != .held }
    var repetition: Repetition {
        !hasReceived && machine.mayRepeatRequest(isSent: sender.bytesSent > 0) ? .ifReused : .none
    }
    var lastRead: Moment { link.lastRead }

    var hasReceived: Bool {
        machine.response != .expected || machine.interimCount > 0 || !isOver && !link.buffer.isEmpty
    }

    var endsByItself: Bool { body.endsByItself }
    var isDecoding: Bool { body.isCoded }
    var bodyLength: Int64? { body.length }
    var trailers: HTTPFields { body.trailers }
    var droppedTrailers: HTTPFields { body.droppedTrailers }
    func sentRequest(at url: URL) -> HTTPRequest? { RequestPreparation.parsed(sender.head)?.at(url) }
}

// MARK: - The connection

extension HTTPConnection {
    /// Begins to carry a request over the connection, which is open. The connection decides how.
    ///
    /// - Parameters:
    ///   - form: the request in the form for its recipient; nil if that of the fetch has it.
    ///   - host: the value of `Host`; nil for that of the origin at which the connection ends.
    ///   - preparation: what the carrier adds to the request.
    ///   - limits: the limits of the response.
    ///   - hasWaited: whether the request had to wait for the connection to open.
    func makeCarrier(
        of fetch: borrowing Fetch, as form: HTTPRequest?, host: String?, _ preparation: RequestPreparation,
        limits: HTTPLimits, hasWaited: Bool
    ) throws(StreamError) -> any HTTPCarrier {
        let host = host ?? key.origin.hostField
        let head =
            if let form {
                try preparation.prepare(
                    form, fetch.method, host: host, isBare: form.fields.isEmpty, body: fetch.body)
            } else {
                try preparation.prepare(
                    fetch.request, fetch.method, host: host, isBare: fetch.isBare, body: fetch.body)
            }
        switch line {
        case .http1(let link):
            link.accept(limits)
            return try HTTP1Exchange(
                head, fetch.method, fetch.body, on: self, link, keepsConnection: preparation.keepsConnection,
                offersSwitch: preparation.upgrade != nil, hasWaited: hasWaited)
        case .http2(let link):
            return try HTTP2Exchange(head, fetch.method, fetch.body, on: self, link, limits: limits)
        }
    }
}

/// A thread that waits for the response borrows the link.
extension HTTP1Link: CarrierInput {}
