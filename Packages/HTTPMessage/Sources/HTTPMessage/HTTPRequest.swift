public import FoundationEssentials

/// A request: method, target, version, fields, and a body if there is one.
///
/// A value: copies are independent. Nothing is sent or looked up, and nothing is added: what a peer needs (`Host`,
/// `Content-Length`) is set by the caller or by the stream that sends the request.
///
/// ```swift
/// var request = try HTTPRequest(method: .post, url: URL(string: "http://example.org/form?x=1")!)
/// request.body = Array("name=value".utf8)
/// try request.fields.set("example.org", for: .host)
/// try request.fields.set("10", for: .contentLength)
/// connection.write(request.serialized())
/// ```
///
/// Replaces `CFHTTPMessageCreateRequest`; ``AnyHTTPMessage`` takes received bytes.
public struct HTTPRequest: Hashable, Sendable {
    /// The body as it goes over the wire, nil if none was set. Setting it changes no field.
    ///
    /// Replaces `CFHTTPMessageSetBody` and `CFHTTPMessageCopyBody`.
    public var body: [UInt8]?

    /// The URL given at creation; for a parsed request what its target says (see ``RequestTarget/url``).
    ///
    /// Replaces `CFHTTPMessageCopyRequestURL`.
    public var url: URL? { creationURL ?? target.url }

    private var head: MessageHead
    private var creationURL: URL?

    /// Makes a request with no fields.
    ///
    /// Throws ``HTTPMessageError/Code/invalidTarget`` if the target's form does not go with the method: `host:port` goes
    /// with `CONNECT` only, `*` with `OPTIONS` only.
    public init(
        method: HTTPMethod, target: RequestTarget, version: HTTPVersion = .http11
    ) throws(HTTPMessageError) {
        try Self.check(method, target)
        head = MessageHead(
            [Array(method.name.utf8), target.bytes, Array(version.description.utf8)],
            startLine: StartLine(version: version))
    }

    /// Makes a request for a URL, with no fields. The target is the URL's path and query, for `CONNECT` its host and
    /// port.
    ///
    /// Throws ``HTTPMessageError/Code/invalidURL`` for a URL that yields no target.
    public init(method: HTTPMethod, url: URL, version: HTTPVersion = .http11) throws(HTTPMessageError) {
        if method == .connect {
            let authority = URLParts(url).authority ?? ""
            let port = url.scheme?.lowercased() == "http" ? 80 : 443
            guard let target = RequestTarget(authority: authority) ?? RequestTarget(authority: "\(authority):\(port)")
            else { throw HTTPMessageError(.invalidURL, fault: .caller) }
            try self.init(method: method, target: target, version: version)
        } else {
            try self.init(method: method, target: RequestTarget(origin: url), version: version)
        }
        creationURL = url
    }

    @inline(__always)
    init(startLine: StartLine, fields: HTTPFields) {
        head = MessageHead(startLine: startLine, fields: fields)
    }

    /// The method. Replaces `CFHTTPMessageCopyRequestMethod`.
    public var method: HTTPMethod { HTTPMethod(unchecked: head.text(head.startLine.first)) }

    /// The request target, as on the wire.
    public var target: RequestTarget { RequestTarget(unchecked: head.bytes(head.startLine.second)) }

    /// The protocol version. Replaces `CFHTTPMessageCopyVersion`.
    public var version: HTTPVersion { head.startLine.version }

    /// The first line, without its line end.
    public var requestLine: String { head.text(head.startLine.line) }

    /// The fields, in order.
    public var fields: HTTPFields {
        @inline(__always)
        get { head.ownFields }
        _modify { yield &head.fields }
        set { head.fields = newValue }
    }

    /// Replaces the target, as a proxy or a redirect needs it; everything else stays.
    ///
    /// Throws ``HTTPMessageError/Code/invalidTarget`` if its form does not go with the method.
    public mutating func setTarget(_ target: RequestTarget) throws(HTTPMessageError) {
        let method = method
        try Self.check(method, target)
        let fields = head.fields
        head = MessageHead(
            [Array(method.name.utf8), target.bytes, Array(version.description.utf8)],
            startLine: StartLine(version: version))
        head.fields = fields
        creationURL = nil
    }

    /// Head and body, in the strict form of RFC 9112. A request that was parsed and not changed gives the bytes it came from,
    /// unless these had lone line feeds, folds or another departure in form: such a head is written anew, each field on a line
    /// of its own.
    ///
    /// Replaces `CFHTTPMessageCopySerializedMessage`.
    public func serialized() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(head.byteCount + (body?.count ?? 0))
        serialize(into: &output)
        return output
    }

    /// Appends head and body, as on the wire.
    public func serialize(into output: inout [UInt8]) {
        head.write(to: &output)
        if let body { output += body }
    }

    /// Appends the head with the empty line after it. Allocates nothing if `output` has room.
    @inline(__always)
    public func serializeHead(into output: inout [UInt8]) {
        head.write(to: &output)
    }

    /// Appends the start line and the field lines, without the empty line that ends the head: further field lines can
    /// follow.
    @inline(__always)
    public func serializeOpenHead(into output: inout [UInt8]) {
        head.writeOpen(to: &output)
    }

    func hasMethod(_ method: StaticString) -> Bool { head.isFirst(method) }

    private static func check(_ method: HTTPMethod, _ target: RequestTarget) throws(HTTPMessageError) {
        guard let form = target.form, RequestTarget.form(form, goesWith: method.name.utf8) else {
            throw HTTPMessageError(.invalidTarget, fault: .caller)
        }
    }
}

extension HTTPRequest: CustomStringConvertible {
    /// Request line and fields, for people; secrets are left out as in ``HTTPFields/description``.
    public var description: String { "\(requestLine)\n\(fields)" }
}
