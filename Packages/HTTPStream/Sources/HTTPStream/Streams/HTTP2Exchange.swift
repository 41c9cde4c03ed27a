internal import EventLoops
internal import FoundationEssentials
internal import HTTP2
internal import HTTPMessage
internal import StreamKit

/// One request and its response on a stream of HTTP/2.
///
/// Theory of operation. The ``HTTP2Link`` has the frames and the windows, the ``RequestSender`` pulls the body of the request from its stream,
/// and the ``ResponseBody`` removes the content coding. The `ExchangeMachine` knows the states of both messages.
final class HTTP2Exchange: HTTPCarrier, @unchecked Sendable {
    // Unchecked: it belongs to one load, which uses it under its lock.

    private enum Phase {
        /// The request has not been given to the link.
        case prepared(HTTP2Request)
        /// The request waits until the server allows another stream.
        case queued
        /// The request is sent before a response is looked for.
        case sending
        /// The response is received; the rest of the request is sent meanwhile.
        case receiving
        /// The load has no use for the stream any more.
        case over
    }

    private let line: HTTPConnection
    private let link: HTTP2Link
    private let stream: HTTP2Stream
    private let request: HTTPRequest
    private let method: HTTPMethod
    private let limits: HTTPLimits
    private var phase: Phase
    private(set) var response: HTTPResponse?
    private var machine = ExchangeMachine(.client)
    private var sender: RequestSender
    private var body = ResponseBody()
    /// Coded bytes of the response that have not been decoded.
    private var coded: ReceiveBuffer?
    /// The length of the body that the head declares.
    private var declaredLength: Int64?
    private(set) var trailers = HTTPFields()
    private(set) var repetition = Repetition.none

    /// - Parameters:
    ///   - head: the head of the request, in the form of HTTP/1.1.
    ///   - connection: the connection whose link is `link`.
    ///   - limits: the limits of the response.
    init(
        _ head: RequestPreparation.Head, _ method: HTTPMethod, _ body: HTTPBody?, on connection: HTTPConnection,
        _ link: HTTP2Link, limits: HTTPLimits
    ) throws(StreamError) {
        line = connection
        self.link = link
        self.limits = limits
        self.method = method
        stream = HTTP2Stream(loop: link.pair.input.waitPoint.loop)
        // The rules of the fields are written once, for the bytes of HTTP/1.1.
        request = try RequestPreparation.requestWithoutConnectionFields(of: head.bytes)
        phase = .prepared(HTTP2Request(request, scheme: connection.isSecure ? "https" : "http"))
        // The link sends the head.
        var rest = head
        rest.bytes = []
        sender = RequestSender(rest, body, framing: .none, loop: link.pair.input.waitPoint.loop)
        var framing = BodyFraming.none
        if case .some = body { framing = head.bodyLength.map { .length($0) } ?? .chunked }
        do throws(HTTPMessageError) {
            try machine.beginRequest(method, framing: framing, expectsContinue: head.expectsContinue)
        } catch {
            throw StreamError(error)
        }
    }
}

// MARK: - Up to the head

extension HTTP2Exchange {
    func advance(_ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        switch phase {
        case .prepared(let request):
            try perform { () throws(HTTP2LinkFailure) in
                try link.send(request, endsHere: machine.request == .done, as: stream)
            }
            phase = .queued
            return try open()
        case .queued: return try open()
        case .sending: return try send(&deferred)
        case .receiving: return try receiveHead(&deferred)
        case .over: throw CarrierFailure(.closed, of: .connection)
        }
    }

    private func open() throws(CarrierFailure) -> HeadStep {
        guard try perform({ () throws(HTTP2LinkFailure) in try link.isOpen(stream) }) else { return .needs(.standby) }
        phase = machine.request == .done ? .receiving : .sending
        // A body follows in the next step.
        return .sent(justNow: false)
    }

    private func send(_ deferred: inout DeferredActions) throws(CarrierFailure) -> HeadStep {
        switch try sendMore(&deferred) {
        case .blocked(let need): return .needs(need)
        case .answered, .held, .done:
            phase = .receiving
            return .sent(justNow: false)
        }
    }

    /// The outcome of sending as much as possible.
    private enum Sending {
        case done
        case held
        case blocked(Need)
        /// Something has arrived: look at it before sending more.
        case answered
    }

