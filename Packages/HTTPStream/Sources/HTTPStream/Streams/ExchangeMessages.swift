internal import EventLoops
@_spi(Packages) internal import HTTPMessage
internal import StreamKit

/// What has arrived while a request is sent, beside the ``RequestOutput`` that takes its bytes.
protocol ExchangeOutput: RequestOutput {
    /// Whose failure ends a write that fails: a request over HTTP/1.1 may still have its response then.
    var writeFailureSource: CarrierFailure.Source { get }

    /// Whether something has arrived that has to be looked at before more is sent.
    var hasArrivals: Bool { get }

    /// Whether the server does not want the rest of the request, although no response has arrived.
    var isRefused: Bool { get }
}

/// The request and the response of one exchange, without the connection that carries them: what a connection of HTTP/1.1 and a stream of
/// HTTP/2 decide alike.
///
/// It performs no I/O of its own. The request leaves through the output of the carrier, which gives it the heads that arrive, and
/// moves the bytes of the ``body``.
struct ExchangeMessages: ~Copyable, Sendable {
    /// The outcome of sending as much as possible.
    enum Sending {
        /// The request is complete, or the server does not want the rest.
        case done
        /// The body waits for 100 (Continue).
        case held
        case blocked(Need)
        /// Something has arrived: look at it before sending more.
        case answered
        /// The connection has failed, and nothing has arrived.
        case failed(StreamError)
    }

    /// What a head that has arrived begins.
    enum Beginning {
        /// Another head follows.
        case interim(HTTPResponse)
        /// The protocol that the request has offered.
        case otherProtocol
        /// The body of the final response, which is in ``ExchangeMessages/response``.
        case body(BodyFraming, HeadVerdict)
    }

    private var machine = ExchangeMachine(.client)
    private(set) var sender: RequestSender
    /// The body of the response, which the carrier begins.
    var body = ResponseBody()
    /// The head of the final response.
    private(set) var response: HTTPResponse?

    /// - Parameters:
    ///   - head: the head of the request, without the bytes that the carrier sends itself.
    ///   - bodyFraming: how a body of unknown length is framed.
    ///   - keepsConnection: whether the request permits another one on the connection.
    ///   - offersSwitch: whether the request offers to switch to another protocol.
    ///   - loop: the loop of the body's stream.
    init(
        _ head: consuming RequestPreparation.Head, _ method: HTTPMethod, _ body: HTTPBody?,
        bodyFraming: BodySender.Framing = .chunks, keepsConnection: Bool = true, offersSwitch: Bool = false,
        loop: @autoclosure () -> EventLoop
    ) throws(StreamError) {
        var framing = BodyFraming.none
        if case .some = body { framing = head.bodyFraming }
        do throws(HTTPMessageError) {
            try machine.beginRequest(
                method, framing: framing, expectsContinue: head.expectsContinue, isPersistent: keepsConnection,
                offersSwitch: offersSwitch)
        } catch {
            throw StreamError(error)
        }
        sender = RequestSender(head, body, framing: bodyFraming, loop: loop())
    }

    // MARK: The request

