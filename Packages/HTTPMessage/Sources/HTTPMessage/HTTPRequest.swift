public import FoundationEssentials

/// A request: method, target, version, fields and a body.
///
/// A request is a value; copies are independent. It contains only what was set or received. The fields that a server needs,
/// such as `Host` and `Content-Length`, are set by the caller or by the stream that sends the request.
///
/// ```swift
/// var request = try HTTPRequest(method: .post, url: URL(string: "http://example.org/form?x=1")!)
/// request.body = Array("name=value".utf8)
/// try request.fields.set("example.org", for: .host)
/// try request.fields.set("10", for: .contentLength)
/// connection.write(request.serialized())
/// ```
///
/// Replaces `CFHTTPMessageCreateRequest`. For received bytes, see ``MessageParser`` and ``AnyHTTPMessage``.
public struct HTTPRequest: Hashable, Sendable {
    /// The body in wire format; empty if there is none. Setting the body changes no field.
    ///
    /// A stream or session that sends the request adds the `Content-Length`, which is 0 for `POST`, `PUT` and `PATCH` with an empty
    /// body; other methods then have no such field (RFC 9110 §8.6).
    ///
    /// Replaces `CFHTTPMessageSetBody` and `CFHTTPMessageCopyBody`.
    public var body: [UInt8] {
        get { head.body }
        _modify { yield &head.body }
        set { head.body = newValue }
    }

    /// Whether there are bytes in ``body``.
    public var hasBody: Bool { head.hasBody }

    /// Whether there are ``fields``. Unlike reading them, this counts no reference.
    @_spi(Packages) public var hasFields: Bool { head.hasFields }

    /// The URL that the request was created with. For a parsed request, the URL of its target: see ``RequestTarget/url``.
    ///
    /// Replaces `CFHTTPMessageCopyRequestURL`.
    public var url: URL? { if let link { link.url } else { target.url } }

    private var head: MessageHead
    /// The URL that the request was created with.
    private(set) var link: MessageURL?

    /// Creates a request without fields.
    ///
    /// Throws ``HTTPMessageError/Code/invalidTarget`` if the method does not allow the target's form: `host:port` requires
    /// `CONNECT` and vice versa, and `*` requires `OPTIONS`.
    public init(
        method: HTTPMethod, target: RequestTarget, version: HTTPVersion = .http11
    ) throws(HTTPMessageError) {
        try Self.check(method, target)
        let versionBytes = version.bytes
        head = MessageHead(
            method.name.utf8.span.bytes, target.bytes.span.bytes, versionBytes.span.bytes,
            startLine: StartLine(version: version))
    }

    /// Creates a request for a URL, without fields.
    ///
    /// The target is the URL's path and query. For `CONNECT`, it is the URL's host and port; the default port is 80 for `http`
    /// and 443 otherwise.
    ///
    /// Throws ``HTTPMessageError/Code/invalidURL`` if the URL contains no valid target.
    public init(method: HTTPMethod, url: URL, version: HTTPVersion = .http11) throws(HTTPMessageError) {
        if method == .connect {
            let authority = URLParts(url).authority.map { HTTPGrammar.text($0) } ?? ""
            let port = url.scheme?.lowercased() == "http" ? 80 : 443
            guard let target = RequestTarget(authority: authority) ?? RequestTarget(authority: "\(authority):\(port)")
            else { throw HTTPMessageError(.invalidURL, fault: .caller) }
            try self.init(method: method, target: target, version: version)
        } else {
            try self.init(method: method, target: RequestTarget(origin: url), version: version)
        }
        link = MessageURL(url)
    }

    /// Creates a request for a URL, with fields.
    ///
    /// ```swift
    /// let request = try HTTPRequest(method: .get, url: url, fields: ["Accept": "application/json"])
    /// ```
    ///
    /// Throws the same error as ``init(method:url:version:)``.
    public init(
        method: HTTPMethod, url: URL, version: HTTPVersion = .http11, fields: HTTPFields
    ) throws(HTTPMessageError) {
        try self.init(method: method, url: url, version: version)
        head.fields = fields
    }

    /// Creates a request from parts that were received in another format, as the machines of HTTP/2 do.
    ///
    /// Throws ``HTTPMessageError/Code/invalidMethod`` if the method is not a token, and ``HTTPMessageError/Code/invalidTarget`` if the
    /// target has none of the four forms, or a form that its method does not allow. Since HTTP/2, `CONNECT` also takes the origin form
    /// (RFC 8441 §4).
    @_spi(Packages) public init(
        method: RawSpan, target: RawSpan, version: HTTPVersion, fields builder: consuming HTTPFields.Builder
    ) throws(HTTPMessageError) {
        let code = method.withUnsafeBytes { method in
            target.withUnsafeBytes { target in Self.problem(method, target, version) }
        }
        if let code { throw HTTPMessageError(code) }
        let versionBytes = version.bytes
        head = MessageHead(
            parsed: builder.fields(after: method, target, versionBytes.span.bytes, StartLine(version: version)))
    }

