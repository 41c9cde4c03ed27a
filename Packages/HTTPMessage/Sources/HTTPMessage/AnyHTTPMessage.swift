public import FoundationEssentials

/// A request or response that is created from its parts or filled incrementally with received bytes.
///
/// ```swift
/// var message = AnyHTTPMessage(emptyRequest: false)
/// try message.append(bytes)
/// if message.isHeaderComplete {
///     print(message.statusLine ?? "", message.fields[.contentType] ?? "")
/// }
/// ```
///
/// All bytes after the head are appended to ``body`` unchanged. The message interprets neither `Content-Length` nor chunked
/// coding and therefore has no end; use ``MessageParser`` to find the end of a message. Copies are independent, even of a
/// partially filled message.
///
/// This type has the interface of `CFHTTPMessage`, for code that is ported from it.
public struct AnyHTTPMessage: Sendable {
    /// Whether the message is a request. Known before the first byte arrives. Replaces `CFHTTPMessageIsRequest`.
    public let isRequest: Bool

    private var content: Content
    private var isParsed = false

    private enum Content: Sendable {
        case parsing(HeadParser, [UInt8])
        case failed
        case request(HTTPRequest)
        case response(HTTPResponse)
    }

    /// Creates a message from a request. Replaces `CFHTTPMessageCreateRequest`.
    public init(_ request: HTTPRequest) {
        isRequest = true
        content = .request(request)
        hasBody = !request.body.isEmpty
    }

    /// Creates a message from a response. Replaces `CFHTTPMessageCreateResponse`.
    public init(_ response: HTTPResponse) {
        isRequest = false
        content = .response(response)
        hasBody = !response.body.isEmpty
    }

    /// Creates an empty message, to be filled with ``append(_:)``.
    ///
    /// The default leniency is that of a client, as in `CFHTTPMessage`: it accepts lines that end in LF alone and folded
    /// lines, for example. ``toleratedDeviations`` reports which leniencies the head required. Servers should pass `.strict`.
    ///
    /// The message holds the whole body in memory. Set ``HTTPLimits/bodyLength`` if the bytes come from an untrusted peer.
    ///
    /// Replaces `CFHTTPMessageCreateEmpty`.
    public init(
        emptyRequest isRequest: Bool, limits: HTTPLimits = .default, leniency: HTTPLeniency = .client
    ) {
        self.isRequest = isRequest
        content = .parsing(HeadParser(isRequest ? .request : .response, limits: limits, leniency: leniency), [])
        maximumBodyLength = limits.bodyLength
    }

    private var maximumBodyLength = Int64.max
    /// Whether the message, whose head is known, has a body, which may be empty.
    private var hasBody = false
    /// A body that was set before the head was complete.
    private var earlyBody: [UInt8]?

    /// The leniencies that the received head required.
    ///
    /// Empty if the head conforms to RFC 9112, while the head is incomplete, and for a message that was not received.
    public private(set) var toleratedDeviations = HTTPLeniency.strict

