internal import EventLoops
internal import HTTP2
internal import HTTPMessage
internal import HostResolver
internal import StreamKit

/// One request of HTTP/2 and its response, on the stream that carries them.
final class HTTP2ServerCarrier: ServerCarrier {
    /// The longest piece of a request's body.
    private static let maximumPiece = 16 * 1024

    private enum Response {
        case none
        /// The head has been made, but not sent.
        case made(HTTPResponse, hasBody: Bool)
        case begun
        case ended
        /// The stream carries another protocol.
        case switched(StreamPair)
    }

    let request: HTTPRequest
    var isClientGone = false
    private(set) var refusal: RequestRefusal?

    private let link: HTTP2ServerLink
    private let stream: HTTP2ServerStream
    private var response = Response.none
    /// Whether the client waits for a 100 (Continue) before it sends the body.
    private var needsContinue: Bool
    /// The number of bytes of the body that have been read.
    private var readCount: Int64 = 0
    private var requestPace: BodyPace
    private var responsePace: BodyPace

    init(_ stream: HTTP2ServerStream, on link: HTTP2ServerLink) {
        self.stream = stream
        self.link = link
        request = stream.request.offering
        let configuration = link.context.configuration
        requestPace = BodyPace(limit: configuration.bodyTimeout, rate: configuration.minimumBodyRate)
        responsePace = BodyPace(limit: configuration.writeTimeout, rate: configuration.minimumResponseRate)
        needsContinue = request.fields.contains(.expect)
        do throws(RequestRefusal) {
            try IncomingRequest.check(stream.request, configuration)
        } catch {
            refusal = error
        }
    }

    var context: ServerContext { link.context }
    var pair: StreamPair { link.pair }
    var observedAddress: SocketAddress? { link.observedAddress }
    var task: ExchangeTask { stream.task }
    var trailers: HTTPFields { link.withStream(stream) { $0.trailers } }

    // MARK: The request's body

    func readBody(upTo limit: Int) async throws(StreamError) -> [UInt8] {
        if let refusal { throw .requestRefused(refusal.status, underlying: refusal.error) }
        // What the client sends is the other protocol.
        if stream.asksForSwitch { return [] }
        while true {
            if link.loop.isShareSpent { await Task.yield() }
            if let piece = try takePiece(upTo: min(max(1, limit), HTTP2ServerCarrier.maximumPiece)) { return piece }
            if needsContinue {
                needsContinue = false
                if case .none = response { try sendContinue() }
            }
            do throws(StreamError) {
                let limit = requestPace.allowance
                guard limit > .zero else { throw .timedOut }
                let start = Moment.now
                link.setAwaitsRequest(true, of: stream)
                try await link.wait(stream, within: limit)
                requestPace.note(0, after: start.duration(to: .now))
            } catch {
                if let refusal = RequestRefusal(after: error, hasBegun: true) {
                    refuse(refusal)
                } else {
                    isClientGone = true
                }
                throw error
            }
            // A byte now and then must not keep the connection: its wait continues until the client is fast enough.
            if !requestPace.isBehind { link.setAwaitsRequest(false, of: stream) }
        }
    }

    /// Takes a piece of what has arrived, empty at the end; nil if there is nothing yet.
    private func takePiece(upTo limit: Int) throws(StreamError) -> [UInt8]? {
        // Without memory, which hundreds of requests would have while they wait.
        var piece: [UInt8] = []
        var outcome = try read(into: &piece)
        if case .bytes = outcome {
            piece = [UInt8](repeating: 0, count: limit)
            outcome = try read(into: &piece)
        }
        switch outcome {
        case .blocked: return nil
        case .ended: return []
        case .bytes(let count):
            needsContinue = false
            readCount += Int64(count)
            requestPace.note(count, after: .zero)
            if readCount > context.configuration.limits.bodyLength {
                let error = HTTPMessageError(.bodyTooLong)
                let refusal = RequestRefusal(error)
                refuse(refusal)
                throw .requestRefused(refusal.status, underlying: error)
            }
            return count == limit ? piece : Array(piece[..<count])
        case .reset(let failure):
            isClientGone = true
            throw .clientGone(failure)
        }
    }

