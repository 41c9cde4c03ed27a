internal import HTTP2
internal import HTTPMessage
internal import StreamKit

/// The meaning of a request's head for the server: the rules of RFC 9112 §6 and RFC 9110 §10.1.1, §15.5, without I/O.
struct IncomingRequest {
    let request: HTTPRequest
    /// The framing of its body.
    let framing: BodyFraming
    /// Whether the client keeps the connection.
    let isPersistent: Bool
    /// The states of the request and its response.
    let exchange: ExchangeMachine

    /// - Parameters:
    ///   - received: The head.
    ///   - maximumBodyLength: The maximum length of the body.
    ///   - isSecure: Whether the connection uses TLS.
    ///   - isAccepted: Whether the server responds for an authority.
    /// - Throws: a refusal: 400 for ambiguous framing and for an absolute target that contradicts `Host`, 413 for a body whose declared
    ///   length is too large, 417 for an unknown expectation, 421 for a scheme or a host that is not the server's, 501 for an unknown
    ///   transfer coding and for `CONNECT`.
    init(
        _ received: HTTPRequest, maximumBodyLength: Int64, isSecure: Bool = false,
        isAccepted: (_ authority: String?) -> Bool = { _ in true }
    ) throws(RequestRefusal) {
        let request = try IncomingRequest.withHostOfTarget(received, isSecure: isSecure)
        guard isAccepted(request.authority) else { throw RequestRefusal(421) }
        self.request = request
        do throws(HTTPMessageError) {
            framing = try BodyFraming.of(request)
            if framing == .chunked, try request.fields.transferCodings != ["chunked"] {
                throw HTTPMessageError(.unknownTransferCoding)
            }
        } catch {
            throw RequestRefusal(error)
        }
        if case .length(let count) = framing, count > maximumBodyLength {
            throw RequestRefusal(HTTPMessageError(.bodyTooLong))
        }
        try IncomingRequest.checkMethod(request)
        isPersistent = request.isPersistent
        // RFC 9110 §10.1.1: an expectation of an HTTP/1.0 client is ignored.
        let hasExpectation = request.version >= .http11 && request.fields.contains(.expect)
        if hasExpectation {
            try IncomingRequest.checkExpectation(request)
        }
        var exchange = ExchangeMachine(.server)
        do throws(HTTPMessageError) {
            let hasBody = framing != .none && framing != .length(0)
            try exchange.beginRequest(
                request.method, framing: framing, expectsContinue: hasExpectation && hasBody,
                isPersistent: isPersistent, offersSwitch: IncomingRequest.offersUpgrade(request))
        } catch {
            throw RequestRefusal(error)
        }
        self.exchange = exchange
    }

    /// Checks the head of a request of HTTP/2, whose framing and syntax its machine has checked.
    ///
    /// - Throws: a refusal: 413 for a body whose declared length is too large, 414 for a target that is too long, 417 for an unknown
    ///   expectation, 421 for a scheme or a host that is not the server's, 501 for `CONNECT`.
    static func check(_ received: HTTP2Request, _ configuration: HTTPServer.Configuration) throws(RequestRefusal) {
        let request = received.head
        try checkMethod(request)
        // The scheme is the one that the client of a proxy has used, so it need not be that of the connection.
        guard ["http", "https"].contains(received.scheme) else { throw RequestRefusal(421) }
        guard (configuration.hosts ?? .any).accepts(request.authority) else { throw RequestRefusal(421) }
        guard request.target.bytes.count <= configuration.limits.lineLength else {
            throw RequestRefusal(HTTPMessageError(.lineTooLong), isInStartLine: true)
        }
        try checkExpectation(request)
        if let length = request.fields[.contentLength].flatMap({ Int64($0) }), length > configuration.limits.bodyLength
        {
            throw RequestRefusal(HTTPMessageError(.bodyTooLong))
        }
    }

    /// Refuses `CONNECT`: a tunnel cannot be answered with a message.
    private static func checkMethod(_ request: HTTPRequest) throws(RequestRefusal) {
        if request.method == .connect { throw RequestRefusal(501) }
    }

    private static func checkExpectation(_ request: HTTPRequest) throws(RequestRefusal) {
        let expectations = request.fields.values(for: .expect)
        guard expectations.allSatisfy({ $0.lowercased() == "100-continue" }) else { throw RequestRefusal(417) }
    }

