internal import HPACK
internal import HTTPMessage

/// The pseudo-header fields of a request to be sent (RFC 9113 §8.3.1 and §8.5, RFC 8441 §4).
struct SentPseudoFields: ~Copyable {
    private let form: Form
    private let method: HTTPMethod
    private let scheme: String
    private let authority: [UInt8]
    private let path: [UInt8]
    private let connectProtocol: String

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

    /// Takes the fields from a request, whose head has these fields. Throws a mistake of the caller if HTTP/2 cannot carry them.
    init(_ request: borrowing HTTP2Request, _ fields: HTTPFields) throws(HTTP2Error) {
        let target = request.head.target
        authority = Self.authority(of: target, fields)
        scheme = request.scheme
        method = request.connectProtocol == nil ? request.head.method : .connect
        connectProtocol = request.connectProtocol ?? ""
        form = method != .connect ? .request : request.connectProtocol == nil ? .connect : .extendedConnect
        path = form == .connect ? [] : Self.path(of: target)
        if authority.isEmpty { throw Self.mistake("the request has neither Host nor an absolute target") }
        guard RequestTarget.isAuthority(authority.span.bytes) else {
            throw Self.mistake("'\(authority.span.bytes.text)' is not a host with an optional port")
        }
        if form != .connect, !FieldBytes.isScheme(scheme.utf8.span.bytes) {
            throw Self.mistake("the request has no valid scheme")
        }
    }

    /// The `:authority`: that of the target, or the `Host`.
    private static func authority(of target: RequestTarget, _ fields: HTTPFields) -> [UInt8] {
        if target.bytes.first != UInt8(ascii: "/"), let authority = target.authority { return Array(authority.utf8) }
        var host: [UInt8]?
        fields.forEachRawField { name, value in
            if name.byteCount == 4, host == nil, name.isEqualIgnoringCase("host") {
                host = value.withUnsafeBytes { Array($0) }
            }
        }
        return host ?? []
    }

    /// The `:path`: the target in origin form, or `*`.
    private static func path(of target: RequestTarget) -> [UInt8] {
        if target.bytes.first == UInt8(ascii: "/") || target.form != .absolute { return target.bytes }
        let path = target.path ?? ""
        return Array((path.isEmpty ? "/" : path).utf8) + (target.query.map { Array("?\($0)".utf8) } ?? [])
    }

    private static func mistake(_ reason: String) -> HTTP2Error {
        .caller(nil, .protocolError, "RFC 9113 §8.3.1", reason)
    }

    /// What the fields count in the size of a list (RFC 9113 §6.5.2).
    var listSize: Int {
        var size = HPACKFields.size(name: ":method".utf8.count, value: method.name.utf8.count)
        size += HPACKFields.size(name: ":authority".utf8.count, value: authority.count)
        if form == .connect { return size }
        size += HPACKFields.size(name: ":scheme".utf8.count, value: scheme.utf8.count)
        size += HPACKFields.size(name: ":path".utf8.count, value: path.count)
        if form == .request { return size }
        return size + HPACKFields.size(name: ":protocol".utf8.count, value: connectProtocol.utf8.count)
    }

    func encode(with encoder: inout HPACKEncoder, into block: inout [UInt8]) {
        encoder.encode(.method, method.name.utf8.span.bytes, into: &block)
        if form != .connect { encoder.encode(.scheme, scheme.utf8.span.bytes, into: &block) }
        encoder.encode(.authority, authority.span.bytes, into: &block)
        if form != .connect { encoder.encode(.path, path.span.bytes, into: &block) }
        if form == .extendedConnect { encoder.encode(.protocol, connectProtocol.utf8.span.bytes, into: &block) }
    }
}
