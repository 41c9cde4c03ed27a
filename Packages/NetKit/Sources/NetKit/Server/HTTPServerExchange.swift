internal import EventLoops
public import HTTPMessage
public import HostResolver
public import StreamKit

/// One request and its answer, for the handler of an ``HTTPServer``.
///
/// ```swift
/// { exchange in
///     guard exchange.request.method == .post else { return try await exchange.respond(405) }
///     var count = 0
///     while case let piece = try await exchange.readBody(), !piece.isEmpty { count += piece.count }
///     try await exchange.respond(.ok, body: Array("\(count) bytes\n".utf8))
/// }
/// ```
///
/// Read the body as far as it is wanted, then answer once: whole with ``respond(_:)``, or bit by bit with ``begin(_:length:)``
/// and ``write(_:)``. What a handler throws before the answer has begun makes it a 500 (or what says better what the client did
/// wrong), and afterwards cuts the connection, so that the client sees that the answer is not whole. A handler that answers
/// nothing is a 500, too.
public final class HTTPServerExchange {
    /// The longest body that is sent in one piece with its head, without the ``HTTPServer/Configuration/minimumResponseRate``.
    static let smallBody = 16 * 1024

    private enum Answer {
        case none
        case begun(ResponsePlan.Body)
        case whole
    }

    /// The head of the request; its body is read with ``readBody(upTo:)``.
    public var request: HTTPRequest { intake.request }

    /// The fields after a chunked body, once that is at its end. Believe none that says how to route or authenticate.
    public var trailers: HTTPFields { decoder.trailers }

    private let intake: RequestIntake
    private let connection: ServerConnection
    private var decoder: BodyDecoder
    private var requestPace: BodyPace
    private var responsePace: BodyPace
    private var awaitsContinue: Bool
    private var refusal: RequestRefusal?
    private var answer = Answer.none
    private var keepsConnection = false
    private var isClientGone = false

    init(_ intake: RequestIntake, on connection: ServerConnection) {
        self.intake = intake
        self.connection = connection
        let configuration = connection.configuration
        decoder = BodyDecoder(intake.framing, limits: configuration.limits)
        requestPace = BodyPace(limit: configuration.bodyLimit, rate: configuration.minimumBodyRate)
        responsePace = BodyPace(limit: configuration.writeLimit, rate: configuration.minimumResponseRate)
        awaitsContinue = intake.expectsContinue
    }

    /// Who asks. Behind a proxy, that proxy.
    public var remoteAddress: SocketAddress? { connection.pair[.remoteAddress] }

    /// What the handshake agreed on, the client's certificates among it; nil without TLS.
    public var tlsInformation: TLSInformation? { connection.pair[.tlsInformation] }
}

// MARK: - The request's body

extension HTTPServerExchange {
    /// The next piece of the request's body, freed from its chunks; empty at the end.
    ///
    /// A client that waits for a 100 (Continue) gets it with the first call, if that comes before the answer begins; otherwise it
    /// may never send its body.
    ///
    /// - Throws: a body that is malformed or longer than the server's limit, or that does not come: the client is told so unless
    ///   the answer has begun. Let the error out of the handler.
    public func readBody(upTo limit: Int = 65536) async throws(StreamError) -> [UInt8] {
        if let refusal { throw .requestRefused(refusal.status, underlying: refusal.error) }
        while true {
            if connection.isTurnSpent() { await Task.yield() }
            if let piece = try takePiece(upTo: max(1, limit)) { return piece }
            // Once the answer has begun it would be taken for a part of that.
            if awaitsContinue, case .none = answer {
                awaitsContinue = false
                connection.output = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
                try await sendOutput()
            }
            do throws(StreamError) {
                try await receive()
            } catch {
                if error == .timedOut { refusal = RequestRefusal(408) } else { isClientGone = true }
                throw error
            }
        }
    }

    private func receive() async throws(StreamError) {
        let limit = requestPace.allowance
        guard limit > .zero else { throw .timedOut }
        let start = Moment.now
        let count = try await connection.fill(within: limit)
        if count == 0 { throw .requestCutShort }
        requestPace.note(count, after: start.duration(to: .now))
    }

    /// The rest of the request's body, all at once.
    ///
    /// - Throws: as ``readBody(upTo:)``. The server's limit bounds how much memory a client can make this take.
    public func body() async throws(StreamError) -> [UInt8] {
        var body: [UInt8] = []
        while case let piece = try await readBody(), !piece.isEmpty { body += piece }
        return body
    }

    /// A piece out of the buffer, empty at the end; nil if more must be read.
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
            // The body comes although nobody told the client to send it.
            if position > 0 { awaitsContinue = false }
            return piece
        } catch {
            let refusal = RequestRefusal(error)
            self.refusal = refusal
            throw .requestRefused(refusal.status, underlying: error)
        }
    }

    /// Reads what the handler left of the body; false if that is too much, so that the connection must end.
    private func skipBody() async -> Bool {
        var rest = connection.configuration.unreadLimit
        while !decoder.isComplete {
            guard !awaitsContinue, rest > 0, let piece = try? await readBody() else { return false }
            rest -= Int64(piece.count)
        }
        return true
    }

    /// Whether it is worth a try to read the rest of the body and to keep the connection.
    private var mayKeepConnection: Bool {
        let configuration = connection.configuration
        guard configuration.keepsConnections, refusal == nil, !connection.connections.isStopping else { return false }
        if decoder.isComplete { return true }
        guard !awaitsContinue else { return false }
        if case .length(let count) = intake.framing {
            return count - decoder.payloadCount <= configuration.unreadLimit
        }
        return true
    }
}