    private func read(into piece: inout [UInt8]) throws(StreamError) -> HTTP2ReadOutcome {
        do throws(HTTP2Error) {
            var span = piece.mutableSpan
            var target = span.mutableBytes
            return try link.read(stream, into: &target)
        } catch {
            throw noteFailure(error)
        }
    }

    private func sendContinue() throws(StreamError) {
        let head: HTTPResponse
        do throws(HTTPMessageError) { head = try HTTPResponse(status: 100) } catch { throw StreamError(error) }
        try respond(head, endsHere: false)
    }

    func refuse(_ refusal: RequestRefusal) { self.refusal = refusal }

    // MARK: The response

    func makeHead(_ response: HTTPResponse, length: Int64?) throws(StreamError) -> ResponsePlan.Body {
        if stream.asksForSwitch, response.status.kind == .successful {
            refuse(RequestRefusal(.notImplemented))
            throw .acceptsProtocol(response.status)
        }
        let content = try ResponseContent(of: response, length: length, to: request.method)
        var head = response
        head.fields.removeConnectionFields()
        do throws(HTTPMessageError) {
            if let length = content.lengthToAdd { try head.fields.set("\(length)", for: .contentLength) }
            if !head.fields.contains(.date) { try head.fields.set(rawValue: context.date.now, for: .date) }
        } catch {
            throw StreamError(error)
        }
        let body = content.body ?? .untilStreamEnds
        // Before the response counts as begun.
        do throws(HTTP2Error) {
            try link.check(head, on: stream, endsHere: body == .none)
        } catch {
            throw noteFailure(error)
        }
        self.response = .made(head, hasBody: body != .none)
        return body
    }

    func sendHead() async throws(StreamError) {
        if case .made(_, let hasBody) = response { try sendHead(endsHere: !hasBody) }
    }

    func sendWhole(_ bytes: [UInt8]) async throws(StreamError) {
        try sendHead(endsHere: bytes.isEmpty)
        if !bytes.isEmpty { try await send(bytes, endsHere: true) }
    }

    func send(_ piece: [UInt8]) async throws(StreamError) {
        try await send(piece, endsHere: false)
    }

    func endResponse(_ trailers: HTTPFields) async throws(StreamError) {
        guard case .begun = response else { return }
        if trailers.isEmpty { return try await send([], endsHere: true) }
        do throws(HTTP2Error) { try link.sendTrailers(trailers, on: stream) } catch { throw noteFailure(error) }
        response = .ended
    }

    private func sendHead(endsHere: Bool) throws(StreamError) {
        guard case .made(let head, _) = response else { return }
        try respond(head, endsHere: endsHere)
        response = endsHere ? .ended : .begun
    }

    private func respond(_ head: HTTPResponse, endsHere: Bool) throws(StreamError) {
        do throws(HTTP2Error) {
            try link.respond(stream, head, endsHere: endsHere)
        } catch {
            throw noteFailure(error)
        }
    }

    /// Sends a part of the body, unless the client receives it too slowly.
    private func send(_ bytes: [UInt8], endsHere: Bool) async throws(StreamError) {
        var sent = 0
        while true {
            if link.loop.isShareSpent { await Task.yield() }
            let outcome: HTTP2SendOutcome
            do throws(HTTP2Error) {
                outcome = try link.send(
                    bytes.span.bytes.extracting(droppingFirst: sent), endsHere: endsHere, on: stream)
            } catch {
                throw noteFailure(error)
            }
            sent += outcome.count
            responsePace.note(outcome.count, after: .zero)
            if outcome.isComplete {
                if endsHere { response = .ended }
                return
            }
            do throws(StreamError) {
                try await waitToSend { [link, stream] (limit) async throws(StreamError) in
                    try await link.wait(stream, within: limit)
                }
            } catch {
                link.endTurn(of: stream)
                // What has been sent of the piece is unknown to the handler.
                isClientGone = true
                throw error
            }
        }
    }