    /// Whether the connection can carry another request although the handler has not read the whole body: the rest is short enough to be
    /// read and dropped, and its client sends it without waiting for a 100 (Continue) that will not come.
    ///
    /// - Parameters:
    ///   - exchange: the current states.
    ///   - decoder: what has been read of the body.
    ///   - limit: the most bytes to drop.
    func permitsAnother(_ exchange: ExchangeMachine, after decoder: BodyDecoder, unread limit: Int64) -> Bool {
        if decoder.isComplete { return true }
        if exchange.request == .held { return false }
        guard case .length(let count) = framing else { return true }
        return count - decoder.payloadCount <= limit
    }

    /// Replaces `Host` by the host of an absolute target (RFC 9112 §3.2.2), so that both are the same for the handler.
    ///
    /// - Throws: a 400 if they differ in more than the case of letters and the default port: another program could obey the other one.
    ///   A 421 for a scheme that the connection does not carry: `https` without TLS (RFC 9110 §7.4), and any but `http` and `https`.
    private static func withHostOfTarget(_ request: HTTPRequest, isSecure: Bool) throws(RequestRefusal) -> HTTPRequest {
        let target = request.target
        guard target.form == .absolute else { return request }
        let scheme = lowercased(target.bytes.prefix { $0 != UInt8(ascii: ":") })
        let isHTTPS = scheme.elementsEqual("https".utf8)
        guard isHTTPS ? isSecure : scheme.elementsEqual("http".utf8), let authority = target.authority else {
            throw RequestRefusal(421)
        }
        let defaultPort = isHTTPS ? ":443" : ":80"
        func comparable(_ text: String) -> [UInt8] {
            let bytes = lowercased(text.utf8)
            for suffix in [defaultPort, ":"] where bytes.reversed().starts(with: suffix.utf8.reversed()) {
                return bytes.dropLast(suffix.utf8.count)
            }
            return bytes
        }
        if let host = request.fields[.host], comparable(host) != comparable(authority) {
            throw RequestRefusal(HTTPMessageError(.invalidHost))
        }
        var request = request
        do throws(HTTPMessageError) {
            try request.fields.set(authority, for: .host)
        } catch {
            throw RequestRefusal(error)
        }
        return request
    }

    private static func lowercased(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Whether the request offers to switch to another protocol (RFC 9110 §7.8).
    private static func offersUpgrade(_ request: HTTPRequest) -> Bool {
        guard request.version >= .http11, request.fields.contains(.upgrade) else { return false }
        return request.fields.connectionOptions.contains("upgrade")
    }
}

extension HTTPRequest {
    /// Whether `Upgrade` names a protocol (RFC 9110 §7.8). Only the case of ASCII letters is ignored.
    func offers(_ protocolName: String) -> Bool {
        let lower = { (byte: UInt8) in (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
        return fields.values(for: .upgrade).contains { value in
            value.utf8.split(separator: UInt8(ascii: ",")).contains { element in
                SetCookie.trimmed(Array(element)[...]).elementsEqual(protocolName.utf8) { lower($0) == lower($1) }
            }
        }
    }
}

/// A request that the server answers itself, because it must not be passed to the handler. Over HTTP/1.1, the connection is then closed, since
/// the start of the next request is unknown.
struct RequestRefusal: Error, Equatable {
    let status: HTTPStatus
    /// The rule that was broken.
    let error: HTTPMessageError?

    init(_ status: HTTPStatus, _ error: HTTPMessageError? = nil) {
        self.status = status
        self.error = error
    }

    /// Makes the refusal of a client that has not sent its request in time (RFC 9110 §15.5.9). Returns nil if the client is gone, or has not
    /// begun a request: an idle connection is closed without a response.
    ///
    /// - Parameters:
    ///   - error: the error that has ended the wait for the client.
    ///   - hasBegun: whether a part of the request has arrived.
    init?(after error: StreamError, hasBegun: Bool) {
        guard error == .timedOut, hasBegun else { return nil }
        self.init(.requestTimeout)
    }

    /// The body of the response.
    var text: String { "\(status) \(status.standardPhrase)\n" }

    /// The number of bytes of ``text``.
    var bodyLength: Int64 { Int64(text.utf8.count) }

    /// Makes the refusal for a parser's error.
    ///
    /// - Parameter isInStartLine: whether the first line had not ended.
    init(_ error: HTTPMessageError, isInStartLine: Bool = false) {
        self.init(RequestRefusal.status(of: error.code, isInStartLine), error)
    }

    private static func status(of code: HTTPMessageError.Code, _ isInStartLine: Bool) -> HTTPStatus {
        switch code {
        case .bodyTooLong: 413
        case .lineTooLong, .headTooLong: isInStartLine ? 414 : 431
        case .tooManyFields: 431
        case .unknownTransferCoding: 501
        case .unsupportedVersion: 505
        // All other codes mean that the message is malformed, and so will new ones.
        default: 400
        }
    }
}
