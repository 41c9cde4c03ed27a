extension HTTPRequest {
    /// Creates the request to a proxy for a tunnel to `authority`, which is `host:port` (RFC 9110 §9.3.6), with the field `Host`.
    ///
    /// - Throws: ``HTTPMessageError/Code/invalidTarget`` if `authority` is not in this form.
    @_spi(Packages) public init(connectingTo authority: String) throws(HTTPMessageError) {
        guard let target = RequestTarget(authority: authority) else {
            throw HTTPMessageError(.invalidTarget, fault: .caller)
        }
        try self.init(method: .connect, target: target)
        try fields.set(authority, for: .host)
    }
}

/// The response to one CONNECT over HTTP/1.1, from the bytes of the connection (RFC 9112 §3.2.3). No I/O.
///
/// ```swift
/// connection.write(try HTTPRequest(connectingTo: "www.example.org:443").serialized())
/// var exchange = ConnectExchange(maximumBodyLength: 4096)
/// var response: HTTPResponse?
/// while response == nil { response = try exchange.receive(connection.read()) }
/// ```
///
/// A 2xx has no body, regardless of its fields, and the bytes behind its head belong to the target. The body of a refusal is read as far as it
/// is framed, up to a limit, because proxies explain the refusal there.
@_spi(Packages) public struct ConnectExchange: Sendable {
    private let limits: HTTPLimits
    private let maximumBodyLength: Int
    private var heads: FinalHeadParser
    private var refusal: (head: HTTPResponse, body: BodyBeginning)?

    /// - Parameters:
    ///   - maximumBodyLength: The maximum number of bytes of a refusal's body; 0 to ignore the body and its framing.
    ///   - limits: The limits on the size of the response.
    public init(maximumBodyLength: Int, limits: HTTPLimits = .default) {
        self.limits = limits
        self.maximumBodyLength = maximumBodyLength
        heads = FinalHeadParser(limits: limits, leniency: .client)
    }

    /// What was received behind the last complete head, or behind the body of a refusal. Behind a 2xx, these are the first bytes of the
    /// target.
    public var surplus: [UInt8] { refusal?.body.surplus ?? heads.surplus }

    /// Whether the connection can carry another request, after a refusal.
    public var mayContinue: Bool {
        guard let refusal else { return false }
        return refusal.body.hasEndedByItself && refusal.head.isPersistent && refusal.body.surplus.isEmpty
    }

    /// Processes received bytes.
    ///
    /// - Returns: The final response; nil if more bytes are needed. With a 2xx, the tunnel is established. A refusal has the beginning of its
    ///   body.
    /// - Throws: An error if the bytes are not a valid response, or exceed a limit.
    public mutating func receive(_ bytes: [UInt8]) throws(HTTPMessageError) -> HTTPResponse? {
        if refusal == nil {
            guard let head = try heads.receive(bytes) else { return nil }
            if head.status == .switchingProtocols { throw HTTPMessageError(.invalidStatusCode, fault: .peer) }
            // Without its body, a refusal is understood whatever its framing is.
            if head.status.kind == .successful || maximumBodyLength == 0 { return head }
            let body = try BodyBeginning(of: head, to: .connect, upTo: maximumBodyLength, limits: limits)
            refusal = (head, body)
            try refusal?.body.receive(heads.surplus)
        } else {
            try refusal?.body.receive(bytes)
        }
        return refusal?.body.isComplete == true ? refusedResponse : nil
    }

    /// Processes the end of the connection.
    ///
    /// - Returns: The refusal, with the received part of its body.
    /// - Throws: ``HTTPMessageError/Code/truncated`` before the end of the head.
    public func receiveEnd() throws(HTTPMessageError) -> HTTPResponse {
        guard let response = refusedResponse else { throw HTTPMessageError(.truncated, offset: heads.surplus.count) }
        return response
    }

    private var refusedResponse: HTTPResponse? {
        guard let refusal else { return nil }
        var response = refusal.head
        response.body = refusal.body.bytes
        return response
    }
}