    /// Waits until more of the body can be sent. A share of what the connection writes meanwhile counts as sent: the client may be reading other
    /// responses.
    ///
    /// - Parameter wait: waits for the stream, at most for the time given.
    func waitToSend(_ wait: (Duration) async throws(StreamError) -> Void) async throws(StreamError) {
        let limit = responsePace.allowance
        guard limit > .zero else { throw .timedOut }
        let (start, before) = (Moment.now, link.progress.written)
        var failure: StreamError?
        do throws(StreamError) { try await wait(limit) } catch { failure = error }
        let (written, streams) = link.progress
        let share = (written - before) / max(1, streams)
        responsePace.note(share, after: start.duration(to: .now))
        if let failure, failure != .timedOut || share == 0 { throw failure }
    }

    /// The error of a call whose stream has ended, or that HTTP/2 cannot carry.
    private func noteFailure(_ error: HTTP2Error) -> StreamError {
        if error.fault == .caller, error.scope == .call { return .unsendable("\(error)") }
        isClientGone = true
        return .http2(error)
    }

    // MARK: Other protocols

    func requireOffer(of protocolName: String) throws(StreamError) {
        if stream.asksForSwitch, request.offers(protocolName) { return }
        throw .unsendable("the request does not offer to switch to \(protocolName) (RFC 8441 §4)")
    }

    func switchProtocols(
        to protocolName: String, _ fields: HTTPFields, willSend: (HTTPStatus) -> Void
    ) async throws(StreamError) -> HTTPUpgradedConnection {
        var head: HTTPResponse
        do throws(HTTPMessageError) {
            head = try HTTPResponse(status: .ok)
            head.fields = fields
            head.fields.removeConnectionFields()
            try head.fields.set(rawValue: context.date.now, for: .date)
        } catch {
            throw StreamError(error)
        }
        try respond(head, endsHere: false)
        let tunnel = HTTP2Tunnel.streams(HTTP2ServerTunnelEnd(link: link, stream: stream))
        response = .switched(tunnel)
        link.changeCore { [stream] _ in stream.isSwitched = true }
        willSend(.ok)
        task.leaveToHandler()
        // The client may have ended its part already.
        if link.withStream(stream, { $0.hasEnded }) { task.noteEndOfSwitched() }
        return HTTPUpgradedConnection(pair: tunnel, received: [])
    }

    /// Each stream with another protocol takes as much as a connection does.
    func takePermit() -> LongLivedLimit.Permit? {
        stream.asksForSwitch ? context.longLived.permit() : link.takePermit()
    }

    // MARK: Ends

    func respond(with refusal: RequestRefusal) async -> Bool {
        do {
            var head = try HTTPResponse(status: refusal.status)
            try head.fields.set("text/plain", for: .contentType)
            let text = Array(refusal.text.utf8)
            if try makeHead(head, length: Int64(text.count)) == .none {
                try await sendHead()
            } else {
                try await sendWhole(text)
            }
            return true
        } catch {
            return false
        }
    }

    func end() async -> Bool { true }

    func close(isComplete: Bool) async {
        if case .switched(let tunnel) = response { tunnel.close() }
        link.close(stream, isComplete || isClientGone ? nil : .internalError)
    }

    func abandon() { link.close(stream, .internalError) }
}

extension HTTP2Request {
    /// The head, with the fields in which a request of HTTP/1.1 offers a protocol. A client of HTTP/2 cannot send them (RFC 9113 §8.2.2).
    fileprivate var offering: HTTPRequest {
        guard let connectProtocol else { return head }
        var request = head
        // A name that is no value of a field is not offered.
        try? request.fields.set(connectProtocol, for: .upgrade)
        try? request.fields.set("Upgrade", for: .connection)
        return request
    }
}
