internal import FoundationEssentials
@_spi(Packages) internal import HTTPMessage
internal import StreamKit

/// The fields that a stream adds to a request before sending it (RFC 9110 §7.2, §8.6; RFC 9112 §6; RFC 9113 §8.2).
///
/// For HTTP/1.1, works on bytes: the caller's lines are sent in strict form, with the stream's own around them. For HTTP/2, makes the
/// request whose fields are sent. Both have the same fields, apart from those of a connection.
struct RequestPreparation {
    /// A request that is ready to be sent.
    struct Head {
        /// Request line, fields and the empty line; empty over HTTP/2.
        var bytes: [UInt8] = []
        /// The length announced for the body; nil for chunks, and without a body.
        var bodyLength: Int64?
        /// Whether the body waits for 100 (Continue).
        var expectsContinue = false

        /// The framing of a body; over HTTP/2, `chunked` stands for a length that is not known.
        var bodyFraming: BodyFraming { bodyLength.map { .length($0) } ?? .chunked }
    }

    /// The value of `User-Agent`, if the caller sets none. An empty value of the caller's omits the field, unless
    /// ``keepsEmptyUserAgent`` is true.
    static var userAgent: StaticString { "NetKit/0.1" }

    /// Fields that only the stream can determine; the caller's own are replaced.
    private static let ownFields: [HTTPFieldName] = [.host, .connection, .contentLength, .transferEncoding]

    var keepsConnection: Bool
    var decodesContent: Bool
    /// The protocol to which the request offers to switch; nil for none.
    var upgrade: String?
    /// Whether an empty `User-Agent` of the caller's is sent.
    var keepsEmptyUserAgent = false

    /// Whether the request offers to switch to another protocol. Comparing ``upgrade`` with nil would copy it.
    var offersSwitch: Bool { if case .none = upgrade { false } else { true } }

    /// The memory that a head without fields needs at most, unless its URL is long.
    private static let usualCount = 512

    /// Returns the head as it is sent over HTTP/1.1; the body is sent separately.
    ///
    /// - Parameters:
    ///   - host: the value of `Host`.
    ///   - body: the body; nil for none.
    /// - Throws: as ``length(of:_:)``.
    func prepare(
        _ request: HTTPRequest, host: String, body: HTTPBody?
    ) throws(StreamError) -> Head {
        guard let body else {
            if !request.hasFields, request.version <= .http11 { return Head(bytes: bareHead(of: request, host: host)) }
            return Head(bytes: try head(of: request, host: host, nil, .none))
        }
        var head = try announcement(of: body, in: request)
        head.bytes = try self.head(of: request, host: host, body.contentType, head.bodyFraming)
        return head
    }

    /// Returns the request as it is sent over HTTP/2, and its head without bytes; the body is sent separately.
    ///
    /// The names of the fields are in lower case (RFC 9113 §8.2). The fields that the caller has set for a connection are removed
    /// (RFC 9113 §8.2.2).
    ///
    /// - Parameters:
    ///   - host: the value of `Host`, which is sent as `:authority`.
    ///   - body: the body; nil for none.
    /// - Throws: as ``length(of:_:)``, and the `HTTPMessageError` of a request that HTTP/2 cannot carry, as a `StreamError` with
    ///   the caller's fault.
    func prepareForHTTP2(
        _ request: HTTPRequest, host: String, body: HTTPBody?
    ) throws(StreamError) -> (request: HTTPRequest, head: Head) {
        let head = if let body { try announcement(of: body, in: request) } else { Head() }
        do throws(HTTPMessageError) {
            let sent = try request.withRawStartLine { (method, target) throws(HTTPMessageError) in
                try HTTPRequest(
                    method: method, target: target, version: .http20,
                    fields: fieldsForHTTP2(of: request, host: host, body, body == nil ? .none : head.bodyFraming))
            }
            return (sent, head)
        } catch {
            throw StreamError(HTTPMessageError(error.code, offset: error.offset, fault: .caller))
        }
    }

