internal import EventLoops
internal import HTTPMessage
internal import StreamKit

/// One request and its response on one HTTP/1.1 connection.
///
/// Theory of operation. The ``RequestSender`` sends bytes, the ``HTTP1Link`` receives them, the ``ResponseBody`` removes framing and
/// coding, and the `ExchangeMachine` knows the states of both messages. The exchange carries bytes between them, and decides only
/// whether to send or to receive next (``Turn``).
///
/// A class, made for each request: Swift cannot change the payload of an enum in place, and a load's state is an enum.
final class HTTP1Exchange: HTTPCarrier, @unchecked Sendable {
    // Unchecked: it belongs to one load, which uses it under its lock.

    private enum Turn {
        /// The request is sent before anything is received.
        case sending(hasWaited: Bool)
        /// The response is received; the rest of the request, such as a body that waited for 100 (Continue), is sent meanwhile.
        case receiving
    }

    /// The most bytes of a coded body that one step decodes without output before other work of the loop runs.
    static let turnBudget = 64 * 1024

    /// The most pieces of a body that one step sends before other work of the loop runs: 1 MiB.
    static let piecesPerTurn = 16

    /// The connection, of which the exchange uses only the ``link``; nil once another request may use it.
    @exclusivity(unchecked) private(set) var connection: HTTPConnection?
    private let link: HTTP1Link
    @exclusivity(unchecked) private(set) var response: HTTPResponse?
    @exclusivity(unchecked) private var turn: Turn
    /// The number of body pieces sent since the last wait.
    @exclusivity(unchecked) private var piecesInTurn = 0
    @exclusivity(unchecked) private var machine = ExchangeMachine(.client)
    @exclusivity(unchecked) private var sender: RequestSender
    @exclusivity(unchecked) private var body = ResponseBody()
    /// The protocol to which the request offers to switch; nil for none.
    private let upgrade: String?

    /// - Parameters:
    ///   - connection: the open connection.
    ///   - keepsConnection: whether the request permits another one on the connection.
    ///   - upgrade: the protocol to which the request offers to switch; nil for none.
    ///   - hasWaited: whether the request had to wait for the connection to open.
    init(
        _ head: consuming RequestPreparation.Head, _ method: HTTPMethod, _ body: HTTPBody?,
        on connection: HTTPConnection,
        keepsConnection: Bool, upgrade: String? = nil, hasWaited: Bool
    ) throws(StreamError) {
        var framing = BodyFraming.none
        if case .some = body { framing = head.bodyLength.map { .length($0) } ?? .chunked }
        self.upgrade = upgrade
        turn = .sending(hasWaited: hasWaited)
        do throws(HTTPMessageError) {
            try machine.beginRequest(
                method, framing: framing, expectsContinue: head.expectsContinue, isPersistent: keepsConnection,
                offersSwitch: upgrade != nil)
        } catch {
            throw StreamError(error)
        }
        sender = RequestSender(head, body, loop: connection.pair.input.waitPoint.loop)
        self.connection = connection
        link = connection.link
    }
}

// MARK: - Up to the head

