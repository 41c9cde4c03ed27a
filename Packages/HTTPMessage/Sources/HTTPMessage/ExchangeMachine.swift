/// One request and its response on a connection: what each side may send next, and what becomes of the connection.
///
/// Client and server drive the same machine: both report the heads, data and ends of the two messages, whether they send
/// or receive them. The machine does no I/O and reads no clock. It owns the rules that tie the two messages together:
/// `100 (Continue)`, early responses, persistence, upgrades and tunnels (RFC 9110 §10.1.1, §15.2, §7.8; RFC 9112 §9).
///
/// ```swift
/// var exchange = ExchangeMachine(.client)
/// var request = try HTTPRequest(method: .put, target: "/file")
/// try request.fields.append("100-continue", for: .expect)
///
/// // A client has sent the head. The body waits for the server's permission, or for a time limit of the client's choice.
/// try exchange.beginRequest(request, framing: .length(5))  // .awaitContinue
/// try exchange.beginResponse(HTTPResponse(status: .continue))  // .continueRequest: send the body
/// try exchange.endRequest()
/// try exchange.beginResponse(HTTPResponse(status: .noContent))  // .body(.none, stopsRequest: false)
/// try exchange.endResponse()
/// exchange.outcome  // .reusable: the next request needs a new machine
/// ```
///
/// Theory of operation. Each of the two messages is in one ``State``. What happens to a message is an ``Event``, and
/// ``next(_:_:_:)`` is the table that says which events a state allows and what the state is then. Everything else
/// is a handful of rules by which an event on one message moves the other one; they stand in the methods that report the
/// event. An event that the table does not allow throws, and leaves that message failed and the connection unusable.
///
/// The machine is about one exchange, not about a connection, so that an exchange over a stream of HTTP/2 can use it as
/// well: there, nothing closes the connection, and ``Outcome/reusable`` means that the stream has ended.
public struct ExchangeMachine: Sendable {
    /// Which side drives the machine. The rules are the same; errors say whose mistake it was.
    public enum Role: Hashable, Sendable, CaseIterable {
        /// Sends the request.
        case client
        /// Sends the response.
        case server
    }

    /// One of the two messages.
    public enum Message: Hashable, Sendable, CaseIterable {
        /// From the client to the server.
        case request
        /// From the server to the client.
        case response
    }

    /// How far a message has come.
    public enum State: Hashable, Sendable, CaseIterable {
        /// Nothing was sent, and nothing is expected.
        case idle
        /// Response: the request has begun, and the final head is expected.
        case expected
        /// Request: the head was sent, and the body is held back for a 100 (Continue).
        case held
        /// The head was sent; data, or the end, follows.
        case body
        /// The message is complete, and the connection may carry another one after it.
        case done
        /// The message is complete or was given up, and its sender sends no other one on this connection.
        case last
        /// Request: it is complete and asks for a tunnel or another protocol. The response decides.
        case offered
        /// The connection is a tunnel, or carries another protocol.
        case switched
        /// The sender has closed its side, at a proper point.
        case closed
        /// The message was malformed, cut short, or out of order.
        case failed
    }

    /// What happens to a message.
    public enum Event: Hashable, Sendable, CaseIterable {
        /// The head of the request, or of the final response.
        case head
        /// The head of a request whose body waits for a 100 (Continue).
        case expectingHead
        /// The head of an interim response, other than 101.
        case interim
        /// The head of a response that switches protocols: a 101, or a 2xx to `CONNECT`.
        case switching
        /// The body of the request may follow: a 100 (Continue) was sent, or the client waits no longer for one.
        case permission
        /// A part of the body.
        case data
        /// The end of the body.
        case end
        /// The end of a request that asks for a tunnel or another protocol.
        case offer
        /// The rest of the message will be neither sent nor read.
        case abandonment
        /// Bytes that are not a request.
        case malformation
        /// The end of what the sender sends on the connection.
        case close
    }