    /// Sends as much as possible.
    mutating func send(
        to output: some ExchangeOutput, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> Sending {
        while true {
            if output.isRefused {
                stop(&deferred)
                return .done
            }
            let progress: RequestSender.Progress
            do throws(StreamError) {
                progress = try sender.advance(output)
            } catch {
                throw CarrierFailure(error, of: .caller)
            }
            switch progress {
            case .done:
                try endRequest()
                stop(&deferred)
                return .done
            case .awaitsContinue: return .held
            case .failed(let error):
                if output.hasArrivals { return .answered }
                if case .caller = output.writeFailureSource { throw CarrierFailure(error, of: .caller) }
                return .failed(error)
            case .sentPiece: if output.hasArrivals { return .answered }
            case .connectionBlocks: return output.hasArrivals ? .answered : .blocked(.room)
            case .sourceBlocks: return output.hasArrivals ? .answered : .blocked(.source)
            case .turnEnds: return .blocked(.turn)
            case .needsReading:
                deferred.bodyReading = sender.beginBodyReading()
                return .blocked(.bodyReading)
            case .isReadingBody: return output.hasArrivals ? .answered : .blocked(.bodyReading)
            }
        }
    }

    /// Continues to send when nothing can be read. Returns what the exchange needs; nil if another read may succeed.
    mutating func sendInsteadOfReading(
        to output: some ExchangeOutput, _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> Need? {
        if machine.request == .held { return .permission }
        if sender.isDone { return .input }
        switch try send(to: output, &deferred) {
        case .done: return .input
        case .held: return .permission
        case .blocked(let need): return need
        case .answered: return nil
        case .failed:
            stop(&deferred)  // the response that arrived before is valid
            return nil
        }
    }

    /// Allows a body that waits for 100 (Continue) to be sent.
    ///
    /// - Parameter loop: the loop of the body's stream.
    mutating func permitBody(_ loop: EventLoop) {
        machine.permitBody()
        sender.permitBody(loop)
    }

    /// Stops sending. The response can still be received.
    mutating func stop(_ deferred: inout DeferredActions) {
        machine.abandonRequest()
        if let source = sender.stop() { deferred.add(.closeBody(source)) }
    }

    private mutating func endRequest() throws(CarrierFailure) {
        guard machine.request == .body else { return }
        do throws(HTTPMessageError) { try machine.endRequest() } catch { throw CarrierFailure(error) }
    }

    /// Whether the request was complete when it began.
    var hasNoRequestBody: Bool { machine.request == .done }

    /// Whether the body of the request waits for 100 (Continue).
    var isHeld: Bool { machine.request == .held }

    /// Whether the request may be sent again after a failure of the connection on which it was sent.
    var mayRepeatRequest: Bool { machine.mayRepeatRequest(isSent: sender.bytesSent > 0) }

    // MARK: The response

    /// Takes a head that has arrived.
    ///
    /// - Parameters:
    ///   - leniency: the tolerated deviations in the framing fields.
    ///   - loop: the loop of the stream of the request's body, which a 100 (Continue) permits.
    mutating func receive(
        _ head: consuming HTTPResponse, leniency: HTTPLeniency, _ loop: @autoclosure () -> EventLoop,
        _ deferred: inout DeferredActions
    ) throws(CarrierFailure) -> Beginning {
        let status = head.status
        let verdict = verdict(on: status)
        switch try begin(head, leniency) {
        case .interim: return .interim(head)
        case .continueRequest:
            permitBody(loop())
            return .interim(head)
        case .switchProtocol:
            response = head
            return .otherProtocol
        case .body(let framing, let stopsRequest):
            if let coding = head.furtherTransferCoding(framing) {
                throw CarrierFailure(.transferCoded(coding), of: .server)
            }
            machine.endPersistence(ifRefused: status, after: sender.bodyBytesSent)
            if stopsRequest { stop(&deferred) }
            response = head
            return .body(framing, verdict)
        }
    }

    /// Takes the head that lets the stream of the request carry another protocol.
    mutating func acceptTunnel(_ head: HTTPResponse) { response = head }

    /// What the status of a response that has not been reported yet means for the request.
    private func verdict(on status: HTTPStatus) -> HeadVerdict {
        if machine.isExpectationRefused(by: status) { return .refusesExpectation }
        return machine.hasCrossed(status) ? .crossed : .answer
    }

    private mutating func begin(
        _ head: borrowing HTTPResponse, _ leniency: HTTPLeniency
    ) throws(CarrierFailure) -> ExchangeMachine.ResponseAction {
        do throws(HTTPMessageError) {
            return try machine.beginResponse(
                head, leniency: leniency, offering: RequestPreparation.offeredProtocol(in: sender.head))
        } catch {
            switch error.code {
            // A switch to a protocol that the request has not offered.
            case .outOfOrder:
                throw CarrierFailure(.switchedProtocols(head.fields[.upgrade] ?? "another protocol"), of: .server)
            case .tooManyInterimResponses:
                throw CarrierFailure(.tooManyInterim(HTTPLimits.interimResponses), of: .server)
            default: throw CarrierFailure(error)
            }
        }
    }

    /// Removes the content coding of the ``response`` from here on.
    mutating func decodeContent(limit: Int64) {
        if let response { body.decodeContent(of: response, limit: limit) }
    }

    /// Reports that the response is complete.
    mutating func endResponse() throws(CarrierFailure) {
        do throws(HTTPMessageError) { try machine.endResponse() } catch { throw CarrierFailure(error) }
    }

    /// Whether a response has begun.
    var hasBegunResponse: Bool { machine.response != .expected || machine.interimCount > 0 }

    /// Whether a body is being received.
    var isReceivingBody: Bool { machine.response == .body }

    /// Whether both messages are complete, and permit another exchange.
    var isReusable: Bool { machine.outcome == .reusable }
}
