/// The state machine of one request and its response: what each side may send next, and whether the connection can be reused.
///
/// Clients and servers use the same machine. Both report the heads, data and ends of the two messages, regardless of whether they
/// send or receive them. The machine performs no I/O and reads no clock. It implements the rules that connect the two messages:
/// 100 (Continue), early responses, persistence, upgrades and tunnels (RFC 9110 §10.1.1, §15.2, §7.8; RFC 9112 §9).
///
/// ```swift
/// var exchange = ExchangeMachine(.client)
/// var request = try HTTPRequest(method: .put, target: "/file")
/// try request.fields.append("100-continue", for: .expect)
///
/// // The client has sent the head. It sends the body after a 100 (Continue), or after a time limit of its choice.
/// try exchange.beginRequest(request, framing: .length(5))  // .awaitContinue
/// try exchange.beginResponse(HTTPResponse(status: .continue))  // .continueRequest: send the body
/// try exchange.endRequest()
/// try exchange.beginResponse(HTTPResponse(status: .noContent))  // .body(.none, stopsRequest: false)
/// try exchange.endResponse()
/// exchange.outcome  // .reusable: the next request needs a new machine
/// ```
///
/// Theory of operation. Each of the two messages has a ``State``. The table ``next(_:_:_:)`` defines which ``Event`` each state
/// allows, and the state that follows. The methods that report an event also contain the few rules by which an event of one
/// message changes the state of the other. If the table does not allow an event, the method throws; the message has then failed
/// and the connection is unusable.
///
/// The machine represents an exchange, not a connection, so that an exchange on an HTTP/2 stream can use it as well. There,
/// nothing closes the connection, and ``Outcome/reusable`` means that the stream has ended.
public struct ExchangeMachine: Sendable {
    /// The side that uses the machine. It only determines the ``HTTPMessageError/fault`` of errors.
    public enum Role: Hashable, Sendable, CaseIterable {
        /// The side that sends the request.
        case client
        /// The side that sends the response.
        case server
    }

    /// The messages of an exchange.
    public enum Message: Hashable, Sendable, CaseIterable {
        /// The message from the client to the server.
        case request
        /// The message from the server to the client.
        case response
    }

    /// The states of a message.
    public enum State: Hashable, Sendable, CaseIterable {
        /// The message has not begun and is not expected.
        case idle
        /// Response: the request has begun, and the head of the final response is expected.
        case expected
        /// Request: the head was sent, and the body waits for a 100 (Continue).
        case held
        /// The head was sent. Data or the end of the message follows.
        case body
        /// The message is complete, and another one may follow on the connection.
        case done
        /// The message is complete or was abandoned, and is the last of its sender on this connection.
        case last
        /// Request: it is complete and requests a tunnel or another protocol. The response decides.
        case offered
        /// The connection is a tunnel or carries another protocol.
        case switched
        /// The sender has closed its side between messages.
        case closed
        /// The message was malformed, truncated or out of order.
        case failed
    }

    /// The events of a message.
    public enum Event: Hashable, Sendable, CaseIterable {
        /// The head of the request or of the final response.
        case head
        /// The head of a request whose body waits for a 100 (Continue).
        case expectingHead
        /// The head of an interim response other than 101.
        case interim
        /// The head of a response that switches the protocol: a 101, or a 2xx to `CONNECT`.
        case switching
        /// The body of the request may follow: a 100 (Continue) was sent, or the client no longer waits for it.
        case permission
        /// A part of the body.
        case data
        /// The end of the body.
        case end
        /// The end of a request for a tunnel or another protocol.
        case offer
        /// The decision not to send or not to read the rest of the message.
        case abandonment
        /// Bytes that are not a valid request.
        case malformation
        /// The close of the sender's side of the connection.
        case close
    }

    /// The action of the driver after the head of a request.
    public enum RequestAction: Hashable, Sendable {
        /// Send or read the body, then call ``ExchangeMachine/endRequest()``.
        case body
        /// The body waits for a 100 (Continue). A client sends the body after ``ResponseAction/continueRequest``, or calls
        /// ``ExchangeMachine/permitBody()`` to stop waiting. A server sends a 100 before it reads the body.
        case awaitContinue
        /// None: the request has no body and is complete.
        case complete
    }

