internal import HPACK
@_spi(Packages) internal import HTTPMessage

/// Makes messages of decoded header blocks, and refuses malformed ones (RFC 9113 §8.2 and §8.3).
///
/// A list of fields is read twice: its pseudo-header fields, which precede all others, then the fields.
struct HeadReader: ~Copyable {
    private let kind: Kind
    private var builder: HTTPFields.Builder
    private var pseudo = PseudoFields()
    private var contentLength: Int64?
    private var priority = HTTP2Priority()
    private var priorityCount = 0
    private var priorityLength = 0
    private var host: Range<Int>?

    private enum Kind {
        case request, response, trailers
    }

    /// More bytes than a start line has beyond the method and the target: their spaces, the version, a status.
    private static let maximumStartLineLength = 32

    private init(_ kind: Kind, _ list: borrowing HPACKFields) {
        self.kind = kind
        // The size of a list counts 32 bytes for each field beyond its name and its value (RFC 9113 §6.5.2).
        let surplus = list.count * (HPACKFields.size(name: 0, value: 0) - HTTPFields.Builder.bytesPerField)
        builder = HTTPFields.Builder(
            fieldCapacity: list.count, byteCapacity: list.listSize - surplus + Self.maximumStartLineLength)
    }

    /// What the stream of a request needs to know of it.
    struct RequestTraits: BitwiseCopyable {
        var contentLength: Int64?
        var kind = RequestKind.ordinary
    }

    /// Reads the head of a request (RFC 9113 §8.3.1).
    ///
    /// - Parameters:
    ///   - list: The fields of the header block.
    ///   - allowsConnectProtocol: Whether the server has enabled extended CONNECT (RFC 8441).
    ///   - traits: What the stream needs to know.
    static func request(
        _ list: borrowing HPACKFields, allowsConnectProtocol: Bool, _ traits: inout RequestTraits
    ) throws(FieldRule) -> HTTP2Request {
        var reader = HeadReader(.request, list)
        let bytes = list.bytes.span.bytes
        let fields = try reader.readPseudoFields(list, bytes)
        try reader.beginFields(bytes)
        try reader.readFields(list, from: fields, bytes)
        traits = reader.traits(bytes)
        return try reader.makeRequest(bytes, allowsConnectProtocol, isConnect: traits.kind == .connect)
    }

    /// Reads the head of a response (RFC 9113 §8.3.2), and the `content-length` of its content.
    static func response(
        _ list: borrowing HPACKFields, _ contentLength: inout Int64?
    ) throws(FieldRule) -> HTTPResponse {
        var reader = HeadReader(.response, list)
        let bytes = list.bytes.span.bytes
        let fields = try reader.readPseudoFields(list, bytes)
        try reader.readFields(list, from: fields, bytes)
        contentLength = reader.contentLength
        return try reader.makeResponse(bytes)
    }

    /// Reads a trailer section (RFC 9113 §8.1).
    static func trailers(_ list: borrowing HPACKFields) throws(FieldRule) -> HTTPFields {
        var reader = HeadReader(.trailers, list)
        try reader.readFields(list, from: 0, list.bytes.span.bytes)
        let fields = reader.takeFields()
        let forbidden = HTTPFieldName.forbiddenInTrailers
        guard forbidden.contains(where: { fields.contains($0) }) else { return fields }
        // A list made anew: each removal would move all that is behind it.
        var kept = HTTPFields()
        for field in fields where !forbidden.contains(field.name) {
            do throws(HTTPMessageError) { try kept.append(rawValue: field.rawValue, for: field.name) } catch {
                throw .value
            }
        }
        return kept
    }

    private consuming func takeFields() -> HTTPFields { builder.fields() }
}

// MARK: - Pseudo-header fields

extension HeadReader {
    /// The positions of the pseudo-header fields' values.
    private struct PseudoFields {
        var method: Range<Int>?
        var scheme: Range<Int>?
        var authority: Range<Int>?
        var path: Range<Int>?
        var connectProtocol: Range<Int>?
        var status: Range<Int>?
    }