    /// What the driver does after the head of a request.
    public enum RequestAction: Hashable, Sendable {
        /// The body follows, then ``ExchangeMachine/endRequest()``. A server reads it.
        case body
        /// The body is held back. A client sends it at ``ResponseAction/continueRequest``, or calls
        /// ``ExchangeMachine/permitBody()`` when it does not want to wait any longer. A server sends a 100 before it reads.
        case awaitContinue
        /// The request has no body and is complete.
        case complete
    }

    /// What the driver does after the head of a response.
    public enum ResponseAction: Hashable, Sendable {
        /// An interim response: the final one follows.
        case interim
        /// A 100 (Continue) for a body that was held back: send it now. The final response follows.
        case continueRequest
        /// The final response. Its body is framed so, then ``ExchangeMachine/endResponse()`` follows (at once for
        /// `.none`). With `stopsRequest` the request is not complete, and a client sends no more of it: its server has refused
        /// it, or has answered without asking for the body (RFC 9110 §10.1.1, RFC 9112 §9.5).
        case body(BodyFraming, stopsRequest: Bool)
        /// The connection is no longer HTTP: all further bytes belong to the tunnel or the other protocol.
        case switchProtocol
    }

    /// What becomes of the connection.
    public enum Outcome: Hashable, Sendable {
        /// The exchange is not over.
        case underway
        /// Both messages are complete, and the connection may carry another exchange.
        case reusable
        /// The response is complete, but the request is not. A client closes the connection. A server closes it as well, or
        /// reads the rest of the request and asks again.
        case requestUnderway
        /// The connection must be closed.
        case close
        /// The connection carries a tunnel or another protocol.
        case switched
    }

    /// How far the request has come.
    public private(set) var request = State.idle
    /// How far the response has come.
    public private(set) var response = State.idle
    /// How many interim responses there were.
    public private(set) var interimCount = 0

    private var method = HTTPMethod.get
    private var offersSwitch = false
    private var isPersistent = true
    private let role: Role

    /// Makes the machine of one exchange.
    public init(_ role: Role) {
        self.role = role
    }

    /// What becomes of the connection, as of now.
    public var outcome: Outcome {
        switch response {
        case .expected, .body: .underway
        case .idle where request == .idle: .underway
        case .done where request == .done: .reusable
        case .done where request == .body: .requestUnderway
        case .switched: .switched
        case .idle, .held, .done, .last, .offered, .closed, .failed: .close
        }
    }

    /// Whether a server that is about to read the body must send a 100 (Continue) first: the client holds the body back, and
    /// no final response has begun, of which a 100 would seem to be a part.
    public var needsContinue: Bool { request == .held && response == .expected }
}

// MARK: - The request

extension ExchangeMachine {
    /// Reports the head of the request.
    ///
    /// - Parameters:
    ///   - head: the head as it is sent or was received.
    ///   - framing: how its body ends: ``BodyFraming/of(_:leniency:)``.
    /// - Returns: what follows on the request's side.
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` if a request has begun already, or the server has closed the connection.
    @discardableResult
    public mutating func beginRequest(
        _ head: HTTPRequest, framing: BodyFraming
    ) throws(HTTPMessageError) -> RequestAction {
        let holds = framing != .none && framing != .length(0) && head.expectsContinue
        return try beginRequest(
            head.method, framing: framing, expectsContinue: holds, isPersistent: head.isPersistent,
            offersSwitch: head.method == .connect || head.offersUpgrade)
    }

    /// Reports the head of a request of which the caller knows these facts already.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - framing: how the body ends.
    ///   - expectsContinue: the body is held back for a 100 (Continue).
    ///   - isPersistent: the client keeps the connection open after this request.
    ///   - offersSwitch: the request asks for a tunnel or another protocol.
    /// - Returns: as ``beginRequest(_:framing:)``.
    /// - Throws: as ``beginRequest(_:framing:)``.
    @discardableResult
    public mutating func beginRequest(
        _ method: HTTPMethod, framing: BodyFraming, expectsContinue: Bool = false, isPersistent: Bool = true,
        offersSwitch: Bool = false
    ) throws(HTTPMessageError) -> RequestAction {
        guard response == .idle else { throw fail(.outOfOrder, .request) }
        try move(.request, expectsContinue ? .expectingHead : .head)
        self.method = method
        self.offersSwitch = offersSwitch
        self.isPersistent = self.isPersistent && isPersistent
        response = .expected
        if framing == .none || framing == .length(0) {
            try endRequest()
            return .complete
        }
        return expectsContinue ? .awaitContinue : .body
    }

    /// Reports that a part of the body was sent or received.
    ///
    /// A client may send its body without waiting for the 100 (Continue) that it asked for; none is sent then.
    ///
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` outside a body.
    public mutating func requestData() throws(HTTPMessageError) {
        if request != .body { try move(.request, .data) }
    }