    /// The action of the driver after the head of a response.
    public enum ResponseAction: Hashable, Sendable {
        /// Continue to wait: this is an interim response, which the final one follows.
        case interim
        /// Send the request's body, which was waiting for this 100 (Continue). The final response follows.
        case continueRequest
        /// Read or send the body of the final response, with this framing, then call ``ExchangeMachine/endResponse()``. For
        /// `.none`, the response is complete already.
        ///
        /// If `stopsRequest` is true, a client must not send the rest of the request, if any is left: the server has rejected it or
        /// does not need its body (RFC 9110 §10.1.1, RFC 9112 §9.5). A driver that reports a head before it has sent it may have to
        /// stop even within that.
        case body(BodyFraming, stopsRequest: Bool)
        /// Switch protocols: all further bytes belong to the tunnel or the other protocol.
        case switchProtocol
    }

    /// The effect of an exchange on its connection.
    public enum Outcome: Hashable, Sendable {
        /// The exchange has not ended.
        case underway
        /// Both messages are complete, and the connection may carry another exchange.
        case reusable
        /// The response is complete, but the request is not.
        ///
        /// A client closes the connection. A server closes it as well, or reads the rest of the request and checks
        /// ``ExchangeMachine/outcome`` again.
        case requestUnderway
        /// The connection must be closed.
        case close
        /// The connection carries a tunnel or another protocol.
        case switched
    }

    /// The state of the request.
    public private(set) var request = State.idle
    /// The state of the response.
    public private(set) var response = State.idle
    /// The number of interim responses so far.
    public private(set) var interimCount = 0

    private var method = HTTPMethod.get
    private var offersSwitch = false
    private var isPersistent = true
    private let role: Role

    /// Creates the machine of one exchange.
    public init(_ role: Role) {
        self.role = role
    }

    /// The current effect of the exchange on its connection.
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

    /// Whether a server must send a 100 (Continue) before it reads the body.
    ///
    /// True while the client waits for it and the final response has not begun. After that, a 100 would be mistaken for a part of
    /// the response.
    public var needsContinue: Bool { request == .held && response == .expected }
}

// MARK: - The request