extension HTTP1Exchange {
    func advance(_ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        guard case .sending(let hasWaited) = turn else { return try receiveHead(&deferred) }
        switch try sendMore(&deferred) {
        case .blocked(let need):
            if need == .room { turn = .sending(hasWaited: true) }
            return .needs(need)
        case .failed(let error): throw CarrierFailure(error, of: .connection)
        case .answered, .held:
            turn = .receiving
            return .sent(justNow: false)
        case .done:
            turn = .receiving
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
            case .connectionBlocks:
                piecesInTurn = 0
                return link.pair.input.hasBytesAvailable ? .answered : .blocked(.room)
            case .sourceBlocks:
                piecesInTurn = 0
                return link.pair.input.hasBytesAvailable ? .answered : .blocked(.source)
            case .needsReading:
                if piecesInTurn == HTTP1Exchange.piecesPerTurn {
                    piecesInTurn = 0
                    return .blocked(.turn)
                }
                piecesInTurn += 1
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
        if sender.isHeld { return .permission }
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
        let refusesExpectation = machine.isExpectationRefused(by: status)
        switch try begin(head) {
        case .interim: return .interim(head)
        case .continueRequest:
            permitBody()
            return .interim(head)
        case .switchProtocol:
            guard let upgrade, ExchangeMachine.accepts(head, offering: upgrade) else { throw unexpectedSwitch(head) }
            response = head
            return .switched
        case .body(let framing, let stopsRequest):
            if let coding = head.furtherTransferCoding(framing) {
                throw CarrierFailure(.transferCoded(coding), of: .server)
            }
            body = ResponseBody(framing, limits: link.limits)
            machine.endPersistence(ifRefused: status, after: bodyBytesSent)
            // A refusal also ends a request whose head is still being sent, and has no effect on a complete one.
            if stopsRequest || status.code >= 300 { stop(&deferred) }
            response = head
            return .head(status, refusesExpectation: refusesExpectation)
        }
    }

    private func begin(_ head: borrowing HTTPResponse) throws(CarrierFailure) -> ExchangeMachine.ResponseAction {
        do throws(HTTPMessageError) {
            return try machine.beginResponse(head, leniency: .client)
        } catch {
            switch error.code {
            // A switch to a protocol that the request has not offered.
            case .outOfOrder: throw unexpectedSwitch(head)
            case .tooManyInterimResponses:
                throw CarrierFailure(.tooManyInterim(HTTPLimits.interimResponses), of: .server)
            default: throw CarrierFailure(StreamError(error), of: .server)
            }
        }
    }

    private func unexpectedSwitch(_ head: borrowing HTTPResponse) -> CarrierFailure {
        CarrierFailure(.switchedProtocols(head.fields[.upgrade] ?? "another protocol"), of: .server)
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
        connection = nil
    }

    func takeSwitched(_ deferred: inout DeferredActions) -> [UInt8] {
        guard case .some = connection.take() else { return [] }
        stop(&deferred)
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
                if let step = try receivePayload(into: &target, &deferred) { return step }
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

    /// Reads payload directly into the caller's memory. Returns nil to try again.
    private func receivePayload(
        into target: inout MutableRawSpan, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep? {
        let limit = Int(min(body.expectedPayloadCount, Int64(target.byteCount)))
        let count: Int?
        do throws(StreamError) {
            count = try link.read(into: &target, upTo: limit)
        } catch {
            throw CarrierFailure(error, of: .connection)
        }
        guard let count else { return try needForInput(&deferred).map { .needs($0) } }
        try changeBody { (body) throws(StreamError) in
            if count == 0 { try body.receiveEnd() } else { try body.advance(count) }
        }
        return count == 0 ? nil : .payload(count)
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
        var budget = HTTP1Exchange.turnBudget
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
        guard let connection = connection.take() else { throw CarrierFailure(.closed, of: .connection) }
        let isReusable = machine.outcome == .reusable && link.buffer.isEmpty
        return .ended(connection, isReusable: isReusable)
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
    /// Whether another request may use the connection.
    private var isOver: Bool { if case .some = connection { false } else { true } }

    var waitPoint: WaitPoint? { isOver ? nil : link.pair.input.waitPoint }
    var sourcePoint: WaitPoint? { sender.sourcePoint }
    var isReadingBody: Bool { sender.isReadingBody }
    var input: (any CarrierInput)? { isOver ? nil : link }

    /// Payload is read directly into the caller's memory, not into the buffer.
    var fillsBuffer: Bool { machine.response != .body || body.isCoded || body.expectedPayloadCount == 0 }

    var isSending: Bool { if case .sending = turn { true } else { false } }
    var bytesSent: Int { sender.bytesSent }
    var bodyBytesSent: Int64 { sender.bodyBytesSent }
    var hasBegunRequestBody: Bool { !sender.isHeld }
    var mayRepeat: Bool { !hasReceived && machine.mayRepeatRequest(isSent: sender.bytesSent > 0) }
    var lastRead: Moment { link.lastRead }

    var hasReceived: Bool {
        machine.response != .expected || machine.interimCount > 0 || !isOver && !link.buffer.isEmpty
    }

    var endsByItself: Bool { body.endsByItself }
    var isDecoding: Bool { body.isCoded }
    var bodyLength: Int64? { body.length }
    var trailers: HTTPFields { body.trailers }
    var droppedTrailers: HTTPFields { body.droppedTrailers }
    var sentHead: [UInt8] { sender.head }
}
