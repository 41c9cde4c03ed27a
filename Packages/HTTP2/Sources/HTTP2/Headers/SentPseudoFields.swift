internal import HPACK
@_spi(Packages) internal import HTTPMessage

/// The pseudo-header fields of a request to be sent (RFC 9113 §8.3.1 and §8.5, RFC 8441 §4).
struct SentPseudoFields: BitwiseCopyable {
    private let form: Form

    /// What the fields count in the size of a list (RFC 9113 §6.5.2).
    let listSize: Int

    private enum Form {
        /// `:method`, `:scheme`, `:authority`, `:path`.
        case request
        /// The same, with the method `CONNECT`, and `:protocol`.
        case extendedConnect
        /// `:method` and `:authority`.
        case connect
    }

    /// Whether the request asks for a tunnel.
    var opensTunnel: Bool { form != .request }

    /// Checks the parts of a request (``HTTP2Request/withParts(_:)``). Throws a mistake of the caller if HTTP/2 cannot carry them.
    init(
        _ request: borrowing HTTP2Request, _ method: RawSpan, _ authority: RawSpan, _ path: RawSpan
    ) throws(HTTP2Error) {
        if authority.byteCount == 0 { throw Self.mistake("the request has neither Host nor an absolute target") }
        guard RequestTarget.isAuthority(authority) else {
            throw Self.mistake("'\(authority.text)' is not a host with an optional port")
        }
        var size = HPACKFields.size(name: ":method".utf8.count, value: method.byteCount)
        size += HPACKFields.size(name: ":authority".utf8.count, value: authority.byteCount)
        if request.connectProtocol == nil, method.isEqual("CONNECT") {
            // Only a target in authority form leaves no path: a lenient parser accepts others, and `Host` would take their place.
            guard path.byteCount == 0, RequestTarget.isAuthority(authority, requiresPort: true) else {
                throw Self.mistake("the target of a CONNECT is not a host with a port")
            }
            form = .connect
            listSize = size
            return
        }
        // A lenient parser of HTTP/1 accepts other targets, too.
        guard FieldBytes.isPath(path, method), !path.hasNumberSignOrHighByte else {
            throw Self.mistake("'\(path.text)' is neither a path nor '*' with OPTIONS")
        }
        guard FieldBytes.isScheme(request.scheme.utf8.span.bytes) else {
            throw Self.mistake("the request has no valid scheme")
        }
        size += HPACKFields.size(name: ":scheme".utf8.count, value: request.scheme.utf8.count)
        size += HPACKFields.size(name: ":path".utf8.count, value: path.byteCount)
        if let name = request.connectProtocol {
            form = .extendedConnect
            size += HPACKFields.size(name: ":protocol".utf8.count, value: name.utf8.count)
        } else {
            form = .request
        }
        listSize = size
    }

    private static func mistake(_ reason: String) -> HTTP2Error {
        .caller(.protocolError, "RFC 9113 §8.3.1", reason)
    }

    /// Appends the fields of the request whose parts were checked.
    func encode(
        _ request: HTTP2Request, _ method: RawSpan, _ authority: RawSpan, _ path: RawSpan,
        with encoder: inout HPACKEncoder, into block: inout [UInt8]
    ) {
        encoder.encode(.method, method, into: &block)
        if form != .connect { encoder.encode(.scheme, request.scheme.utf8.span.bytes, into: &block) }
        encoder.encode(.authority, authority, into: &block)
        if form != .connect { encoder.encode(.path, path, into: &block) }
        if form == .extendedConnect, let name = request.connectProtocol {
            encoder.encode(.protocol, name.utf8.span.bytes, into: &block)
        }
    }
}

extension HTTP2Request {
    /// Calls `body` with the `:method`, the `:authority` and the `:path`. In general, they are parts of the head, without a copy.
    ///
    /// The `:authority` is that of the target, or the `Host`; empty if there is neither.
    func withParts<Result>(
        _ body: (_ method: RawSpan, _ authority: RawSpan, _ path: RawSpan) throws(HTTP2Error) -> Result
    ) throws(HTTP2Error) -> Result {
        try head.withRawStartLine { method, target throws(HTTP2Error) in
            let method = connectProtocol == nil ? method : Self.connectMethod.span.bytes
            if target.byteCount > 0, target.byte(at: 0) != UInt8(ascii: "/"), let authority = head.target.authority {
                let path = Self.path(of: head.target, method)
                return try body(method, authority.utf8.span.bytes, path.span.bytes)
            }
            let result = try head.fields.withRawValue(of: .host) { host throws(HTTP2Error) in
                try body(method, host, target)
            }
            if let result { return result }
            return try body(method, RawSpan(), target)
        }
    }

    private static let connectMethod = Array("CONNECT".utf8)

    /// The `:path` for a target in absolute form: its path and query. Empty for one in authority form.
    ///
    /// OPTIONS without a path asks about the whole server (RFC 9113 §8.3.1).
    private static func path(of target: RequestTarget, _ method: RawSpan) -> [UInt8] {
        guard let path = target.path else { return [] }
        if path.isEmpty, target.query == nil, method.isEqual("OPTIONS") { return Array("*".utf8) }
        return Array((path.isEmpty ? "/" : path).utf8) + (target.query.map { Array("?\($0)".utf8) } ?? [])
    }
}