extension ExchangeMachine {
    /// Reports the head of the request.
    ///
    /// - Parameters:
    ///   - head: The head that is sent or was received.
    ///   - framing: The framing of the body, as returned by ``BodyFraming/of(_:leniency:)``.
    /// - Returns: The next action for the request.
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` if a request has already begun or the server has closed the connection.
    @discardableResult
    public mutating func beginRequest(
        _ head: HTTPRequest, framing: BodyFraming
    ) throws(HTTPMessageError) -> RequestAction {
        let holds = framing != .none && framing != .length(0) && head.expectsContinue
        return try beginRequest(
            head.method, framing: framing, expectsContinue: holds, isPersistent: head.isPersistent,
            offersSwitch: head.method == .connect || head.offersUpgrade)
    }

    /// Reports the head of a request whose properties the caller has already determined.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - framing: The framing of the body.
    ///   - expectsContinue: Whether the body waits for a 100 (Continue).
    ///   - isPersistent: Whether the client keeps the connection open after this request.
    ///   - offersSwitch: Whether the request is for a tunnel or another protocol.
    /// - Returns: The next action for the request.
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` if a request has already begun or the server has closed the connection.
    @discardableResult
    public mutating func beginRequest(
        _ method: HTTPMethod, framing: BodyFraming, expectsContinue: Bool = false, isPersistent: Bool = true,
        offersSwitch: Bool = false
    ) throws(HTTPMessageError) -> RequestAction {
        guard response == .idle else { throw fail(.outOfOrder, .request) }
        try move(.request, expectsContinue ? .expectingHead : .head)
        if method != .get { self.method = method }  // It is GET already, and assigning it would count references.
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
    /// A client may send its body without waiting for the 100 (Continue) that it expects; the server then sends none.
    ///
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` if the request's body has not begun or has ended.
    public mutating func requestData() throws(HTTPMessageError) {
        if request != .body { try move(.request, .data) }
    }

    /// Ends the wait for a 100 (Continue), because the server has sent it or the client no longer waits for it.
    ///
    /// - Returns: Whether the body was waiting.
    @discardableResult
    public mutating func permitBody() -> Bool {
        guard request == .held else { return false }
        request = .body
        return true
    }

    /// Reports the end of the request's body.
    ///
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` if the request's body has not begun or has ended.
    public mutating func endRequest() throws(HTTPMessageError) {
        // A final response that has begun has declined the offer.
        try move(.request, offersSwitch && response == .expected ? .offer : .end)
        settle()
    }

    /// Reports that the rest of the request will not be sent or not be read. Has no effect on a complete request.
    public mutating func abandonRequest() {
        guard let state = ExchangeMachine.next(.request, request, .abandonment) else { return }
        request = state
        settle()
    }

    /// Reports, on a server, that the received bytes are not a valid request, or that the request did not arrive in time.
    ///
    /// The server may still send a response, which is the last one on the connection.
    public mutating func refuseRequest() {
        guard let state = ExchangeMachine.next(.request, request, .malformation) else { return }
        request = state
        isPersistent = false
        if response == .idle { response = .expected }
    }

    /// Reports that the client has closed its side of the connection. The response may continue.
    ///
    /// - Throws: ``HTTPMessageError/Code/truncated`` if the request is incomplete.
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
    ///   - head: The head that is sent or was received.
    ///   - leniency: The tolerated deviations in the framing fields.
    ///   - name: The protocol that a 101 must choose: the value of `Upgrade` in the request; nil for any.
    /// - Returns: The next action.
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` if no response is expected, or if the response switches to a protocol that the
    ///   request has not offered (RFC 9110 §7.8); ``HTTPMessageError/Code/tooManyInterimResponses``; and the errors of
    ///   ``BodyFraming/of(_:to:leniency:)``.
    @discardableResult
    public mutating func beginResponse(
        _ head: HTTPResponse, leniency: HTTPLeniency = .strict, offering name: @autoclosure () -> String? = nil
    ) throws(HTTPMessageError) -> ResponseAction {
        let startLine = head.startLine
        let status = Int(startLine.status ?? 200)
        if status < 200, status != 101 {
            try move(.response, .interim)
            interimCount += 1
            guard interimCount <= HTTPLimits.interimResponses else { throw fail(.tooManyInterimResponses, .response) }
            return status == 100 && permitBody() ? .continueRequest : .interim
        }
        if status == 101, let name = name(), !ExchangeMachine.accepts(head, offering: name) {
            throw fail(.outOfOrder, .response)
        }
        let fields = FramingFields(head.fields.storage, startLine.version, leniency)
        let framing: BodyFraming
        do throws(HTTPMessageError) {
            framing = try fields.framing(of: startLine, to: method, in: head.fields.storage)
        } catch {
            response = .failed
            throw error
        }
        return try beginFinalResponse(status, framing, isPersistent: fields.isPersistent(in: head.fields.storage))
    }

    /// Reports the head of a final response whose properties the caller has already determined.
    ///
    /// - Parameters:
    ///   - status: The status, which is that of a final response.
    ///   - framing: The framing of the body; `.tunnel` for a response that switches protocols.
    ///   - isPersistent: Whether the server keeps the connection open after this response.
    /// - Returns: The next action.
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` if no response is expected, or if the response switches protocols without an
    ///   offer in the request.
    @discardableResult
    public mutating func beginResponse(
        _ status: HTTPStatus, framing: BodyFraming, isPersistent: Bool
    ) throws(HTTPMessageError) -> ResponseAction {
        try beginFinalResponse(status.code, framing, isPersistent: isPersistent)
    }

    @inline(__always)
    private mutating func beginFinalResponse(
        _ status: Int, _ framing: BodyFraming, isPersistent: Bool
    ) throws(HTTPMessageError) -> ResponseAction {
        if framing == .tunnel {
            guard request == .offered else { throw fail(.outOfOrder, .response) }
            try move(.response, .switching)
            request = .switched
            return .switchProtocol
        }
        try move(.response, .head)
        let stopsRequest = request == .held || status >= 300
        self.isPersistent = self.isPersistent && isPersistent && framing != .untilClose
        // The client may or may not send the waiting body, so the start of the next request is unknown.
        if request == .held { request = .last }
        if request == .offered { request = .done }
        if framing == .none || framing == .length(0) { try endResponse() } else { settle() }
        return .body(framing, stopsRequest: stopsRequest)
    }

    /// Reports that a part of the body was sent or received.
    ///
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` if the response's body has not begun or has ended.
    public mutating func responseData() throws(HTTPMessageError) {
        if response != .body { try move(.response, .data) }
    }

    /// Reports the end of the response's body.
    ///
    /// Has no effect if the response is already complete, so that a driver can report the end of every response, even of one
    /// without a body.
    ///
    /// - Throws: ``HTTPMessageError/Code/outOfOrder`` before the head.
    public mutating func endResponse() throws(HTTPMessageError) {
        if response == .done || response == .last { return }
        try move(.response, .end)
        settle()
    }

    /// Reports that the server has closed its side of the connection.
    ///
    /// If the close completes a body, call ``endResponse()`` first.
    ///
    /// - Throws: ``HTTPMessageError/Code/truncated`` if a response is expected or incomplete.
    public mutating func closeResponse() throws(HTTPMessageError) {
        try move(.response, .close, or: .truncated)
        isPersistent = false
        abandonRequest()
        settle()
    }
}

// MARK: - Decisions of a client

extension ExchangeMachine {
    /// Whether a 101 has chosen the protocol that the request offered. Names of protocols are compared without regard to case.
    private static func accepts(_ response: HTTPResponse, offering name: String) -> Bool {
        response.fields[.upgrade]?.utf8.elementsEqual(name.utf8) {
            HTTPGrammar.lowercased($0) == HTTPGrammar.lowercased($1)
        } ?? false
    }

    /// Whether a response refuses the expectation of a body that waits for a 100 (Continue): the client sends the request again
    /// without it (RFC 9110 §10.1.1). To be asked before the response is reported.
    ///
    /// - Parameter status: The status of the response.
    public func isExpectationRefused(by status: HTTPStatus) -> Bool {
        request == .held && status == .expectationFailed
    }

    /// Whether a response may have crossed a request that was sent on an idle connection: the server has not seen the request, which
    /// may be sent again on another connection (RFC 9110 §15.5.9).
    ///
    /// - Parameter status: The status of the final response.
    public func hasCrossed(_ status: HTTPStatus) -> Bool {
        status == .requestTimeout && interimCount == 0 && method.isIdempotent
    }

    /// Whether the request may be sent again on another connection, because this one has failed.
    ///
    /// It may if no response has begun, and either the server cannot have begun to process the request, or the method is idempotent
    /// (RFC 9110 §9.2.2).
    ///
    /// - Parameter isSent: Whether at least one byte of the request was sent.
    public func mayRepeatRequest(isSent: Bool) -> Bool {
        response == .expected && interimCount == 0 && (!isSent || method.isIdempotent)
    }

    /// Makes this exchange the last one of the connection if a server has refused a request of which much was sent. To be called after
    /// ``beginResponse(_:leniency:offering:)``.
    ///
    /// Such a server may not have read the request, and reads it as the next one, or never reads the next one (squid 5.7).
    ///
    /// - Parameters:
    ///   - status: The status of the response.
    ///   - bodyBytesSent: The number of bytes of the request's body that were sent; more than 64 KiB are much.
    public mutating func endPersistence(ifRefused status: HTTPStatus, after bodyBytesSent: Int64) {
        guard status.code >= 400, bodyBytesSent > 64 * 1024 else { return }
        isPersistent = false
        settle()
    }
}

// MARK: - The table

extension ExchangeMachine {
    /// Returns the state of a message after an event, or nil if the state does not allow the event.
    ///
    /// Combinations without a row are not allowed, so that a new state or event allows nothing by accident.
    @inline(__always)  // With a constant message and event, as everywhere here, little of the table is left.
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
        // Either side may close the connection before and after a message, but not within one.
        case (_, .idle, .close), (_, .done, .close), (_, .last, .close), (_, .offered, .close), (_, .switched, .close),
            (_, .closed, .close):
            .closed
        case (_, .failed, .close): .failed
        default: nil
        }
    }

    @inline(__always)
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

    /// Marks complete messages as the last ones if the connection does not persist.
    private mutating func settle() {
        if isPersistent { return }
        if request == .done { request = .last }
        if response == .done { response = .last }
    }
}

extension HTTPRequest {
    /// Whether the client may wait for a 100 (Continue) before it sends the body (RFC 9110 §10.1.1). Always false for HTTP/1.0.
    var expectsContinue: Bool {
        version >= .http11 && fields.storage.list("expect", contains: "100-continue")
    }

    /// Whether the request offers to switch to another protocol (RFC 9110 §7.8). Always false for HTTP/1.0.
    var offersUpgrade: Bool {
        version >= .http11 && fields.contains(.upgrade)
            && fields.storage.list("connection", contains: "upgrade")
    }
}
