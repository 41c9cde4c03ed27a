internal import EventLoops
@_spi(Packages) internal import HTTPMessage
internal import HostResolver
@_spi(Packages) internal import StreamKit

/// One request of HTTP/1.1 and its response, on the connection that carries them.
final class HTTP1ServerCarrier: ServerCarrier {
    /// The longest body that is sent in one piece with its head, without the ``HTTPServer/Configuration/minimumResponseRate``.
    static let smallBody = 16 * 1024

    let incoming: IncomingRequest
    let task: ExchangeTask
    var isClientGone = false
    private(set) var refusal: RequestRefusal?

    private let connection: HTTP1ServerConnection
    private var decoder: BodyDecoder
    private var requestPace: BodyPace
    private var responsePace: BodyPace
    /// The states of the request and the response on the connection.
    private var exchange: ExchangeMachine
    /// What follows the head of the response.
    private var responseBody = ResponsePlan.Body.none
    /// Whether the client has received the last response on the connection, and may still send.
    private var lingers = false

    init(_ incoming: IncomingRequest, on connection: HTTP1ServerConnection) {
        self.incoming = incoming
        self.connection = connection
        task = connection.task
        let configuration = connection.context.configuration
        decoder = BodyDecoder(incoming.framing, limits: configuration.limits)
        requestPace = BodyPace(limit: configuration.bodyTimeout, rate: configuration.minimumBodyRate)
        responsePace = BodyPace(limit: configuration.writeTimeout, rate: configuration.minimumResponseRate)
        exchange = incoming.exchange
    }

    var context: ServerContext { connection.context }
    var pair: StreamPair { connection.pair }
    var observedAddress: SocketAddress? { connection.observedAddress }
    var request: HTTPRequest { incoming.request }
    var trailers: HTTPFields { decoder.trailers }

    // MARK: The request's body

    func readBody(upTo limit: Int) async throws(StreamError) -> [UInt8] {
        if let refusal { throw .requestRefused(refusal.status, underlying: refusal.error) }
        while true {
            if connection.countStep() { await Task.yield() }
            if let piece = try takePiece(upTo: max(1, limit)) {
                if decoder.isComplete { try endWait() }
                return piece
            }
            if exchange.needsContinue {
                exchange.permitBody()
                connection.outgoing = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
                try await sendOutput()
            }
            do throws(StreamError) {
                try await receive()
            } catch {
                if let refusal = RequestRefusal(after: error, hasBegun: true) {
                    refuse(refusal)
                } else {
                    isClientGone = true
                }
                throw error
            }
        }
    }

    private func receive() async throws(StreamError) {
        let limit = requestPace.allowance
        guard limit > .zero else { throw .timedOut }
        let start = Moment.now
        let count = try await connection.receive(within: limit)
        if count == 0 { throw .requestCutShort }
        requestPace.note(count, after: start.duration(to: .now))
        // A byte now and then must not keep the connection: its wait continues until the client is fast enough.
        if !requestPace.isBehind { try endWait() }
    }

    /// Ends the wait for the client, unless the connection was closed for another one.
    private func endWait() throws(StreamError) {
        if connection.change(to: .busy) { return }
        isClientGone = true
        throw .closed
    }

    /// Takes a piece from the buffer, empty at the end; nil if more bytes are needed.
    private func takePiece(upTo limit: Int) throws(StreamError) -> [UInt8]? {
        var position = 0
        do throws(HTTPMessageError) {
            let piece = try connection.buffer.withBytes { (bytes) throws(HTTPMessageError) -> [UInt8]? in
                switch try decoder.next(in: bytes, at: &position, upTo: limit) {
                case .needMore: nil
                case .end: []
                case .payload(let range): bytes.extracting(range).withUnsafeBytes { Array($0) }
                }
            }
            connection.buffer.remove(position)
            if position > 0, exchange.request == .held { try exchange.requestData() }
            if decoder.isComplete, exchange.request == .body { try exchange.endRequest() }
            return piece
        } catch {
            let refusal = RequestRefusal(error)
            refuse(refusal)
            throw .requestRefused(refusal.status, underlying: error)
        }
    }

    /// Ends the request: the response is the last one on the connection.
    func refuse(_ refusal: RequestRefusal) {
        self.refusal = refusal
        exchange.refuseRequest()
    }

    /// Reads the part of the body that the handler did not read, for a short time, if that can keep the connection.
    private func skipBody() async {
        let configuration = context.configuration
        var rest = configuration.unreadLength
        requestPace = BodyPace(
            limit: min(configuration.bodyTimeout, configuration.lingerTimeout), rate: configuration.minimumBodyRate)
        while exchange.outcome == .requestUnderway, rest > 0, let piece = try? await readBody(upTo: 65536) {
            rest -= Int64(piece.count)
        }
    }