    /// Reads the pseudo-header fields and returns the index of the first field behind them.
    private mutating func readPseudoFields(_ list: borrowing HPACKFields, _ bytes: RawSpan) throws(FieldRule) -> Int {
        for index in 0..<list.count {
            let field = list[index]
            let name = bytes.extracting(field.name)
            guard name.byteCount > 0, name.byte(at: 0) == UInt8(ascii: ":") else { return index }
            switch kind {
            case .request where name.isEqual(":method"): try Self.set(&pseudo.method, field.value)
            case .request where name.isEqual(":path"): try Self.set(&pseudo.path, field.value)
            case .request where name.isEqual(":scheme"): try Self.set(&pseudo.scheme, field.value)
            case .request where name.isEqual(":authority"): try Self.set(&pseudo.authority, field.value)
            case .request where name.isEqual(":protocol"): try Self.set(&pseudo.connectProtocol, field.value)
            case .response where name.isEqual(":status"): try Self.set(&pseudo.status, field.value)
            case .request, .response, .trailers: throw .pseudoKnown
            }
        }
        return list.count
    }

    private static func set(_ position: inout Range<Int>?, _ value: Range<Int>) throws(FieldRule) {
        guard position == nil else { throw .pseudoOnce }
        position = value
    }

    /// Puts `:authority` before all fields, as `Host` (RFC 9113 §8.3.1).
    private mutating func beginFields(_ bytes: RawSpan) throws(FieldRule) {
        guard let authority = pseudo.authority else { return }
        let value = bytes.extracting(authority)
        guard RequestTarget.isAuthority(value) else { throw .authority }
        try append(Self.hostName.span.bytes, value)
    }

    private static let hostName = Array("host".utf8)

    private func traits(_ bytes: RawSpan) -> RequestTraits {
        var traits = RequestTraits(contentLength: contentLength)
        if let method = pseudo.method {
            let method = bytes.extracting(method)
            traits.kind = method.isEqual("CONNECT") ? .connect : method.isEqual("HEAD") ? .head : .ordinary
        }
        return traits
    }

    private consuming func makeRequest(
        _ bytes: RawSpan, _ allowsConnectProtocol: Bool, isConnect: Bool
    ) throws(FieldRule) -> HTTP2Request {
        guard let methodRange = pseudo.method else { throw .method }
        let method = bytes.extracting(methodRange)
        var target = pseudo.path
        var scheme = ""
        let isExtended = pseudo.connectProtocol != nil
        if let name = pseudo.connectProtocol {
            guard isConnect, allowsConnectProtocol, FieldBytes.isToken(bytes.extracting(name).text) else {
                throw .connectProtocol
            }
        }
        if isConnect, contentLength != nil { throw .contentLengthForbidden }
        if isConnect, !isExtended {
            guard pseudo.scheme == nil, pseudo.path == nil, let authority = pseudo.authority,
                RequestTarget.isAuthority(bytes.extracting(authority), requiresPort: true)
            else { throw .connect }
            target = authority
        } else {
            guard let text = Self.text(ofScheme: pseudo.scheme, bytes) else { throw .scheme }
            scheme = text
            guard let path = pseudo.path, FieldBytes.isPath(bytes.extracting(path), method) else { throw .path }
            guard pseudo.authority != nil || host != nil else { throw .authorityPresent }
        }
        guard let target else { throw .path }
        let connectProtocol = pseudo.connectProtocol.map { bytes.extracting($0).text }
        let (priority, isPriorityWhole) = (priority, priorityCount <= 1 || priorityLength > FrameParser.keptPayload)
        let head = try Self.makeHead(
            method: isExtended ? Self.getName.span.bytes : method, target: bytes.extracting(target), builder)
        return HTTP2Request(
            head: head, scheme: scheme, connectProtocol: connectProtocol,
            // The lines of a structured field are one value (RFC 9651 §4.2).
            priority: isPriorityWhole ? priority : HTTP2Priority(head.fields["priority"] ?? ""))
    }

    private static func makeHead(
        method: RawSpan, target: RawSpan, _ builder: consuming HTTPFields.Builder
    ) throws(FieldRule) -> HTTPRequest {
        do throws(HTTPMessageError) {
            return try HTTPRequest(method: method, target: target, version: .http20, fields: builder)
        } catch {
            throw error.code == .invalidMethod ? .method : .path
        }
    }

    private static let getName = Array("GET".utf8)

