public import FoundationEssentials

/// A response: version, status, reason, fields, and a body if there is one.
///
/// A value: copies are independent, and nothing is added to what the caller set.
///
/// ```swift
/// var response = try HTTPResponse(status: .notFound)
/// response.body = Array("gone".utf8)
/// try response.fields.set("4", for: .contentLength)
/// response.statusLine  // "HTTP/1.1 404 Not Found"
/// ```
///
/// Replaces `CFHTTPMessageCreateResponse`; ``AnyHTTPMessage`` takes received bytes.
public struct HTTPResponse: Hashable, Sendable {
    /// The body, nil if none was set. Setting it changes no field.
    ///
    /// Replaces `CFHTTPMessageSetBody` and `CFHTTPMessageCopyBody`.
    public var body: [UInt8]?

    /// The URL that answered, set by the stream that received the response; nil for a response made or parsed by hand.
    public var url: URL?

    private var head: MessageHead

    /// Makes a response with no fields. Without a reason, it has the standard phrase of its status.
    ///
    /// Throws ``HTTPMessageError/Code/invalidReasonPhrase`` for a reason with a control character.
    public init(
        status: HTTPStatus, reason: String? = nil, version: HTTPVersion = .http11
    ) throws(HTTPMessageError) {
        let phrase = Array((reason ?? status.standardPhrase).utf8)
        if let bad = phrase.firstIndex(where: { !HTTPGrammar.isFieldByte($0) }) {
            throw HTTPMessageError(.invalidReasonPhrase, offset: bad, fault: .caller)
        }
        head = MessageHead(
            [Array(version.description.utf8), Array(status.description.utf8), phrase],
            startLine: StartLine(version: version, status: UInt16(status.code)))
    }

    @inline(__always)
    init(startLine: StartLine, fields: HTTPFields) {
        head = MessageHead(startLine: startLine, fields: fields)
    }

    /// The status. Replaces `CFHTTPMessageGetResponseStatusCode`.
    public var status: HTTPStatus { HTTPStatus(unchecked: Int(head.startLine.status ?? 200)) }

    /// The reason phrase, possibly empty, without whitespace at its ends. It means nothing to a program
    /// (RFC 9112 §4).
    public var reason: String {
        HTTPGrammar.text(HTTPGrammar.trimmed(head.bytes(head.startLine.second)))
    }

    /// The protocol version. Replaces `CFHTTPMessageCopyVersion`.
    public var version: HTTPVersion { head.startLine.version }

    /// The first line, without its line end; empty for HTTP/0.9. Replaces `CFHTTPMessageCopyResponseStatusLine`.
    public var statusLine: String { head.text(head.startLine.line) }

    /// The fields, in order.
    public var fields: HTTPFields {
        @inline(__always)
        get { head.ownFields }
        _modify { yield &head.fields }
        set { head.fields = newValue }
    }

    /// Head and body, in the strict form of RFC 9112. A response that was parsed and not changed gives the bytes it came from,
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
}

extension HTTPResponse: CustomStringConvertible {
    /// Status line and fields, for people; secrets are left out as in ``HTTPFields/description``.
    public var description: String { "\(statusLine)\n\(fields)" }
}
