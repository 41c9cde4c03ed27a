package import EventLoops
public import HTTPMessage
public import HostResolver
public import StreamKit

/// One request and its response, for the handler of an ``HTTPServer``.
///
/// ```swift
/// try await server.run { exchange in
///     guard exchange.request.method == .post else { return try await exchange.respond(405) }
///     var count = 0
///     while case let piece = try await exchange.readBody(), !piece.isEmpty { count += piece.count }
///     try await exchange.respond(.ok, body: Array("\(count) bytes\n".utf8))
/// }
/// ```
///
/// Read as much of the body as needed, then respond once: as a whole with ``respond(_:)``, or piece by piece with
/// ``begin(_:length:)`` and ``write(_:)``. If a handler throws before the response has begun, the response is a 500 (or a status
/// that names the client's error); afterwards the connection is closed, so that the client sees that the response is incomplete.
/// If a handler does not respond, the response is a 500.
///
/// If the client disconnects, the handler's task is cancelled (``HTTPServer/Configuration/halfClosedTimeout``), and waiting calls
/// end with an error. ``closed()`` waits for that in another task.
///
/// An exchange may be used from any task, by one call at a time: a second one throws `StreamError.busy`. It ends with the
/// handler; later calls throw `StreamError.closed`.
public final class HTTPServerExchange: @unchecked Sendable {
    // Unchecked: the state is accessed only inside `use`, which admits one call at a time, and by the server before the handler
    // has begun and after `use` has been closed with no call inside.

    /// The longest body that is sent in one piece with its head, without the ``HTTPServer/Configuration/minimumResponseRate``.
    static let smallBody = 16 * 1024

    private enum Answer {
        case none
        case begun(ResponsePlan.Body)
        case whole
        case switched
    }

    /// The part of the response that has been passed to the connection. In a lock, unlike the rest: the observer of the server is told
    /// about it also if a call is still in progress when the handler has ended.
    private struct Progress {
        /// The status, once the response has begun.
        var status: HTTPStatus?
        /// The number of bytes of the body.
        var bodyLength: Int64 = 0
    }

    /// The head of the request; its body is read with ``readBody(upTo:)``.
    public var request: HTTPRequest { incoming.request }

    /// The fields after a chunked body, once the body has ended. Do not trust those that route or authenticate.
    public var trailers: HTTPFields {
        guard (try? use.enter()) != nil else { return HTTPFields() }
        defer { use.leave() }
        return decoder.trailers
    }

    /// Admits the calls.
    let use = CallGate()
    private let incoming: IncomingRequest
    private let connection: ServerConnection
    let watcher: DisconnectionWatcher
    private var decoder: BodyDecoder
    private var requestPace: BodyPace
    private var responsePace: BodyPace
    /// The states of the request and the response on the connection. ``answer`` records the handler's calls.
    private var exchange: ExchangeMachine
    private var refusal: RequestRefusal?
    private var answer = Answer.none
    private var isClientGone = false
    /// Whether the client has received the last response on the connection, and may still send.
    private var lingers = false
    private let progress = Locked(Progress())
    /// The permit of a long-lived connection, until the handler ends. In a lock, since a call may still be in progress then.
    private let permit = Locked<LongLivedLimit.Permit?>(nil)
    /// The time at which the exchange began, if ``HTTPServer/Configuration/onResponse`` needs it.
    private let start: Moment?

    init(_ incoming: IncomingRequest, on connection: ServerConnection) {
        self.incoming = incoming
        self.connection = connection
        watcher = connection.watcher
        let configuration = connection.configuration
        decoder = BodyDecoder(incoming.framing, limits: configuration.limits)
        requestPace = BodyPace(limit: configuration.bodyTimeout, rate: configuration.minimumBodyRate)
        responsePace = BodyPace(limit: configuration.writeTimeout, rate: configuration.minimumResponseRate)
        exchange = incoming.exchange
        start = configuration.onResponse == nil ? nil : .now
    }

    /// The address of the client, or of the proxy in front of it.
    public var remoteAddress: SocketAddress? { connection.pair[.remoteAddress] }

    /// The result of the TLS handshake, including the client's certificates; nil without TLS.
    public var tlsInformation: TLSInformation? { connection.pair[.tlsInformation] }

    /// The loop of the connection.
    package var loop: EventLoop { connection.loop }

    /// The status of the response, once it has begun.
    var responseStatus: HTTPStatus? { progress.withLock { $0.status } }