    init(parsed fields: HTTPFields) {
        head = MessageHead(parsed: fields)
    }

    /// The method. Replaces `CFHTTPMessageCopyRequestMethod`.
    public var method: HTTPMethod {
        // The usual method needs no string made of its bytes.
        head.isGet ? .get : HTTPMethod(unchecked: head.text(head.startLine.first))
    }

    /// The request target.
    public var target: RequestTarget { RequestTarget(unchecked: head.bytes(head.startLine.second)) }

    /// The host and port that the request is for: those of a target in absolute or authority form, which take precedence (RFC 9112
    /// §3.2.2, §3.3), otherwise the value of `Host`. Nil if the request has neither.
    ///
    /// Use it, rather than the field, wherever the host decides: for virtual hosts, routes, permissions and links.
    ///
    /// ```swift
    /// let request = try HTTPRequest(method: .get, target: "http://example.org/index.html")
    /// request.authority           // "example.org"
    /// ```
    public var authority: String? { target.authority ?? fields[.host] }

    /// The protocol version. Replaces `CFHTTPMessageCopyVersion`.
    public var version: HTTPVersion { head.startLine.version }

    /// The first line of the request, without its line ending.
    public var requestLine: String { head.text(head.startLine.line) }

    /// The fields in order.
    public var fields: HTTPFields {
        get { head.storedFields }
        _modify { yield &head.fields }
        set { head.fields = newValue }
    }

    /// Replaces the target, for example to send the request through a proxy or to follow a redirect.
    ///
    /// The method, version, fields and body are unchanged; ``url`` is derived from the new target. Throws
    /// ``HTTPMessageError/Code/invalidTarget`` if the method does not allow the target's form.
    public mutating func setTarget(_ target: RequestTarget) throws(HTTPMessageError) {
        let method = method
        try Self.check(method, target)
        let version = version
        let versionBytes = version.bytes
        head.setStartLine(
            method.name.utf8.span.bytes, target.bytes.span.bytes, versionBytes.span.bytes, StartLine(version: version))
        link = nil
    }

    /// Returns the head and body in the strict syntax of RFC 9112.
    ///
    /// The head of a parsed, unmodified request is serialized to the bytes that were received. If these deviated from the strict
    /// syntax, for example with lone line feeds or folds, the head is rewritten with one line per field.
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

    /// Appends the request line and the field lines, without the empty line that ends the head.
    ///
    /// The caller can append further field lines, and must append the empty line.
    @_spi(Packages) public func serializeOpenHead(into output: inout [UInt8]) {
        head.writeOpen(to: &output)
    }

    /// Writes the request line and the field lines to the front of `memory`, without the empty line that ends the head.
    ///
    /// As ``serializeOpenHead(into:)-([UInt8])``, for memory that is used again for each request. Returns the number of bytes; nil if
    /// the memory is too small, whose content is then undefined.
    @_spi(Packages) public func serializeOpenHead(into memory: inout MutableRawSpan) -> Int? {
        memory.withUnsafeMutableBytes { head.writeOpen(to: $0) }
    }

    /// Calls `body` with the bytes of the method and of the target, without creating strings or arrays.
    ///
    /// ```swift
    /// let length = request.withRawStartLine { method, target in method.byteCount + target.byteCount }
    /// ```
    @_spi(Packages) public func withRawStartLine<Result, Failure: Error>(
        _ body: (_ method: RawSpan, _ target: RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let line = head.startLine
        return try head.withStartBytes { bytes throws(Failure) in
            try body(bytes.extracting(line.first.range), bytes.extracting(line.second.range))
        }
    }

    func hasMethod(_ method: StaticString) -> Bool { head.hasMethod(method) }

    private static func problem(
        _ method: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer, _ version: HTTPVersion
    ) -> HTTPMessageError.Code? {
        guard HTTPGrammar.isToken(method) else { return .invalidMethod }
        guard let base = target.baseAddress, HTTPGrammar.endOfTarget(base, from: 0, to: target.count) == target.count,
            let form = RequestTarget.form(of: target)
        else { return .invalidTarget }
        if form == .origin, version >= .http20 { return nil }
        return RequestTarget.isForm(form, allowedFor: method) ? nil : .invalidTarget
    }

    private static func check(_ method: HTTPMethod, _ target: RequestTarget) throws(HTTPMessageError) {
        guard let form = target.form, RequestTarget.isForm(form, allowedFor: method.name.utf8) else {
            throw HTTPMessageError(.invalidTarget, fault: .caller)
        }
    }
}

extension HTTPRequest {
    /// Whether both requests have the same start line, fields, body and URL of creation.
    public static func == (a: HTTPRequest, b: HTTPRequest) -> Bool { a.head == b.head && a.link?.url == b.link?.url }

    /// Hashes the start line, the fields, the body and the URL of creation.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(head)
        hasher.combine(link?.url)
    }
}

extension HTTPRequest: CustomStringConvertible {
    /// The request line and the fields. Secrets are omitted as in ``HTTPFields/description``.
    public var description: String { "\(requestLine)\n\(fields)" }
}