    /// What the head of a request tells of its body.
    private func announcement(of body: HTTPBody, in request: HTTPRequest) throws(StreamError) -> Head {
        let length = try RequestPreparation.length(of: request, body)
        let expectsContinue =
            length != 0 && request.version >= .http11 && request.fields[.expect]?.lowercased() == "100-continue"
        return Head(bodyLength: length, expectsContinue: expectsContinue)
    }

    /// Returns the length to announce for the body of a request; nil for chunks.
    ///
    /// - Throws: an error of domain HTTP with code -3 for a body of unknown length in HTTP/1.0, which has no chunks, for one of known length
    ///   with trailers, and for a negative length.
    static func length(of request: HTTPRequest, _ body: HTTPBody) throws(StreamError) -> Int64? {
        guard let length = body.length ?? statedLength(request.fields) else {
            if request.version < .http11 { throw .lengthNeeded }
            return nil
        }
        if length < 0 { throw .negativeLength }
        if body.trailers != nil { throw .trailersNeedChunks }
        return length
    }

    /// Returns the request without its expectation, which the server has refused (RFC 9110 §10.1.1).
    static func withoutExpectation(_ request: HTTPRequest) -> HTTPRequest {
        var plain = request
        plain.fields.remove(.expect)
        return plain
    }

    /// Returns the head of a request without fields and without a body: nothing has to be inserted or replaced.
    private func bareHead(of request: HTTPRequest, host: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(RequestPreparation.usualCount)
        request.serializeOpenHead(into: &bytes)
        bytes.appendLines(upTo: 8 + host.utf8.count + RequestPreparation.ownLinesCount) { lines in
            writeHost(host, to: &lines)
            writeOwnLines(request.method, .none, hasUserAgent: false, acceptsCodings: decodesContent, to: &lines)
        }
        return bytes
    }

    /// Returns the head of any request.
    func head(
        of request: HTTPRequest, host: String, _ contentType: String?, _ framing: BodyFraming
    ) throws(StreamError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(RequestPreparation.usualCount)
        let hasUserAgent = request.fields.contains(.userAgent)
        let isPlain =
            request.version <= .http11 && !RequestPreparation.ownFields.contains { request.fields.contains($0) }
            && !(hasUserAgent && !keepsEmptyUserAgent && request.fields[.userAgent] == "")
        if isPlain {
            request.serializeOpenHead(into: &bytes)
        } else {
            try plain(request).serializeOpenHead(into: &bytes)
        }
        insertHost(host, into: &bytes)
        if let contentType, !request.fields.contains(.contentType) {
            bytes += Array("Content-Type: \(contentType)\r\n".utf8)
        }
        let acceptsCodings = acceptsCodings(request.fields)
        bytes.appendLines(upTo: RequestPreparation.ownLinesCount) { lines in
            writeOwnLines(
                request.method, framing, hasUserAgent: hasUserAgent, acceptsCodings: acceptsCodings, to: &lines)
        }
        return bytes
    }

    /// Whether the stream accepts content codings that it decodes: a range of a coded body could not be decoded.
    private func acceptsCodings(_ fields: HTTPFields) -> Bool {
        decodesContent && !fields.contains(.acceptEncoding) && !fields.contains(.range)
    }

    /// The value of `Content-Length`; nil for none. Methods that define a body declare that it is empty; others send no length
    /// (RFC 9110 §8.6).
    private static func contentLength(_ method: HTTPMethod, _ framing: BodyFraming) -> UInt64? {
        switch framing {
        case .length(let length): UInt64(length)
        case .chunked: nil
        case .none, .untilClose, .tunnel:
            switch method {
            case .get: nil  // first: one comparison for the usual method
            case .post, .put, .patch: 0
            default: nil
            }
        }
    }