    private func sendMore(_ deferred: inout DeferredActions) throws(CarrierFailure) -> Sending {
        while true {
            switch link.withStream(stream, { $0.arrival }) {
            case .nothing: break
            case .arrived: return .answered
            case .sendingStopped:
                stop(&deferred)
                return .done
            }
            let progress: RequestSender.Progress
            do throws(StreamError) {
                progress = try sender.advance(HTTP2BodyOutput(link: link, stream: stream))
            } catch {
                throw CarrierFailure(error, of: .caller)
            }
            switch progress {
            case .done:
                if let blocked = end() { return blocked }
                try conclude { (machine) throws(HTTPMessageError) in
                    if machine.request == .body { try machine.endRequest() }
                }
                stop(&deferred)
                return .done
            case .awaitsContinue: return .held
            case .failed(let error):
                if case .nothing = link.withStream(stream, { $0.arrival }) { throw CarrierFailure(error, of: .caller) }
                return .answered
            case .sentPiece: continue
            case .connectionBlocks: return .blocked(.room)
            case .sourceBlocks: return .blocked(.source)
            case .turnEnds: return .blocked(.turn)
            case .needsReading:
                deferred.bodyReading = sender.beginBodyReading()
                return .blocked(.bodyReading)
            case .isReadingBody: return .blocked(.bodyReading)
            }
        }
    }