    /// Waits until the client has disconnected, the handler has ended, or the calling task is cancelled.
    ///
    /// After ``switchProtocols(to:fields:)`` the wait ends as soon as the client has ended its output, although the handler may have bytes
    /// to read then, or the handler has closed the connection. Also in a task of the handler's own, which it awaits.
    ///
    /// For a task that the handler's end does not cancel, such as one that feeds a stream of events.
    public func closed() async { await watcher.waitUntilClosed() }

    /// Waits until the server has been told to stop (``HTTPServer/stop(within:)``), or the calling task is cancelled.
    ///
    /// For a response that would not end otherwise, such as a stream of events, and would use up the whole time within which the
    /// server lets its requests end.
    public func serverStopping() async { await connection.stopping.wait() }
}

// MARK: - The request's body

extension HTTPServerExchange {
    /// Returns the next piece of the request's body, without chunk framing; empty at the end.
    ///
    /// The first call sends 100 (Continue) to a client that waits for it, if the response has not begun; otherwise the client may
    /// never send its body.
    ///
    /// - Throws: an error for a body that is malformed, longer than the server's limit, or too slow. The client receives a
    ///   corresponding response unless one has begun. Rethrow the error from the handler.
    public func readBody(upTo limit: Int = 65536) async throws(StreamError) -> [UInt8] {
        try use.enter()
        defer { use.leave() }
        return try await nextPiece(upTo: limit)
    }

