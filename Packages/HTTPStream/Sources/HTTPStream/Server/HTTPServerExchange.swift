package import EventLoops
public import HTTPMessage
public import HostResolver
public import StreamKit

extension HTTPServer {
    /// Responds to a request. If it throws, the response is a 500, or is cut short if it has begun.
    public typealias Handler = @Sendable (HTTPServerExchange) async throws -> Void
}

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
/// that names the client's error); afterwards the connection is closed, or over HTTP/2 the stream reset, so that the client sees that the response is incomplete.
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
    public var request: HTTPRequest { carrier.request }

    /// The fields after a chunked body or one of HTTP/2, once the body has ended; none of those that frame, route or authenticate a message (RFC
    /// 9110 §6.5.1): over HTTP/1.1 the request is refused for them, over HTTP/2 they are left out.
    public var trailers: HTTPFields {
        guard (try? gate.enter()) != nil else { return HTTPFields() }
        defer { gate.leave() }
        return carrier.trailers
    }

    /// Admits the calls.
    let gate = CallGate()
    let carrier: any ServerCarrier
    private var answer = Answer.none
    private let progress = Locked(Progress())
    /// The permit of a long-lived connection, until the handler ends. In a lock, since a call may still be in progress then.
    private let permit = Locked<LongLivedLimit.Permit?>(nil)
    /// The time at which the exchange began, if ``HTTPServer/Configuration/onResponse`` needs it.
    private let start: Moment?

    init(_ carrier: any ServerCarrier) {
        self.carrier = carrier
        start = carrier.context.configuration.onResponse == nil ? nil : .now
    }

    /// The task of the handler.
    var task: ExchangeTask { carrier.task }

    /// The address of the client, or of the proxy in front of it.
    public var remoteAddress: SocketAddress? { carrier.pair[.remoteAddress] }

    /// The result of the TLS handshake, including the client's certificates; nil without TLS.
    public var tlsInformation: TLSInformation? { carrier.pair[.tlsInformation] }

    /// The loop of the connection.
    package var loop: EventLoop { carrier.pair.input.waitPoint.loop }

    /// The status of the response, once it has begun.
    var responseStatus: HTTPStatus? { progress.withLock { $0.status } }

    /// Waits until the client has disconnected, the handler has ended, or the calling task is cancelled.
    ///
    /// After ``switchProtocols(to:fields:)`` the wait ends as soon as the client has ended its output, although the handler may have bytes
    /// to read then, or the handler has closed the connection. Also in a task of the handler's own, which it awaits.
    ///
    /// For a task that the handler's end does not cancel, such as one that feeds a stream of events.
    public func closed() async { await carrier.task.waitUntilClosed() }

    /// Waits until the server has been told to stop (``HTTPServer/stop(within:)``), or the calling task is cancelled.
    ///
    /// For a response that would not end otherwise, such as a stream of events, and would use up the whole time within which the
    /// server lets its requests end.
    public func serverStopping() async { await carrier.context.stopping.wait() }
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
        try gate.enter()
        defer { gate.leave() }
        return try await carrier.readBody(upTo: limit)
    }

    /// Returns the rest of the request's body.
    ///
    /// - Throws: as ``readBody(upTo:)``. The server's limit bounds the memory that a client can make this use.
    public func body() async throws(StreamError) -> [UInt8] {
        var body: [UInt8] = []
        while case let piece = try await readBody(), !piece.isEmpty { body += piece }
        return body
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
        try gate.enter()
        defer { gate.leave() }
        let framing = try begin(response, knownLength: Int64(body.count))
        if framing == .none {
            try await carrier.sendHead()
        } else {
            try await carrier.sendWhole(body)
            noteSent(body.count)
        }
        try await carrier.endResponse(HTTPFields())
        answer = .whole
    }

    /// Begins a response whose body follows piece by piece.
    ///
    /// - Parameters:
    ///   - response: its head; a body in it is not sent.
    ///   - length: the length of the body; nil if it is unknown: the body is then sent in chunks (to an HTTP/1.0 client, until
    ///     the connection is closed).
    /// - Throws: as ``respond(_:fields:body:)``.
    public func begin(_ response: HTTPResponse, length: Int64? = nil) async throws(StreamError) {
        try gate.enter()
        defer { gate.leave() }
        _ = try begin(response, knownLength: length)
        try await carrier.sendHead()
    }

    /// Sends a piece of the body. If the response must not have a body (``begin(_:length:)``), sends nothing.
    ///
    /// - Throws: `EINVAL` before ``begin(_:length:)`` and beyond the announced length; the error of the connection, after which
    ///   the handler should return.
    public func write(_ piece: [UInt8]) async throws(StreamError) {
        try gate.enter()
        defer { gate.leave() }
        guard case .begun(let body) = answer else { throw .notBegun }
        if piece.isEmpty { return }
        switch body {
        case .none: return
        case .length(let rest):
            guard piece.count <= rest else { throw .responseTooLong(rest) }
            answer = .begun(.length(rest - Int64(piece.count)))
        case .chunked, .untilClose, .untilStreamEnds: break
        }
        try await carrier.send(piece)
        noteSent(piece.count)
    }

    private func noteSent(_ count: Int) { progress.withLock { $0.bodyLength += Int64(count) } }

    /// Whether the handler has begun a response.
    package var hasResponse: Bool {
        guard (try? gate.enter()) != nil else { return true }
        defer { gate.leave() }
        if case .none = answer { return false }
        return true
    }

    /// Ends the body. Necessary only for trailers; otherwise the body ends with the handler.
    ///
    /// - Parameter trailers: the fields after the body. They are left out where the response has no body, and for clients of HTTP/1.0.
    /// - Throws: `EINVAL` before ``begin(_:length:)``, short of the announced length, for trailers that are not allowed (RFC 9110 §6.5.1), and over HTTP/1.1
    ///   for any after a body of announced length; nothing was sent then, and the response is still open. The error of the connection.
    public func finish(trailers: HTTPFields = HTTPFields()) async throws(StreamError) {
        try gate.enter()
        defer { gate.leave() }
        try await finishBody(trailers)
    }

    private func finishBody(_ trailers: HTTPFields = HTTPFields()) async throws(StreamError) {
        guard case .begun(let body) = answer else { throw .notBegun }
        if case .length(let rest) = body, rest > 0 { throw .responseTooShort(rest) }
        try await carrier.endResponse(trailers)
        answer = .whole
    }

    /// Makes the head of the response. Returns what follows it.
    private func begin(_ response: HTTPResponse, knownLength: Int64?) throws(StreamError) -> ResponsePlan.Body {
        guard case .none = answer else { throw .answeredTwice }
        let body = try carrier.makeHead(response, length: knownLength)
        answer = .begun(body)
        progress.withLock { $0.status = response.status }
        return body
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
        try gate.enter()
        defer { gate.leave() }
        try takePermit()
    }

    private func takePermit() throws(StreamError) {
        let isPermitted = permit.withLock { permit in
            permit = permit ?? carrier.takePermit()
            return permit != nil
        }
        if isPermitted { return }
        carrier.refuse(RequestRefusal(.serviceUnavailable))
        throw .tooManyLongLived(carrier.context.longLived.maximum)
    }

    /// Responds with 101 (Switching Protocols; over HTTP/2, 200), and returns the connection, which then carries the other protocol (RFC 9110 §7.8).
    ///
    /// Over HTTP/2 (RFC 8441), the client offers the protocol with an extended CONNECT, which the handler sees as the GET request with `Upgrade` that
    /// HTTP/1.1 would have; the response is a 200, and the stream carries the protocol. A client that does not read for
    /// ``HTTPServer/Configuration/writeTimeout`` loses the stream. A handler that does not switch can respond with any status except a
    /// 2xx, which would accept the protocol: the client receives a 501 in its place.
    ///
    /// The connection belongs to the handler and is closed when the handler ends. Of the time limits of the configuration for
    /// bodies and responses, only `writeTimeout` over HTTP/2 still applies, and the handler is no longer cancelled if the client disconnects: it reads the end.
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
    ///   - fields: Further fields of the response; `Upgrade`, `Connection` and `Date` are added (over HTTP/2, `Date` alone).
    /// - Throws: `EINVAL` if the request has not offered the protocol, has a body that has not been read to its end, or was
    ///   answered already, and for a response that cannot be sent; `EAGAIN` as ``declareLongLived()``; the error of the connection.
    public func switchProtocols(
        to protocolName: String, fields: HTTPFields = HTTPFields()
    ) async throws(StreamError) -> HTTPUpgradedConnection {
        try gate.enter()
        defer { gate.leave() }
        guard case .none = answer else { throw .answeredTwice }
        try carrier.requireOffer(of: protocolName)
        if fields.contains(.contentLength) || fields.contains(.transferEncoding) {
            throw .unsendable("a response that switches protocols has no body (RFC 9110 §8.6)")
        }
        try takePermit()
        let connection = try await carrier.switchProtocols(to: protocolName, fields) { status in
            answer = .switched
            progress.withLock { $0.status = status }
        }
        return connection
    }
}