    /// Ends a request whose last bytes were not known to be the last. Returns why that has to wait.
    private func end() -> Sending? {
        if link.withStream(stream, { $0.isRequestEnded }) { return nil }
        do throws(HTTP2LinkFailure) {
            return try link.send(RawSpan(), endsHere: true, on: stream) == nil ? .blocked(.room) : nil
        } catch {
            return .answered
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
        if machine.request == .held { return .permission }
        if sender.isDone { return .input }
        switch try sendMore(&deferred) {
        case .done: return .input
        case .held: return .permission
        case .blocked(let need): return need
        case .answered: return nil
        }
    }

    private func receive(
        _ head: consuming HTTPResponse, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> HeadStep {
        let isRefusal = machine.isExpectationRefused(by: head.status)
        let action: ExchangeMachine.ResponseAction
        do throws(HTTPMessageError) {
            action = try machine.beginResponse(head)
        } catch {
            throw CarrierFailure(StreamError(error), of: .server)
        }
        switch action {
        case .interim: return .interim(head)
        case .continueRequest:
            permitBody()
            return .interim(head)
        case .switchProtocol: throw CarrierFailure(.switchedProtocols("another protocol"), of: .server)
        case .body(let framing, let stopsRequest):
            // The end of the stream is the end of the body, whose length the link checks.
            body = ResponseBody(framing == .none ? .none : .untilClose, limits: limits)
            if case .length(let length) = framing { declaredLength = length }
            if stopsRequest { stop(&deferred) }
            response = head
            return .head(isRefusal ? .refusesExpectation : .answer)
        }
    }

    func permitBody() {
        machine.permitBody()
        sender.permitBody(link.pair.input.waitPoint.loop)
    }

    func stop(_ deferred: inout DeferredActions) {
        machine.abandonRequest()
        if let source = sender.stop() { deferred.add(.closeBody(source)) }
    }

    func abandon(_ deferred: inout DeferredActions) {
        stop(&deferred)
        leave()
    }

    private func leave() {
        if isOver { return }
        trailers = link.withStream(stream) { $0.trailers }
        link.close(stream)
        phase = .over
    }

    func takeSwitched(_ deferred: inout DeferredActions) -> [UInt8] { [] }
}

// MARK: - The body

extension HTTP2Exchange {
    func decodeContent(limit: Int64) {
        guard let response else { return }
        body.decodeContent(of: response, limit: limit)
        if body.isCoded { coded = ReceiveBuffer(capacity: HTTP1Link.bufferSize) }
    }

    func read(
        into target: inout MutableRawSpan, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> BodyStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        if body.isCoded {
            let step = try prepareDecoded(&deferred)
            guard case .payload = step else { return step }
            return .payload(body.readDecoded(into: &target))
        }
        while true {
            let outcome = try perform { () throws(HTTP2LinkFailure) in try link.read(stream, into: &target) }
            switch outcome {
            case .bytes(let count):
                try changeBody { (body) throws(StreamError) in try body.advance(count) }
                return .payload(count)
            case .blocked: if let need = try needForInput(&deferred) { return .needs(need) }
            case .ended: return try end()
            case .reset(let failure): throw self.failure(failure)
            }
        }
    }

    func peek(_ deferred: inout DeferredActions) throws(CarrierFailure) -> BodyStep {
        if isOver { throw CarrierFailure(.closed, of: .connection) }
        if body.isCoded { return try prepareDecoded(&deferred) }
        while true {
            let (isReadable, hasEnded, failure) = link.withStream(stream) { ($0.isReadable, $0.hasEnded, $0.failure) }
            if isReadable { return .payload(1) }
            if hasEnded { return try end() }
            if let failure { throw self.failure(failure) }
            if let need = try needForInput(&deferred) { return .needs(need) }
        }
    }

    /// Decodes until there are bytes to read, or the turn's budget is used up: a server can send any amount of data that decodes to nothing.
    private func prepareDecoded(_ deferred: inout DeferredActions) throws(CarrierFailure) -> BodyStep {
        var budget = HTTP1Exchange.bytesPerTurn
        while true {
            if body.hasDecodedBytes { return .payload(1) }
            if budget <= 0 { return .needs(.turn) }
            if let count = coded?.count, count > 0 {
                try changeBody { (body) throws(StreamError) in budget -= try body.decode(count, from: &coded!) }
            } else if body.isComplete {
                var cost: Int?
                try changeBody { (body) throws(StreamError) in cost = try body.finishDecoding() }
                guard let cost else { return try end() }
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
            try changeBody { (body) throws(StreamError) in try body.receiveEnd() }
            return nil
        case .reset(let failure): throw self.failure(failure)
        }
    }

    func endIfComplete() throws(CarrierFailure) -> BodyStep? {
        if body.isCoded || isOver { return nil }
        return link.withStream(stream) { $0.hasEnded && !$0.isReadable } ? try end() : nil
    }

    /// Ends the exchange: the response is complete.
    private func end() throws(CarrierFailure) -> BodyStep {
        try conclude { (machine) throws(HTTPMessageError) in
            if machine.response == .body { try machine.endResponse() }
        }
        leave()
        // Giving up the connection closes the source of a request that goes on.
        return .ended(line, isReusable: sender.isDone)
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
        var error = StreamError.http2(failure)
        if case .connection = failure.cause, let lost = link.error, lost != .closed { error = lost }
        if failure.requiresHTTP11 {
            repetition = .overHTTP1
        } else if case .goAway(let goAway) = failure.cause, goAway.code == .noError, goAway.lastStream != .connection {
            repetition = .elsewhere
        } else if failure.processing == .notProcessed {
            repetition = failure.code == .refusedStream ? .afterPause : .again
        } else if case .connection = failure.cause, line.isReused || link.hasAnswered, response == nil,
            machine.interimCount == 0,
            method.isIdempotent
        {
            // The server may have closed the connection while it was idle.
            repetition = .again
        } else {
            return CarrierFailure(error, of: .server)
        }
        return CarrierFailure(error, of: .connection)
    }

    private func changeBody(_ change: (inout ResponseBody) throws(StreamError) -> Void) throws(CarrierFailure) {
        do throws(StreamError) { try change(&body) } catch { throw CarrierFailure(error, of: .server) }
    }

    private func conclude(
        _ report: (inout ExchangeMachine) throws(HTTPMessageError) -> Void
    ) throws(CarrierFailure) {
        do throws(HTTPMessageError) { try report(&machine) } catch {
            throw CarrierFailure(StreamError(error), of: .server)
        }
    }
}

// MARK: - Waiting and facts

extension HTTP2Exchange {
    private var isOver: Bool { if case .over = phase { true } else { false } }

    var connection: HTTPConnection? { isOver ? nil : line }
    var waitPoint: WaitPoint? { isOver ? nil : stream.point }
    var sourcePoint: WaitPoint? { sender.sourcePoint }
    var isReadingBody: Bool { sender.isReadingBody }
    /// The loop reads for all streams of the connection.
    var input: (any CarrierInput)? { nil }
    var fillsBuffer: Bool { false }

    var streamPlace: StreamPlace? { link.place(of: stream) }
    var queueProgress: Int { link.sentCount }

    var isSending: Bool {
        switch phase {
        case .prepared, .queued, .sending: true
        case .receiving, .over: false
        }
    }

    /// Of a head, the connection counts none: frames of all streams are written together.
    var bytesSent: Int {
        switch phase {
        case .prepared, .queued: 0
        case .sending, .receiving, .over: 1 + sender.bytesSent
        }
    }
    var bodyBytesSent: Int64 { sender.bodyBytesSent }
    var hasBegunRequestBody: Bool { machine.request != .held && bytesSent > 0 }
    var hasReceived: Bool { response != nil || machine.interimCount > 0 }
    var lastRead: Moment { .now }

    var endsByItself: Bool { true }
    var isDecoding: Bool { body.isCoded }
    var bodyLength: Int64? { body.isCoded ? nil : body.length ?? declaredLength }
    var droppedTrailers: HTTPFields { HTTPFields() }

    func sentRequest(at url: URL) -> HTTPRequest? { request.at(url, version: .http20) }
}

/// The stream, as the output of a request's body.
private struct HTTP2BodyOutput: RequestOutput {
    let link: HTTP2Link
    let stream: HTTP2Stream

    func tryWrite(_ bytes: RawSpan, isLast: Bool) throws(StreamError) -> Int? {
        do throws(HTTP2LinkFailure) {
            return try link.send(bytes, endsHere: isLast, on: stream)
        } catch {
            // The exchange looks at the stream first.
            if case .protocolError(let error) = error { throw .http2(error) }
            throw .closed
        }
    }

    /// Frames are written by the link.
    func tryFlush() -> Bool { true }
}
