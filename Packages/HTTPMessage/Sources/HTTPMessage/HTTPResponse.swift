public import FoundationEssentials

/// A response: version, status, reason phrase, fields and a body.
///
/// A response is a value; copies are independent. It contains only what was set or received.
///
/// ```swift
/// var response = try HTTPResponse(status: .notFound)
/// response.body = Array("gone".utf8)
/// try response.fields.set("4", for: .contentLength)
/// response.statusLine  // "HTTP/1.1 404 Not Found"
/// ```
///
/// Replaces `CFHTTPMessageCreateResponse`. For received bytes, see ``MessageParser`` and ``AnyHTTPMessage``.
public struct HTTPResponse: Hashable, Sendable {
    /// The body in wire format; empty if there is none. Setting the body changes no field.
    ///
    /// A message of HTTP does not tell an empty body from none. ``AnyHTTPMessage/body`` does, as CFNetwork does.
    ///
    /// Replaces `CFHTTPMessageSetBody` and `CFHTTPMessageCopyBody`.
    public var body: [UInt8] {
        get { head.body }
        _modify { yield &head.body }
        set { head.body = newValue }
    }

    /// The URL that the response came from, set by the stream that received it. Nil for all other responses.
    public var url: URL? {
        get { link?.url }
        set { setLink(newValue, isFileComplete: isFileComplete) }
    }

    /// Whether the resource is complete in a file, set by the download that received the response. False for all other responses.
    ///
    /// The status alone does not say so: a 416 reports that an earlier download had received everything. Equality ignores this
    /// property.
    public var isFileComplete: Bool {
        get { link?.isFileComplete ?? false }
        set { setLink(url, isFileComplete: newValue) }
    }

    private var head: MessageHead
    private var link: MessageURL?

    /// Creates a response without fields. The default reason is the standard phrase of the status.
    ///
    /// Throws ``HTTPMessageError/Code/invalidReasonPhrase`` if the reason contains a control character other than tab.
    public init(
        status: HTTPStatus, reason: String? = nil, version: HTTPVersion = .http11
    ) throws(HTTPMessageError) {
        let phrase = reason ?? status.standardPhrase
        if let bad = phrase.utf8.enumerated().first(where: { !HTTPGrammar.isFieldByte($0.element) })?.offset {
            throw HTTPMessageError(.invalidReasonPhrase, offset: bad, fault: .caller)
        }
        let (versionBytes, code) = (version.bytes, status.bytes)
        head = MessageHead(
            versionBytes.span.bytes, code.span.bytes, phrase.utf8.span.bytes,
            startLine: StartLine(version: version, status: UInt16(status.code)))
    }

    /// Creates a response with fields.
    ///
    /// ```swift
    /// let response = try HTTPResponse(status: .ok, fields: ["Content-Type": "text/plain"])
    /// ```
    ///
    /// Throws the same error as ``init(status:reason:version:)``.
    public init(
        status: HTTPStatus, reason: String? = nil, version: HTTPVersion = .http11, fields: HTTPFields
    ) throws(HTTPMessageError) {
        try self.init(status: status, reason: reason, version: version)
        head.fields = fields
    }

    /// Creates a response from fields that were received in another format, as the machines of HTTP/2 do. The reason is the
    /// standard phrase of the status.
    @_spi(Packages) public init(status: HTTPStatus, version: HTTPVersion, fields builder: consuming HTTPFields.Builder)
    {
        let line = StartLine(version: version, status: UInt16(status.code))
        let (versionBytes, code, reason) = (version.bytes, status.bytes, status.standardPhrase)
        head = MessageHead(
            parsed: builder.fields(after: versionBytes.span.bytes, code.span.bytes, reason.utf8.span.bytes, line))
    }

    init(parsed fields: HTTPFields) {
        head = MessageHead(parsed: fields)
    }

    /// Sets ``url`` to the URL of the request that the response answers. The two messages share it. ``isFileComplete`` becomes
    /// false.
    public mutating func setURL(of request: HTTPRequest) {
        link = request.link ?? request.url.map { MessageURL($0) }
    }

    private mutating func setLink(_ url: URL?, isFileComplete: Bool) {
        link = url == nil && !isFileComplete ? nil : MessageURL(url, isFileComplete: isFileComplete)
    }

    var startLine: StartLine { head.startLine }

    /// The status code. Replaces `CFHTTPMessageGetResponseStatusCode`.
    public var status: HTTPStatus { HTTPStatus(unchecked: Int(head.startLine.status ?? 200)) }

    /// The reason phrase without leading and trailing whitespace. It may be empty.
    ///
    /// Clients should ignore it (RFC 9112 §4).
    public var reason: String {
        HTTPGrammar.text(HTTPGrammar.trimmed(head.bytes(head.startLine.second)))
    }

    /// The protocol version. Replaces `CFHTTPMessageCopyVersion`.
    public var version: HTTPVersion { head.startLine.version }

    /// The first line of the response without its line ending; empty for HTTP/0.9.
    ///
    /// Replaces `CFHTTPMessageCopyResponseStatusLine`.
    public var statusLine: String { head.text(head.startLine.line) }

    /// The fields in order.
    public var fields: HTTPFields {
        get { head.storedFields }
        _modify { yield &head.fields }
        set { head.fields = newValue }
    }

    /// Returns the head and body in the strict syntax of RFC 9112.
    ///
    /// The head of a parsed, unmodified response is serialized to the bytes that were received. If these deviated from the
    /// strict syntax, for example with lone line feeds or folds, the head is rewritten with one line per field.
    ///
    /// Replaces `CFHTTPMessageCopySerializedMessage`.
    public func serialized() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(head.byteCount + head.body.count)
        serialize(into: &output)
        return output
    }

    /// Appends the head and body. See ``serialized()``.
    public func serialize(into output: inout [UInt8]) {
        head.write(to: &output)
        output += head.body
    }

    /// Appends the head, including the empty line that ends it. Does not allocate if `output` has sufficient capacity.
    public func serializeHead(into output: inout [UInt8]) {
        head.write(to: &output)
    }

    /// Appends the status line and the field lines, without the empty line that ends the head.
    ///
    /// The caller can append further field lines, and must append the empty line.
    @_spi(Packages) public func serializeOpenHead(into output: inout [UInt8]) {
        head.writeOpen(to: &output)
    }
}

extension HTTPResponse {
    /// Whether both responses have the same start line, fields, body and URL.
    public static func == (a: HTTPResponse, b: HTTPResponse) -> Bool { a.head == b.head && a.url == b.url }

    /// Hashes the start line, the fields, the body and the URL.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(head)
        hasher.combine(url)
    }
}

extension HTTPResponse: CustomStringConvertible {
    /// The status line and the fields. Secrets are omitted as in ``HTTPFields/description``.
    public var description: String { "\(statusLine)\n\(fields)" }
}
