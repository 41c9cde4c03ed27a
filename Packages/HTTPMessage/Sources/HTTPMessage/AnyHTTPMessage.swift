public import FoundationEssentials

/// A request or a response, made by hand or filled bit by bit with received bytes: the shape of `CFHTTPMessage`.
///
/// ```swift
/// var message = AnyHTTPMessage(emptyRequest: false)
/// try message.append(bytes)
/// if message.isHeaderComplete {
///     print(message.statusLine ?? "", message.fields[.contentType] ?? "")
/// }
/// ```
///
/// Bytes after the head go to ``body`` as they are: the message looks neither at `Content-Length` nor at chunks, and
/// never ends. ``MessageParser`` finds the end. A value: copies are independent, also while they are being filled.
public struct AnyHTTPMessage: Sendable {
    /// Whether this is a request, or will be. Replaces `CFHTTPMessageIsRequest`.
    public let isRequest: Bool

    private var content: Content
    private var isParsed = false

    private enum Content: Sendable {
        case parsing(HeadParser, [UInt8])
        case failed
        case request(HTTPRequest)
        case response(HTTPResponse)
    }

    /// Wraps a request. Replaces `CFHTTPMessageCreateRequest`.
    public init(_ request: HTTPRequest) {
        isRequest = true
        content = .request(request)
    }

    /// Wraps a response. Replaces `CFHTTPMessageCreateResponse`.
    public init(_ response: HTTPResponse) {
        isRequest = false
        content = .response(response)
    }

    /// Makes a message to be filled with ``append(_:)``. Replaces `CFHTTPMessageCreateEmpty`.
    ///
    /// By default it takes what a client should tolerate, as `CFHTTPMessage` did: lines that end in LF alone, folded lines.
    /// ``departures`` says whether that was needed. A server passes `.strict`.
    ///
    /// ``HTTPLimits/bodyLength`` bounds the body too, which this type holds whole; set it for bytes from a stranger.
    public init(
        emptyRequest isRequest: Bool, limits: HTTPLimits = .default, leniency: HTTPLeniency = .client
    ) {
        self.isRequest = isRequest
        content = .parsing(HeadParser(isRequest ? .request : .response, limits: limits, leniency: leniency), [])
        bodyLimit = limits.bodyLength
    }

    private var bodyLimit = Int64.max
    /// Set before the head was complete.
    private var earlyBody: [UInt8]?
    /// What was tolerated in the head.
    ///
    /// Empty for a head in the strict form of RFC 9112, until the head is complete, and for a message made by hand.
    public private(set) var departures = HTTPLeniency.strict

    /// Adds received bytes: to the head until it is complete, then to the body.
    ///
    /// Throws if they cannot be a message; the message is then unusable. Throws `parserFinished` for a message that was
    /// made by hand. Replaces `CFHTTPMessageAppendBytes`.
    public mutating func append(_ bytes: some Collection<UInt8>) throws(HTTPMessageError) {
        switch content {
        case .parsing(var parser, var held):
            content = .failed  // unless the end below is reached; also gives up the second reference to `held`
            held += bytes
            guard case .complete(let count) = try parser.parse(held.span.bytes) else {
                content = .parsing(parser, held)
                return
            }
            let rest = count < held.count || bytes.isEmpty ? Array(held[count...]) : []
            content =
                isRequest
                ? .request(try parser.makeRequest(from: held.span.bytes))
                : .response(try parser.makeResponse(from: held.span.bytes))
            departures = parser.departures
            isParsed = true
            if let earlyBody = earlyBody.take() { body = earlyBody }
            if !rest.isEmpty { try appendToBody(rest) }
        case .request, .response:
            guard isParsed else { throw HTTPMessageError(.parserFinished, fault: .caller) }
            try appendToBody(bytes)
        case .failed:
            throw HTTPMessageError(.parserFinished, fault: .caller)
        }
    }

    /// Whether the head was received up to its empty line; until then there is nothing to read. False for messages made
    /// by hand. Replaces `CFHTTPMessageIsHeaderComplete`.
    public var isHeaderComplete: Bool { isParsed }

    /// The request, once it is complete; nil for a response.
    public var request: HTTPRequest? {
        if case .request(let request) = content { request } else { nil }
    }

    /// The response, once it is complete; nil for a request.
    public var response: HTTPResponse? {
        if case .response(let response) = content { response } else { nil }
    }

    /// The body, nil if there is none. Setting it changes no field. One that is set while the head is incomplete is kept, and
    /// bytes that are received after the head are added to it.
    ///
    /// Replaces `CFHTTPMessageSetBody` and `CFHTTPMessageCopyBody`.
    public var body: [UInt8]? {
        get { request?.body ?? response?.body ?? earlyBody }
        set {
            switch content {
            case .request(var request):
                request.body = newValue
                content = .request(request)
            case .response(var response):
                response.body = newValue
                content = .response(response)
            case .parsing, .failed: earlyBody = newValue
            }
        }
    }

    /// The fields, in order; none until the head is complete.
    public var fields: HTTPFields { request?.fields ?? response?.fields ?? HTTPFields() }

    /// Sets or replaces a field; nil removes it. Replaces `CFHTTPMessageSetHeaderFieldValue`.
    ///
    /// Throws ``HTTPMessageError/Code/invalidFieldValue`` for control characters, and
    /// ``HTTPMessageError/Code/incompleteMessage`` while the head is incomplete.
    public mutating func setField(_ name: HTTPFieldName, to value: String?) throws(HTTPMessageError) {
        switch content {
        case .request(var request):
            try request.fields.set(value, for: name)
            content = .request(request)
        case .response(var response):
            try response.fields.set(value, for: name)
            content = .response(response)
        case .parsing, .failed:
            throw HTTPMessageError(.incompleteMessage, fault: .caller)
        }
    }

    /// The method of a request. Replaces `CFHTTPMessageCopyRequestMethod`.
    public var method: HTTPMethod? { request?.method }

    /// The URL of a request. Replaces `CFHTTPMessageCopyRequestURL`.
    public var url: URL? { request?.url ?? response?.url }

    /// The status of a response. Replaces `CFHTTPMessageGetResponseStatusCode`.
    public var status: HTTPStatus? { response?.status }

    /// The first line of a response, without its line end. Replaces `CFHTTPMessageCopyResponseStatusLine`.
    public var statusLine: String? { response?.statusLine }

    /// The protocol version. Replaces `CFHTTPMessageCopyVersion`.
    public var version: HTTPVersion? { request?.version ?? response?.version }

    /// Head and body, as on the wire.
    ///
    /// Throws ``HTTPMessageError/Code/incompleteMessage`` while the head is incomplete. Replaces
    /// `CFHTTPMessageCopySerializedMessage`.
    public func serialized() throws(HTTPMessageError) -> [UInt8] {
        guard let bytes = request?.serialized() ?? response?.serialized() else {
            throw HTTPMessageError(.incompleteMessage, fault: .caller)
        }
        return bytes
    }

    private mutating func appendToBody(_ bytes: some Collection<UInt8>) throws(HTTPMessageError) {
        guard !bytes.isEmpty else { return }
        guard Int64(bytes.count) <= bodyLimit - Int64(bodyCount) else {
            content = .failed
            throw HTTPMessageError(.bodyTooLong)
        }
        // Taken out of the message first: with a second reference to it, each piece would copy the whole body.
        var all = body ?? []
        body = nil
        all += bytes
        body = all
    }

    private var bodyCount: Int {
        switch content {
        case .request(let request): request.body?.count ?? 0
        case .response(let response): response.body?.count ?? 0
        case .parsing, .failed: 0
        }
    }
}