    /// The text of a scheme, in general without making a string. Nil if it is not valid.
    private static func text(ofScheme range: Range<Int>?, _ bytes: RawSpan) -> String? {
        guard let range else { return nil }
        let scheme = bytes.extracting(range)
        if scheme.isEqual("https") { return "https" }
        if scheme.isEqual("http") { return "http" }
        return FieldBytes.isScheme(scheme) ? scheme.text : nil
    }

    private consuming func makeResponse(_ bytes: RawSpan) throws(FieldRule) -> HTTPResponse {
        guard let range = pseudo.status, range.count == 3, let code = FieldBytes.number(bytes.extracting(range)),
            let status = HTTPStatus(Int(code))
        else { throw .status }
        if code == 101 { throw .switchingProtocols }
        // RFC 9110 §8.6 forbids any length here. One of 0 is true, and no two recipients read it differently.
        if code < 200 || code == 204, let contentLength, contentLength > 0 { throw .contentLengthForbidden }
        return HTTPResponse(status: status, version: .http20, fields: builder)
    }
}

// MARK: - Fields

extension HeadReader {
    /// Reads the fields from an index on. The crumbs of `cookie` become one field, the last one (RFC 9113 §8.2.3).
    private mutating func readFields(_ list: borrowing HPACKFields, from start: Int, _ bytes: RawSpan) throws(FieldRule)
    {
        var hasCookies = false
        for index in start..<list.count {
            let field = list[index]
            let (name, value) = (bytes.extracting(field.name), bytes.extracting(field.value))
            if kind == .request, name.isEqual("cookie") {
                hasCookies = true
            } else if try inspect(name, value, at: field.value, bytes) {
                try append(name, value)
            }
        }
        guard hasCookies else { return }
        var isFirst = true
        for index in start..<list.count {
            let field = list[index]
            let name = bytes.extracting(field.name)
            guard name.isEqual("cookie") else { continue }
            let value = bytes.extracting(field.value)
            if isFirst { try append(name, value) } else { try extendCookie(value) }
            isFirst = false
        }
    }

    private mutating func append(_ name: RawSpan, _ value: RawSpan) throws(FieldRule) {
        do throws(HTTPMessageError) {
            try builder.append(name: name, value: value)
        } catch {
            throw error.code != .invalidFieldName ? .value : name.containsCapital ? .lowercase : .name
        }
    }

    private mutating func extendCookie(_ value: RawSpan) throws(FieldRule) {
        do throws(HTTPMessageError) { try builder.extendLast(with: value, separator: "; ") } catch { throw .value }
    }

    /// Checks the rules for a field with this name, which is in lower case if the field is valid (RFC 9113 §8.2.2), and notes what the stream
    /// needs. Returns whether the field is kept: a `Host` that repeats `:authority` is not.
    private mutating func inspect(
        _ name: RawSpan, _ value: RawSpan, at position: Range<Int>, _ bytes: RawSpan
    ) throws(FieldRule) -> Bool {
        switch name.byteCount {
        case 0: throw .name
        case 2 where name.isEqual("te"):
            if !value.isEqualIgnoringCase("trailers") { throw .te }
        case 4 where name.isEqual("host") && kind == .request:
            if host != nil { throw .hostOnce }
            host = position
            guard RequestTarget.isAuthority(value) else { throw .authority }
            guard let authority = pseudo.authority else { return true }
            if !value.isEqualIgnoringCase(bytes.extracting(authority)) { throw .hostEqual }
            return false
        case 7 where name.isEqual("upgrade"), 10 where name.isEqual("connection"), 10 where name.isEqual("keep-alive"),
            16 where name.isEqual("proxy-connection"), 17 where name.isEqual("transfer-encoding"):
            throw .connectionField
        case 8 where name.isEqual("priority") && kind == .request:
            priorityCount += 1
            priorityLength += value.byteCount
            if priorityCount == 1, priorityLength <= FrameParser.keptPayload {
                priority = value.withUnsafeBytes { HTTP2Priority($0) }
            }
        case 14 where name.isEqual("content-length") && kind != .trailers:
            if contentLength != nil { throw .contentLengthOnce }
            guard let length = FieldBytes.number(value) else { throw .contentLength }
            contentLength = length
        default:
            if name.byte(at: 0) == UInt8(ascii: ":") { throw kind == .trailers ? .pseudoInTrailers : .pseudoFirst }
        }
        return true
    }
}
