internal import FoundationEssentials
internal import HTTPMessage
internal import StreamKit

/// What a stream adds to a request before sending it, and nothing else (RFC 9110 §7.2, §8.6; RFC 9112 §6).
///
/// Works on bytes: the caller's lines go out in strict form, the stream's own around them.
struct RequestPreparation {
    /// A request ready to be sent.
    struct Head {
        /// Request line, fields and the empty line.
        var bytes: [UInt8]
        /// The length announced for the body; nil for chunks, and without a body.
        var bodyLength: Int64?
        /// The body is to wait for a 100 (Continue).
        var asksLeave: Bool
    }

    /// The name and version sent where the caller names no `User-Agent`.
    static var userAgent: StaticString { "NetKit/0.1" }

    /// Fields that only the stream knows; the caller's own are replaced.
    private static let ownFields: [HTTPFieldName] = [.host, .connection, .contentLength, .transferEncoding]

    var keepsConnection: Bool
    var decodesContent: Bool

    /// The request as it goes over the wire; its body is sent apart.
    ///
    /// - Throws: an error of domain HTTP with code -3 for a body of unknown length in HTTP/1.0, which knows no chunks.
    func prepare(
        _ request: HTTPRequest, _ method: HTTPMethod, to origin: HTTPOrigin, body: HTTPBody?
    ) throws(StreamError) -> Head {
        let length = body.flatMap { $0.length ?? RequestPreparation.statedLength(request.fields) }
        if body != nil, length == nil, request.version < .http11 { throw .lengthNeeded }

        var head = Head(bytes: [], bodyLength: length, asksLeave: false)
        head.bytes.reserveCapacity(512)
        let fields = request.fields
        let isBare = fields.isEmpty
        let isPlain =
            request.version <= .http11
            && (isBare || !RequestPreparation.ownFields.contains { fields.contains($0) })
        if isPlain {
            request.serializeOpenHead(into: &head.bytes)
        } else {
            try RequestPreparation.plain(request).serializeOpenHead(into: &head.bytes)
        }
        insertHost(of: origin, into: &head.bytes, isBare: isBare)
        head.bytes.appendLines(upTo: 256) { lines in
            if isBare || !fields.contains(.userAgent) {
                lines.write("User-Agent: ")
                lines.write(RequestPreparation.userAgent)
                lines.write("\r\n")
            }
            writeFraming(of: method, hasBody: body != nil, length, to: &lines)
            lines.write(keepsConnection ? "Connection: keep-alive\r\n" : "Connection: close\r\n")
            if decodesContent, isBare || !fields.contains(.acceptEncoding) {
                lines.write("Accept-Encoding: gzip, deflate\r\n")
            }
            lines.write("\r\n")
        }
        head.asksLeave =
            body != nil && request.version >= .http11 && fields[.expect]?.lowercased() == "100-continue"
        return head
    }

    /// Right behind the request line, where RFC 9112 §3.2 likes to see it.
    private func insertHost(of origin: HTTPOrigin, into head: inout [UInt8], isBare: Bool) {
        var fields: [UInt8] = []
        if !isBare, let lineEnd = head.firstIndex(of: 10) {
            fields = Array(head[(lineEnd + 1)...])
            head.removeLast(fields.count)
        }
        head.appendLines(upTo: origin.host.utf8.count + 32) { lines in
            lines.write("Host: ")
            origin.writeHost(to: &lines)
            lines.write("\r\n")
        }
        if !fields.isEmpty { head += fields }
    }

    private func writeFraming(of method: HTTPMethod, hasBody: Bool, _ length: Int64?, to lines: inout LineWriter) {
        if hasBody {
            if let length {
                lines.write("Content-Length: ")
                lines.write(decimal: UInt64(length))
                lines.write("\r\n")
            } else {
                lines.write("Transfer-Encoding: chunked\r\n")
            }
            return
        }
        // Methods that define a body say that it is empty; others say nothing (RFC 9110 §8.6).
        switch method {
        case .get: break
        case .post, .put, .patch: lines.write("Content-Length: 0\r\n")
        default: break
        }
    }

    /// The request in HTTP/1.x, without what the stream says itself.
    private static func plain(_ request: HTTPRequest) throws(StreamError) -> HTTPRequest {
        do throws(HTTPMessageError) {
            // A stream speaks HTTP/1.1, whatever newer version the message was made for.
            var plain = try HTTPRequest(
                method: request.method, target: request.target, version: min(request.version, .http11))
            plain.fields = request.fields
            ownFields.forEach { plain.fields.remove($0) }
            return plain
        } catch {
            throw StreamError(error)
        }
    }

    /// The length that the caller has put into a streamed request's own `Content-Length`, which is trusted.
    private static func statedLength(_ fields: HTTPFields) -> Int64? {
        guard let value = fields[.contentLength], value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(value)
    }

    /// What was sent, as a value again.
    static func request(from head: [UInt8], for url: URL) -> HTTPRequest? {
        var limits = HTTPLimits.default
        limits.lineLength = .max
        limits.headLength = .max
        limits.fieldCount = .max
        var parser = HeadParser(.request, limits: limits)
        do throws(HTTPMessageError) {
            guard case .complete = try parser.parse(head.span.bytes) else { return nil }
            let sent = try parser.makeRequest(from: head.span.bytes)
            var request = try HTTPRequest(method: sent.method, url: url, version: sent.version)
            request.fields = sent.fields
            return request
        } catch {
            return nil
        }
    }
}