    /// Appends received bytes to the head until it is complete, then to the body.
    ///
    /// Throws if the bytes are not a valid message or exceed a limit; the message is then unusable. Throws
    /// ``HTTPMessageError/Code/parserFinished`` for an unusable message and for one that was created from its parts.
    ///
    /// Replaces `CFHTTPMessageAppendBytes`.
    public mutating func append(_ bytes: some Collection<UInt8>) throws(HTTPMessageError) {
        switch content {
        case .parsing(var parser, var buffer):
            content = .failed  // Remains if an error is thrown. Also releases the second reference to `buffer`.
            buffer += bytes
            guard case .complete(let count) = try parser.parse(buffer.span.bytes) else {
                content = .parsing(parser, buffer)
                return
            }
            let rest = count < buffer.count || bytes.isEmpty ? Array(buffer[count...]) : []
            content =
                isRequest
                ? .request(try parser.makeRequest(from: buffer.span.bytes))
                : .response(try parser.makeResponse(from: buffer.span.bytes))
            toleratedDeviations = parser.toleratedDeviations
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

    /// Whether the whole head has been received, including its empty line.
    ///
    /// Until then, the message has no method, status or fields. False for a message that was created from its parts.
    ///
    /// Replaces `CFHTTPMessageIsHeaderComplete`.
    public var isHeaderComplete: Bool { isParsed }

    /// The request, once its head is complete; nil for a response.
    public var request: HTTPRequest? {
        if case .request(let request) = content { request } else { nil }
    }

    /// The response, once its head is complete; nil for a request.
    public var response: HTTPResponse? {
        if case .response(let response) = content { response } else { nil }
    }

    /// The body, or nil if the message has none: no byte has followed the head, and none was set. An empty body can be set.
    ///
    /// Setting the body changes no field, not even `Content-Length`. A body that is set while the head is incomplete is
    /// kept, and bytes that are received after the head are appended to it.
    ///
    /// Replaces `CFHTTPMessageSetBody` and `CFHTTPMessageCopyBody`.
    public var body: [UInt8]? {
        get {
            switch content {
            case .request(let request): hasBody ? request.body : nil
            case .response(let response): hasBody ? response.body : nil
            case .parsing, .failed: earlyBody
            }
        }
        set {
            switch content {
            case .request(var request):
                request.body = newValue ?? []
                content = .request(request)
                hasBody = newValue != nil
            case .response(var response):
                response.body = newValue ?? []
                content = .response(response)
                hasBody = newValue != nil
            case .parsing, .failed: earlyBody = newValue
            }
        }
    }

    /// The fields in order; empty until the head is complete.
    public var fields: HTTPFields { request?.fields ?? response?.fields ?? HTTPFields() }

    /// Sets or replaces a field; nil removes it.
    ///
    /// Throws ``HTTPMessageError/Code/invalidFieldValue`` if the value contains control characters, and
    /// ``HTTPMessageError/Code/incompleteMessage`` while the head is incomplete.
    ///
    /// Replaces `CFHTTPMessageSetHeaderFieldValue`.
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

    /// The method of a request; nil for a response. Replaces `CFHTTPMessageCopyRequestMethod`.
    public var method: HTTPMethod? { request?.method }

    /// The URL of a request, or the URL that a response came from, if known. Replaces `CFHTTPMessageCopyRequestURL`.
    public var url: URL? { request?.url ?? response?.url }

    /// The status of a response; nil for a request. Replaces `CFHTTPMessageGetResponseStatusCode`.
    public var status: HTTPStatus? { response?.status }

    /// The first line of a response without its line ending; nil for a request.
    ///
    /// Replaces `CFHTTPMessageCopyResponseStatusLine`.
    public var statusLine: String? { response?.statusLine }

    /// The protocol version. Replaces `CFHTTPMessageCopyVersion`.
    public var version: HTTPVersion? { request?.version ?? response?.version }

    /// Returns the head and body in wire format.
    ///
    /// Throws ``HTTPMessageError/Code/incompleteMessage`` while the head is incomplete.
    ///
    /// Replaces `CFHTTPMessageCopySerializedMessage`.
    public func serialized() throws(HTTPMessageError) -> [UInt8] {
        guard let bytes = request?.serialized() ?? response?.serialized() else {
            throw HTTPMessageError(.incompleteMessage, fault: .caller)
        }
        return bytes
    }

    private mutating func appendToBody(_ bytes: some Collection<UInt8>) throws(HTTPMessageError) {
        guard !bytes.isEmpty else { return }
        guard Int64(bytes.count) <= maximumBodyLength - Int64(bodyCount) else {
            content = .failed
            throw HTTPMessageError(.bodyTooLong)
        }
        // The body is removed from the message while it grows: a second reference would copy it for each piece.
        var all = body ?? []
        body = nil
        all += bytes
        body = all
    }

    private var bodyCount: Int {
        switch content {
        case .request(let request): request.body.count
        case .response(let response): response.body.count
        case .parsing, .failed: 0
        }
    }
}