    /// Lets a body that was held back follow: the client waits no longer for a 100 (Continue), or the server has sent one.
    ///
    /// - Returns: true if the body was held back until now.
    @discardableResult
    public mutating func permitBody() -> Bool {
        guard request == .held else { return false }
        request = .body
        return true
    }

    /// Reports the end of the request's body.
    ///
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` outside a body.
    public mutating func endRequest() throws(HTTPMessageError) {
        // Once the final response has begun, the offer was declined.
        try move(.request, offersSwitch && response == .expected ? .offer : .end)
        settle()
    }

    /// Reports that the rest of the request will not be sent, or not be read. Has no effect on a complete one.
    public mutating func abandonRequest() {
        guard let state = ExchangeMachine.next(.request, request, .abandonment) else { return }
        request = state
        settle()
    }

    /// Reports, at a server, that what came is not a request, or that it did not come in time: a response may refuse it, and
    /// is the last one.
    public mutating func refuseRequest() {
        guard let state = ExchangeMachine.next(.request, request, .malformation) else { return }
        request = state
        isPersistent = false
        if response == .idle { response = .expected }
    }

    /// Reports that the client sends nothing more on this connection.
    ///
    /// - Throws: ``HTTPMessageError/Code/truncated`` within a request. A response may still be under way otherwise.
    public mutating func closeRequest() throws(HTTPMessageError) {
        try move(.request, .close, or: .truncated)
        isPersistent = false
        settle()
    }
}

// MARK: - The response

extension ExchangeMachine {
    /// Reports the head of a response.
    ///
    /// - Parameters:
    ///   - head: the head as it is sent or was received.
    ///   - leniency: what to tolerate of a peer's framing fields.
    /// - Returns: what follows.
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` for a response that was not expected, or that switches to a protocol that
    ///   the request did not offer; ``HTTPMessageError/Code/tooManyInterimResponses``; what ``BodyFraming/of(_:to:leniency:)``
    ///   throws.
    @discardableResult
    public mutating func beginResponse(
        _ head: HTTPResponse, leniency: HTTPLeniency = .strict
    ) throws(HTTPMessageError) -> ResponseAction {
        let status = head.status.code
        if status < 200, status != 101 {
            try move(.response, .interim)
            interimCount += 1
            guard interimCount <= HTTPLimits.interimResponses else { throw fail(.tooManyInterimResponses, .response) }
            return status == 100 && permitBody() ? .continueRequest : .interim
        }
        let framing: BodyFraming
        do throws(HTTPMessageError) {
            framing = try BodyFraming.of(head, to: method, leniency: leniency)
        } catch {
            response = .failed
            throw error
        }
        if framing == .tunnel {
            guard request == .offered else { throw fail(.outOfOrder, .response) }
            try move(.response, .switching)
            request = .switched
            return .switchProtocol
        }
        try move(.response, .head)
        let stopsRequest = request == .held || (request == .body && status >= 300)
        isPersistent = isPersistent && head.isPersistent && framing != .untilClose
        // The client may send the body that it holds back, or may not: where the next request begins is unknown.
        if request == .held { request = .last }
        if request == .offered { request = .done }
        if framing == .none || framing == .length(0) { try endResponse() } else { settle() }
        return .body(framing, stopsRequest: stopsRequest)
    }