    /// Inserts `Host` directly after the request line, as RFC 9112 §3.2 recommends.
    private func insertHost(_ host: String, into head: inout [UInt8]) {
        var fields: [UInt8] = []
        if let lineEnd = head.firstIndex(of: 10) {
            fields = Array(head[(lineEnd + 1)...])
            head.removeLast(fields.count)
        }
        head.appendLines(upTo: 8 + host.utf8.count) { writeHost(host, to: &$0) }
        if !fields.isEmpty { head += fields }
    }

    @inline(__always)
    private func writeHost(_ host: String, to lines: inout LineWriter) {
        lines.write("Host: ")
        host.utf8.span.bytes.withUnsafeBytes { lines.write($0) }
        lines.write("\r\n")
    }

    /// The most bytes of the stream's own lines, without the value of `Host`; they take up to 140.
    private static let ownLinesCount = 160

    /// Writes the lines after the caller's: the stream's own, and the empty line.
    @inline(__always)
    private func writeOwnLines(
        _ method: HTTPMethod, _ framing: BodyFraming, hasUserAgent: Bool, acceptsCodings: Bool,
        to lines: inout LineWriter
    ) {
        if !hasUserAgent {
            lines.write("User-Agent: ")
            lines.write(RequestPreparation.userAgent)
            lines.write("\r\n")
        }
        if let length = RequestPreparation.contentLength(method, framing) {
            lines.write("Content-Length: ")
            lines.write(decimal: length)
            lines.write("\r\n")
        }
        if case .chunked = framing { lines.write("Transfer-Encoding: chunked\r\n") }
        if offersSwitch {
            lines.write("Connection: Upgrade\r\n")
        } else {
            lines.write(keepsConnection ? "Connection: keep-alive\r\n" : "Connection: close\r\n")
        }
        if acceptsCodings { ContentCoding.acceptField.withUnsafeBytes { lines.write($0) } }
        lines.write("\r\n")
    }

    // MARK: HTTP/2

    private func fieldsForHTTP2(
        of request: HTTPRequest, host: String, _ body: HTTPBody?, _ framing: BodyFraming
    ) throws(HTTPMessageError) -> HTTPFields.Builder {
        var builder = HTTPFields.Builder(
            fieldCapacity: request.fields.count + 5, byteCapacity: RequestPreparation.usualCount)
        try builder.append(name: "host", value: host)
        let fields = request.hasFields ? fieldsOfStream(request.fields) : HTTPFields()
        if !fields.isEmpty { try builder.append(fields) }
        if let type = body?.contentType, !fields.contains(.contentType) {
            try builder.append(name: "content-type", value: type)
        }
        if !request.fields.contains(.userAgent) {
            try builder.append(name: "user-agent", value: RequestPreparation.userAgent)
        }
        if let length = RequestPreparation.contentLength(request.method, framing) {
            try builder.append(name: "content-length", value: "\(length)")
        }
        if acceptsCodings(fields) {
            try builder.append(name: "accept-encoding", value: ContentCoding.accepted)
        }
        return builder
    }

    /// The caller's fields without those that the stream sets itself, and without those of a connection (RFC 9113 §8.2.2).
    private func fieldsOfStream(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        RequestPreparation.ownFields.forEach { fields.remove($0) }
        fields.removeConnectionFields()
        if let codings = fields[.te], codings.lowercased() != "trailers" { fields.remove(.te) }
        removeEmptyUserAgent(from: &fields)
        return fields
    }

    /// The field has no empty value (RFC 9110 §10.1.5): one omits the stream's own.
    private func removeEmptyUserAgent(from fields: inout HTTPFields) {
        if !keepsEmptyUserAgent, fields[.userAgent] == "" { fields.remove(.userAgent) }
    }

    // MARK: HTTP/1.1