    private func nextPiece(upTo limit: Int = 65536) async throws(StreamError) -> [UInt8] {
        if let refusal { throw .requestRefused(refusal.status, underlying: refusal.error) }
        while true {
            if connection.mustYield() { await Task.yield() }
            if let piece = try takePiece(upTo: max(1, limit)) {
                if decoder.isComplete { try endWait() }
                return piece
            }
            if exchange.needsContinue {
                exchange.permitBody()
                connection.output = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
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

    /// Returns the rest of the request's body.
    ///
    /// - Throws: as ``readBody(upTo:)``. The server's limit bounds the memory that a client can make this use.
    public func body() async throws(StreamError) -> [UInt8] {
        var body: [UInt8] = []
        while case let piece = try await readBody(), !piece.isEmpty { body += piece }
        return body
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
    private func refuse(_ refusal: RequestRefusal) {
        self.refusal = refusal
        exchange.refuseRequest()
    }

    /// Reads the part of the body that the handler did not read, for a short time, if that can keep the connection.
    private func skipBody() async {
        let configuration = connection.configuration
        var rest = configuration.unreadLength
        requestPace = BodyPace(
            limit: min(configuration.bodyTimeout, configuration.lingerTimeout), rate: configuration.minimumBodyRate)
        while exchange.outcome == .requestUnderway, rest > 0, let piece = try? await nextPiece() {
            rest -= Int64(piece.count)
        }
    }

    /// Whether the connection can be kept after the rest of the body has been read.
    private var mayKeepConnection: Bool {
        let configuration = connection.configuration
        guard configuration.keepsConnections, refusal == nil, connection.client.mayBecomeIdle else { return false }
        return incoming.permitsAnother(exchange, after: decoder, unread: configuration.unreadLength)
    }
}

// MARK: - The response

extension HTTPServerExchange {
    /// Responds with a status and a body.
    ///
    /// - Parameters:
    ///   - status: the status of the response.
    ///   - fields: further fields; `Content-Length`, `Date` and `Connection` are added.
    ///   - body: the body, which is not sent for a `HEAD` request; a 204 and a 304 have none.
    /// - Throws: `EINVAL` if the request was answered already, or the response cannot be sent, such as a 204 with a body; the error of the connection.
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

    /// Sends a response, including its body.
    ///
    /// - Throws: as ``respond(_:fields:body:)``.
    public func respond(_ response: HTTPResponse) async throws(StreamError) {
        try await respond(response, response.body)
    }

    private func respond(_ response: HTTPResponse, _ body: [UInt8]) async throws(StreamError) {
        try use.enter()
        defer { use.leave() }
        switch try begin(response, knownLength: Int64(body.count)).body {
        case .none: try await sendOutput()
        case .length where body.count <= HTTPServerExchange.smallBody:
            connection.output += body
            try await sendOutput()
            noteSent(body.count)
        case .length, .chunked, .untilClose:
            try await sendOutput()
            try await sendBody(body)
            noteSent(body.count)
        }
        try endResponse()
    }

    /// Begins a response whose body follows piece by piece.
    ///
    /// - Parameters:
    ///   - response: its head; a body in it is not sent.
    ///   - length: the length of the body; nil if it is unknown: the body is then sent in chunks (to an HTTP/1.0 client, until
    ///     the connection is closed).
    /// - Throws: as ``respond(_:fields:body:)``.
    public func begin(_ response: HTTPResponse, length: Int64? = nil) async throws(StreamError) {
        try use.enter()
        defer { use.leave() }
        answer = .begun(try begin(response, knownLength: length).body)
        try await sendOutput()
    }

    /// Sends a piece of the body. If the response must not have a body (``begin(_:length:)``), sends nothing.
    ///
    /// - Throws: `EINVAL` before ``begin(_:length:)`` and beyond the announced length; the error of the connection, after which
    ///   the handler should return.
    public func write(_ piece: [UInt8]) async throws(StreamError) {
        try use.enter()
        defer { use.leave() }
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
        noteSent(piece.count)
    }

    private func noteSent(_ count: Int) { progress.withLock { $0.bodyLength += Int64(count) } }

    /// Whether the handler has begun a response.
    package var hasResponse: Bool {
        guard (try? use.enter()) != nil else { return true }
        defer { use.leave() }
        if case .none = answer { return false }
        return true
    }

    /// Ends the body. Necessary only for trailers; otherwise the body ends with the handler.
    ///
    /// - Throws: `EINVAL` before ``begin(_:length:)``, short of the announced length, and for trailers that cannot be sent.
    public func finish(trailers: HTTPFields = HTTPFields()) async throws(StreamError) {
        try use.enter()
        defer { use.leave() }
        try await finishBody(trailers)
    }

    private func finishBody(_ trailers: HTTPFields = HTTPFields()) async throws(StreamError) {
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
        try endResponse()
    }

    private func endResponse() throws(StreamError) {
        answer = .whole
        do throws(HTTPMessageError) { try exchange.endResponse() } catch { throw StreamError(error) }
    }

    /// Appends the head to the connection's output.
    private func begin(_ response: HTTPResponse, knownLength: Int64?) throws(StreamError) -> ResponsePlan {
        guard case .none = answer else { throw .answeredTwice }
        connection.output.removeAll(keepingCapacity: true)
        let plan = try ResponsePlan(
            response, length: knownLength, to: incoming, mayPersist: mayKeepConnection, date: connection.date.now,
            into: &connection.output)
        do throws(HTTPMessageError) {
            try exchange.beginResponse(response.status, framing: plan.framing, isPersistent: plan.keepsConnection)
        } catch {
            throw StreamError(error)
        }
        answer = .begun(plan.body)
        progress.withLock { $0.status = response.status }
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
}

// MARK: - Long-lived connections

extension HTTPServerExchange {
    /// Declares that the handler serves its client for as long as that client stays, as a stream of events does, or that it waits for
    /// something else for long, as the handler of a long poll does.
    ///
    /// ```swift
    /// try await server.run { exchange in
    ///     try exchange.declareLongLived()
    ///     try await exchange.begin(HTTPResponse(status: .ok))
    ///     for await change in changes { try await exchange.write(change) }
    /// }
    /// ```
    ///
    /// A handler that works for its client keeps its place among the connections for as long as it works, also while it sends nothing. A
    /// crowd of clients of such handlers would shut out all other requests; ``HTTPServer/Configuration/maximumLongLivedConnections``
    /// limits their number. ``switchProtocols(to:fields:)`` and event streams of HTTPServerKit include this call.
    ///
    /// Has no effect if the exchange is long-lived already. The connection counts until the handler ends.
    ///
    /// - Throws: `EAGAIN` at the maximum of such connections, for which the client receives a 503 if the handler does not respond;
    ///   `StreamError.busy` during another call; `StreamError.closed` after the end of the handler.
    public func declareLongLived() throws(StreamError) {
        try use.enter()
        defer { use.leave() }
        try takePermit()
    }

    private func takePermit() throws(StreamError) {
        let isPermitted = permit.withLock { permit in
            permit = permit ?? connection.longLived.permit()
            return permit != nil
        }
        if isPermitted { return }
        refuse(RequestRefusal(.serviceUnavailable))
        throw .tooManyLongLived(connection.longLived.maximum)
    }

    /// Responds with 101 (Switching Protocols), and returns the connection, which then carries the other protocol (RFC 9110 §7.8).
    ///
    /// The connection belongs to the handler and is closed when the handler ends. The time limits of the configuration for
    /// bodies and responses no longer apply, and the handler is no longer cancelled if the client disconnects: it reads the end.
    ///
    /// The connection does not count as waiting for its client (`ServedConnection`), however quiet it is: it is not closed for other
    /// clients, and ``HTTPServer/stop(within:)`` waits for its handler. It is long-lived (``declareLongLived()``).
    ///
    /// ```swift
    /// let connection = try await exchange.switchProtocols(to: "echo")
    /// try await connection.pair.output.writeAll(connection.received)
    /// for try await chunk in connection.pair.input.chunks() { try await connection.pair.output.writeAll(chunk) }
    /// ```
    ///
    /// - Parameters:
    ///   - protocolName: The protocol; `Upgrade` of the request must contain it.
    ///   - fields: Further fields of the response; `Upgrade`, `Connection` and `Date` are added.
    /// - Throws: `EINVAL` if the request has not offered the protocol, has a body that has not been read to its end, or was
    ///   answered already, and for a response that cannot be sent; `EAGAIN` as ``declareLongLived()``; the error of the connection.
    public func switchProtocols(
        to protocolName: String, fields: HTTPFields = HTTPFields()
    ) async throws(StreamError) -> HTTPUpgradedConnection {
        try use.enter()
        defer { use.leave() }
        guard case .none = answer else { throw .answeredTwice }
        guard exchange.request == .offered, request.offers(protocolName) else {
            throw .unsendable("the request does not offer to switch to \(protocolName), or its body has not been read")
        }
        if fields.contains(.contentLength) || fields.contains(.transferEncoding) {
            throw .unsendable("a 101 has no body (RFC 9110 §8.6)")
        }
        try takePermit()
        do throws(HTTPMessageError) {
            var response = try HTTPResponse(status: .switchingProtocols)
            response.fields = fields
            try response.fields.set(protocolName, for: .upgrade)
            try response.fields.set("Upgrade", for: .connection)
            try response.fields.set(String(decoding: connection.date.now, as: UTF8.self), for: .date)
            _ = try exchange.beginResponse(response.status, framing: .tunnel, isPersistent: true)
            connection.output.removeAll(keepingCapacity: true)
            response.serializeOpenHead(into: &connection.output)
            connection.output += ChunkedEncoder.chunkEnd
        } catch {
            throw StreamError(error)
        }
        answer = .switched
        progress.withLock { $0.status = .switchingProtocols }
        try await sendOutput()
        watcher.leaveToHandler()
        let received = connection.buffer.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
        connection.buffer.remove(connection.buffer.count)
        try connection.pair.set(.readTimeout, to: nil)
        try connection.pair.set(.writeTimeout, to: nil)
        return HTTPUpgradedConnection(pair: connection.pair, received: received)
    }
}

// MARK: - Running

extension HTTPServerExchange {
    /// Runs the handler, or responds in its place. Returns true if the connection is kept.
    func run(_ handler: HTTPServer.Handler) async -> Bool {
        watcher.begin()
        var failure: (any Error)?
        do { try await handler(self) } catch { failure = error }
        let isDisconnected = await watcher.end()
        permit.withLock { $0 = nil }
        // A call that another task has begun, and the handler has not awaited, still uses the connection and the exchange.
        guard use.close() else {
            connection.pair.close()
            report(isComplete: false)
            return false
        }
        if isDisconnected { isClientGone = true }
        let isKept = await end(after: failure)
        let isComplete =
            switch answer {
            case .whole, .switched: !isClientGone
            case .begun, .none: false
            }
        report(isComplete: isComplete)
        // After the report: the client may still send for a while.
        if !isKept, lingers { await connection.linger() }
        return isKept
    }

    /// Passes the facts of the exchange to the observer of the server.
    private func report(isComplete: Bool) {
        guard let onResponse = connection.configuration.onResponse, let start else { return }
        let progress = progress.withLock { $0 }
        onResponse(
            HTTPServer.Record(
                request: request, status: progress.status, bodyLength: progress.bodyLength, isComplete: isComplete,
                remoteAddress: connection.observedAddress, duration: start.duration(to: .now)))
    }

    /// Ends the response, or responds in place of the handler. Returns true if the connection is kept.
    private func end(after handlerFailure: (any Error)?) async -> Bool {
        var failure = handlerFailure
        if failure == nil, case .begun = answer {
            do throws(StreamError) { try await finishBody() } catch { failure = error }
        }
        if case .switched = answer {
            if let failure, !isClientGone { connection.configuration.onError?(failure) }
            return false
        }
        if let failure {
            // An error caused by the client is not reported.
            if isClientGone { return false }
            if refusal == nil { connection.configuration.onError?(failure) }
            if case .none = answer {} else { return false }
        }
        // The handler may have ignored the error: the response is incomplete, and nothing may follow it.
        if isClientGone { return false }
        if case .none = answer {
            let refusal = refusal ?? RequestRefusal(500)
            progress.withLock { $0.status = refusal.status }
            lingers = await connection.send(refusal)
            if lingers {
                answer = .whole
                progress.withLock { $0.bodyLength = refusal.bodyLength }
            }
            return false
        }
        await skipBody()
        if exchange.outcome == .reusable { return true }
        lingers = true
        return false
    }
}