    /// Whether the connection can be kept after the rest of the body has been read.
    private var mayKeepConnection: Bool {
        let configuration = context.configuration
        guard configuration.keepsConnections, refusal == nil, connection.client.mayBecomeIdle else { return false }
        return incoming.permitsAnother(exchange, after: decoder, unread: configuration.unreadLength)
    }

    // MARK: The response

    func makeHead(_ response: HTTPResponse, length: Int64?) throws(StreamError) -> ResponsePlan.Body {
        connection.outgoing.removeAll(keepingCapacity: true)
        let plan = try ResponsePlan(
            response, length: length, to: incoming, mayPersist: mayKeepConnection, date: context.date.now,
            into: &connection.outgoing)
        do throws(HTTPMessageError) {
            try exchange.beginResponse(response.status, framing: plan.framing, isPersistent: plan.keepsConnection)
        } catch {
            throw StreamError(error)
        }
        responseBody = plan.body
        return plan.body
    }

    func sendHead() async throws(StreamError) { try await sendOutput() }

    func sendWhole(_ bytes: [UInt8]) async throws(StreamError) {
        if bytes.count <= HTTP1ServerCarrier.smallBody {
            connection.outgoing += bytes
            try await sendOutput()
        } else {
            try await sendOutput()
            try await sendBody(bytes)
        }
    }

    func send(_ piece: [UInt8]) async throws(StreamError) {
        guard responseBody == .chunked else { return try await sendBody(piece) }
        connection.outgoing.removeAll(keepingCapacity: true)
        ChunkedEncoder.write(piece.span.bytes, into: &connection.outgoing)
        try await sendBody(connection.outgoing)
    }

    func endResponse(_ trailers: HTTPFields) async throws(StreamError) {
        switch responseBody {
        case .chunked:
            connection.outgoing.removeAll(keepingCapacity: true)
            do throws(HTTPMessageError) {
                try ChunkedEncoder.writeEnd(trailers: trailers, into: &connection.outgoing)
            } catch {
                throw StreamError(error)
            }
            try await sendOutput()
        case .length:
            if !trailers.isEmpty { throw .unsendable("trailers of HTTP/1.1 need a body of unknown length") }
        // A client of HTTP/1.0 knows no trailers.
        case .none, .untilClose, .untilStreamEnds: break
        }
        do throws(HTTPMessageError) { try exchange.endResponse() } catch { throw StreamError(error) }
    }

    private func sendOutput() async throws(StreamError) {
        do throws(StreamError) {
            try await connection.writeAll(connection.outgoing)
        } catch {
            isClientGone = true
            throw error
        }
    }

    /// Sends a part of the body, unless the client receives it too slowly.
    private func sendBody(_ bytes: [UInt8]) async throws(StreamError) {
        do throws(StreamError) {
            var sent = 0
            while sent < bytes.count {
                let limit = responsePace.allowance
                guard limit > .zero else { throw .timedOut }
                let start = Moment.now
                let count = try await connection.write(
                    bytes.span.bytes.extracting(droppingFirst: sent), within: limit)
                responsePace.note(count, after: start.duration(to: .now))
                sent += count
            }
        } catch {
            isClientGone = true
            throw error
        }
    }

    func requireOffer(of protocolName: String) throws(StreamError) {
        if exchange.request == .offered, request.offers(protocolName) { return }
        throw .unsendable("the request does not offer to switch to \(protocolName), or its body has not been read")
    }

    func switchProtocols(
        to protocolName: String, _ fields: HTTPFields, willSend: (HTTPStatus) -> Void
    ) async throws(StreamError) -> HTTPUpgradedConnection {
        do throws(HTTPMessageError) {
            var response = try HTTPResponse(status: .switchingProtocols)
            response.fields = fields
            try response.fields.set(protocolName, for: .upgrade)
            try response.fields.set("Upgrade", for: .connection)
            try response.fields.set(String(decoding: context.date.now, as: UTF8.self), for: .date)
            _ = try exchange.beginResponse(response.status, framing: .tunnel, isPersistent: true)
            connection.outgoing.removeAll(keepingCapacity: true)
            response.serializeOpenHead(into: &connection.outgoing)
            connection.outgoing += ChunkedEncoder.chunkEnd
        } catch {
            throw StreamError(error)
        }
        willSend(.switchingProtocols)
        try await sendOutput()
        connection.task.leaveToHandler()
        let received = connection.takeBuffer()
        try pair.set(.readTimeout, to: nil)
        try pair.set(.writeTimeout, to: nil)
        return HTTPUpgradedConnection(pair: pair, received: received)
    }

    func takePermit() -> LongLivedLimit.Permit? { context.longLived.permit() }

    // MARK: Ends

    func respond(with refusal: RequestRefusal) async -> Bool {
        lingers = await connection.send(refusal)
        return lingers
    }

    func end() async -> Bool {
        await skipBody()
        if exchange.outcome == .reusable { return true }
        lingers = true
        return false
    }

    func close(isComplete: Bool) async {
        if lingers { await connection.linger() }
    }

    func abandon() { pair.close() }
}