    /// The request in HTTP/1.x, without the fields that the stream sets itself.
    private func plain(_ request: HTTPRequest) throws(StreamError) -> HTTPRequest {
        do throws(HTTPMessageError) {
            // The bytes are those of HTTP/1.1, even if the message was made for a newer version.
            var plain = try HTTPRequest(
                method: request.method, target: request.target, version: min(request.version, .http11))
            plain.fields = request.fields
            RequestPreparation.ownFields.forEach { plain.fields.remove($0) }
            removeEmptyUserAgent(from: &plain.fields)
            return plain
        } catch {
            throw StreamError(error)
        }
    }

    /// The length in the caller's own `Content-Length` of a streamed request, which is trusted.
    private static func statedLength(_ fields: HTTPFields) -> Int64? {
        guard let value = fields[.contentLength], value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(value)
    }

    /// The protocol to which a head that was sent offers to switch; nil if it offers none.
    static func offeredProtocol(in head: [UInt8]) -> String? { parsed(head)?.fields[.upgrade] }

    /// The request of a head; nil for one that is malformed.
    static func parsed(_ head: [UInt8]) -> HTTPRequest? {
        var limits = HTTPLimits.default
        limits.lineLength = .max
        limits.headLength = .max
        limits.fieldCount = .max
        var parser = HeadParser(.request, limits: limits)
        do throws(HTTPMessageError) {
            guard case .complete = try parser.parse(head.span.bytes) else { return nil }
            return try parser.makeRequest(from: head.span.bytes)
        } catch {
            return nil
        }
    }
}

extension HTTPRequest {
    /// The request with a URL in place of its target.
    func at(_ url: URL, version: HTTPVersion? = nil) -> HTTPRequest? {
        var request = try? HTTPRequest(method: method, url: url, version: version ?? self.version)
        request?.fields = fields
        return request
    }
}

/// Writes field lines into a buffer, so that they are appended to a head in one operation.
struct LineWriter: ~Copyable {
    private let memory: UnsafeMutableRawBufferPointer
    fileprivate private(set) var count: Int

    /// - Parameter count: the number of bytes that the memory contains already.
    fileprivate init(_ memory: UnsafeMutableRawBufferPointer, after count: Int) {
        self.memory = memory
        self.count = count
    }

    @inline(__always)
    mutating func write(_ text: StaticString) {
        write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func write(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count <= memory.count &- count)
        if let start = bytes.baseAddress {
            memory.baseAddress?.advanced(by: count).copyMemory(from: start, byteCount: bytes.count)
        }
        count &+= bytes.count
    }

    mutating func write(decimal number: UInt64) {
        var end = count &+ 1
        var rest = number
        while rest >= 10 {
            rest /= 10
            end &+= 1
        }
        precondition(end <= memory.count)
        count = end
        rest = number
        repeat {
            end &-= 1
            memory[end] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
    }
}

extension [UInt8] {
    /// Appends lines of at most `capacity` bytes.
    @inline(__always)
    fileprivate mutating func appendLines(upTo capacity: Int, _ write: (inout LineWriter) -> Void) {
        append(addingCapacity: capacity) { (span: inout OutputSpan<UInt8>) in
            span.withUnsafeMutableBufferPointer { memory, count in
                var lines = LineWriter(UnsafeMutableRawBufferPointer(memory), after: count)
                write(&lines)
                count = lines.count
            }
        }
    }
}

extension HTTPFields.Builder {
    fileprivate mutating func append(name: StaticString, value: String) throws(HTTPMessageError) {
        let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        try append(name: name.bytes, value: value.utf8.span.bytes)
    }

    fileprivate mutating func append(name: StaticString, value: StaticString) throws(HTTPMessageError) {
        let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        let value = UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount)
        try append(name: name.bytes, value: value.bytes)
    }

    /// Appends fields, with their names in lower case.
    fileprivate mutating func append(_ fields: HTTPFields) throws(HTTPMessageError) {
        var failure: HTTPMessageError?
        fields.forEachRawField { name, value in
            let name = name.withUnsafeBytes { $0.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
            do throws(HTTPMessageError) {
                try append(name: name.span.bytes, value: value)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }
}