// MARK: - Running

extension HTTPServerExchange {
    /// Runs the handler, or responds in its place. Returns true if the connection is kept.
    func run(_ handler: HTTPServer.Handler) async -> Bool {
        carrier.task.begin()
        var failure: (any Error)?
        do { try await handler(self) } catch { failure = error }
        let isDisconnected = await carrier.task.end()
        permit.withLock { $0 = nil }
        // A call that another task has begun, and the handler has not awaited, still uses the connection and the exchange.
        guard gate.close() else {
            carrier.abandon()
            report(isComplete: false)
            return false
        }
        if isDisconnected { carrier.isClientGone = true }
        let isKept = await end(after: failure)
        let isComplete =
            switch answer {
            case .whole, .switched: !carrier.isClientGone
            case .begun, .none: false
            }
        report(isComplete: isComplete)
        // After the report: the client may still send for a while.
        await carrier.close(isComplete: isComplete)
        return isKept
    }

    /// Passes the facts of the exchange to the observer of the server.
    private func report(isComplete: Bool) {
        guard let onResponse = carrier.context.configuration.onResponse, let start else { return }
        let progress = progress.withLock { $0 }
        onResponse(
            HTTPServer.Record(
                request: request, status: progress.status, bodyLength: progress.bodyLength, isComplete: isComplete,
                remoteAddress: carrier.observedAddress, duration: start.duration(to: .now)))
    }

    /// Ends the response, or responds in place of the handler. Returns true if the connection is kept.
    private func end(after handlerFailure: (any Error)?) async -> Bool {
        let onError = carrier.context.configuration.onError
        var failure = handlerFailure
        if failure == nil, case .begun = answer {
            do throws(StreamError) { try await finishBody() } catch { failure = error }
        }
        if case .switched = answer {
            if let failure, !carrier.isClientGone { onError?(failure) }
            return false
        }
        if let failure {
            // An error caused by the client is not reported.
            if carrier.isClientGone { return false }
            if carrier.refusal == nil { onError?(failure) }
            if case .none = answer {} else { return false }
        }
        // The handler may have ignored the error: the response is incomplete, and nothing may follow it.
        if carrier.isClientGone { return false }
        if case .none = answer {
            let refusal = carrier.refusal ?? RequestRefusal(500)
            progress.withLock { $0.status = refusal.status }
            if await carrier.respond(with: refusal) {
                answer = .whole
                progress.withLock { $0.bodyLength = refusal.bodyLength }
            }
            return false
        }
        return await carrier.end()
    }
}