// MARK: - The answer

extension HTTPServerExchange {
    /// Answers with a status and a body.
    ///
    /// - Parameters:
    ///   - status: the status of the answer.
    ///   - fields: further fields; `Content-Length`, `Date` and `Connection` are added.
    ///   - body: the body, which a `HEAD` request, a 204 or a 304 does not get.
    /// - Throws: `EINVAL` if the request was answered already, or the answer cannot be sent; what the connection throws.
    public func respond(
        _ status: HTTPStatus, fields: HTTPFields = HTTPFields(), body: [UInt8] = []
    ) async throws(StreamError) {
        var response: HTTPResponse
        do throws(HTTPMessageError) {
            response = try HTTPResponse(status: status)
        } catch {
            throw StreamError(error)
        }
        if !fields.isEmpty { response.fields = fields }
        try await respond(response, body)
    }

    /// Answers with a response, its body included.
    ///
    /// - Throws: as ``respond(_:fields:body:)``.
    public func respond(_ response: HTTPResponse) async throws(StreamError) {
        try await respond(response, response.body ?? [])
    }

    private func respond(_ response: HTTPResponse, _ body: [UInt8]) async throws(StreamError) {
        var plan = try begin(response, knownLength: Int64(body.count))
        if plan.body == .length(Int64(body.count)), body.count <= HTTPServerExchange.smallBody {
            connection.output += body
            plan = plan.withoutBody
        }
        try await sendOutput()
        if plan.body != .none { try await sendBody(body) }
        answer = .whole
    }

    /// Begins an answer whose body follows bit by bit.
    ///
    /// - Parameters:
    ///   - response: its head; a body in it is not sent.
    ///   - length: how long the body will be; nil if that is not known: then it goes out in chunks (to a client of HTTP/1.0, until
    ///     the connection ends).
    /// - Throws: as ``respond(_:fields:body:)``.
    public func begin(_ response: HTTPResponse, length: Int64? = nil) async throws(StreamError) {
        answer = .begun(try begin(response, knownLength: length).body)
        try await sendOutput()
    }

    /// Sends a piece of the body. To a client that must not get one (``begin(_:length:)``) nothing is sent.
    ///
    /// - Throws: `EINVAL` before ``begin(_:length:)`` and beyond the announced length; what the connection throws, after which
    ///   the handler should end.
    public func write(_ piece: [UInt8]) async throws(StreamError) {
        guard case .begun(let body) = answer else { throw .notBegun }
        if piece.isEmpty { return }
        switch body {
        case .none: return
        case .length(let rest):
            guard piece.count <= rest else { throw .responseTooLong(rest) }
            answer = .begun(.length(rest - Int64(piece.count)))
            try await sendBody(piece)
        case .chunked:
            connection.output.removeAll(keepingCapacity: true)
            ChunkedEncoder.write(piece.span.bytes, into: &connection.output)
            try await sendBody(connection.output)
        case .untilClose: try await sendBody(piece)
        }
    }

    /// Ends the body. Needed for trailers only; otherwise the end of the handler is that of the body.
    ///
    /// - Throws: `EINVAL` before ``begin(_:length:)``, short of the announced length, and for trailers that cannot be sent.
    public func finish(trailers: HTTPFields = HTTPFields()) async throws(StreamError) {
        guard case .begun(let body) = answer else { throw .notBegun }
        if case .length(let rest) = body, rest > 0 { throw .responseTooShort(rest) }
        if body == .chunked {
            connection.output.removeAll(keepingCapacity: true)
            do throws(HTTPMessageError) {
                try ChunkedEncoder.writeEnd(trailers: trailers, into: &connection.output)
            } catch {
                throw StreamError(error)
            }
            try await sendOutput()
        }
        answer = .whole
    }

    /// Puts the head into the connection's output.
    private func begin(_ response: HTTPResponse, knownLength: Int64?) throws(StreamError) -> ResponsePlan {
        guard case .none = answer else { throw .answeredTwice }
        connection.output.removeAll(keepingCapacity: true)
        let plan = try ResponsePlan(
            response, length: knownLength, to: intake, mayPersist: mayKeepConnection, date: connection.date.now,
            into: &connection.output)
        keepsConnection = plan.keepsConnection
        answer = .begun(plan.body)
        return plan
    }

    private func sendOutput() async throws(StreamError) {
        do throws(StreamError) {
            try await connection.writeAll(connection.output)
        } catch {
            isClientGone = true
            throw error
        }
    }

    /// Sends a part of the body, to a client that takes it fast enough.
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
}

// MARK: - Running

extension HTTPServerExchange {
    /// Has the handler answer, or does it in its stead. True if the connection goes on.
    func run(_ handler: HTTPServer.Handler) async -> Bool {
        do {
            try await handler(self)
            if case .begun = answer { try await finish() }
        } catch {
            // What the client did is nobody's fault here.
            if isClientGone { return false }
            if refusal == nil { connection.configuration.onError?(error) }
            if case .none = answer {} else { return false }
        }
        if case .none = answer {
            await connection.refuse(refusal ?? RequestRefusal(500))
            return false
        }
        guard await skipBody(), keepsConnection else {
            await connection.linger()
            return false
        }
        return true
    }
}