    /// Reports that a part of the body was sent or received.
    ///
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` outside a body.
    public mutating func responseData() throws(HTTPMessageError) {
        if response != .body { try move(.response, .data) }
    }

    /// Reports the end of the response's body.
    ///
    /// Has no effect if the head said that there is no body, so that a driver may report each end.
    ///
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` before the head.
    public mutating func endResponse() throws(HTTPMessageError) {
        if response == .done || response == .last { return }
        try move(.response, .end)
        settle()
    }

    /// Reports that the server sends nothing more on this connection.
    ///
    /// A body that lasts until the connection ends is complete then: report that with ``endResponse()`` before.
    ///
    /// - Throws: ``HTTPMessageError/Code/truncated`` while a response is expected or under way.
    public mutating func closeResponse() throws(HTTPMessageError) {
        try move(.response, .close, or: .truncated)
        isPersistent = false
        abandonRequest()
        settle()
    }
}

// MARK: - The table

extension ExchangeMachine {
    /// The state of a message after an event; nil if the event is not allowed there.
    ///
    /// What has no row is refused, so a new state or event allows nothing by accident.
    public static func next(_ message: Message, _ state: State, _ event: Event) -> State? {
        switch (message, state, event) {
        case (.request, .idle, .head): .body
        case (.request, .idle, .expectingHead): .held
        case (.request, .held, .permission), (.request, .held, .data): .body
        case (.request, .body, .permission), (.request, .body, .data): .body
        case (.request, .held, .end), (.request, .body, .end): .done
        case (.request, .held, .offer), (.request, .body, .offer): .offered
        case (.request, .held, .abandonment), (.request, .body, .abandonment): .last
        case (.request, .idle, .malformation), (.request, .held, .malformation), (.request, .body, .malformation):
            .failed
        case (.response, .expected, .interim): .expected
        case (.response, .expected, .head): .body
        case (.response, .expected, .switching): .switched
        case (.response, .body, .data): .body
        case (.response, .body, .end): .done
        // Either side may close before, after and instead of a message, but not within one.
        case (_, .idle, .close), (_, .done, .close), (_, .last, .close), (_, .offered, .close), (_, .switched, .close),
            (_, .closed, .close):
            .closed
        case (_, .failed, .close): .failed
        default: nil
        }
    }

    private mutating func move(
        _ message: Message, _ event: Event, or code: HTTPMessageError.Code = .outOfOrder
    ) throws(HTTPMessageError) {
        let state = message == .request ? request : response
        guard let next = ExchangeMachine.next(message, state, event) else { throw fail(code, message) }
        if message == .request { request = next } else { response = next }
    }

    private mutating func fail(_ code: HTTPMessageError.Code, _ message: Message) -> HTTPMessageError {
        if message == .request { request = .failed } else { response = .failed }
        let isOwn = (message == .request) == (role == .client)
        return HTTPMessageError(code, fault: isOwn ? .caller : .peer)
    }

    /// A connection that does not persist makes each complete message the last one.
    private mutating func settle() {
        if isPersistent { return }
        if request == .done { request = .last }
        if response == .done { response = .last }
    }
}

extension HTTPRequest {
    /// Whether the client may hold its body back for a 100 (Continue) (RFC 9110 §10.1.1). Never in HTTP/1.0.
    var expectsContinue: Bool {
        version >= .http11 && fields.storage.list("expect", contains: "100-continue", "100-continue").0
    }

    /// Whether the request offers another protocol (RFC 9110 §7.8). Never in HTTP/1.0.
    var offersUpgrade: Bool {
        version >= .http11 && fields.contains(.upgrade)
            && fields.storage.list("connection", contains: "upgrade", "upgrade").0
    }
}
