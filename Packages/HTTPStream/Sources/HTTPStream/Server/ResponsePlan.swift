internal import HTTPMessage
internal import StreamKit

/// The framing of a response: the additions to its head, and what follows it. No I/O.
struct ResponsePlan: Equatable {
    /// The part that follows the head.
    enum Body: Equatable {
        /// Nothing, regardless of the length.
        case none
        /// A number of bytes.
        case length(Int64)
        /// Chunks.
        case chunked
        /// Bytes until the connection is closed.
        case untilClose
    }

    let body: Body
    let keepsConnection: Bool

    /// The framing of the body.
    var framing: BodyFraming {
        switch body {
        case .none: .none
        case .length(let count): .length(count)
        case .chunked: .chunked
        case .untilClose: .untilClose
        }
    }

    /// Appends the head in strict form, regardless of the form from which the response was parsed.
    ///
    /// - Parameters:
    ///   - length: the length of the body; nil if it is unknown.
    ///   - request: the request.
    ///   - mayPersist: whether the server keeps the connection if the client does.
    ///   - date: the value of `Date`, if the response has none.
    /// - Throws: `EINVAL` for a response that cannot be sent: an interim one, one with its own `Transfer-Encoding`, or one with a
    ///   wrong length. Nothing is appended then.
    init(
        _ response: HTTPResponse, length: Int64?, to request: IncomingRequest, mayPersist: Bool, date: [UInt8],
        into output: inout [UInt8]
    ) throws(StreamError) {
        let fields = response.fields
        let status = response.status.code
        if response.version < .http10 { throw .unsendable("a response of HTTP/0.9 has no head") }
        if status < 200 { throw .unsendable("its status is \(status), and only a final response is allowed") }
        if fields.contains(.transferEncoding) {
            throw .unsendable("it has a Transfer-Encoding, which only the server sets")
        }
        let declared = try ResponsePlan.declaredLength(fields)
        let isHead = request.request.method == .head
        var added: [UInt8] = []
        if status == 204 || status == 304 || isHead {
            if status == 204, declared != nil { throw .unsendable("a 204 has no length (RFC 9110 §8.6)") }
            if isHead, status != 204, status != 304, declared == nil, let length {
                added += Array("Content-Length: \(length)\r\n".utf8)
            }
            if !isHead, let length, length > 0 { throw .unsendable("a \(status) has no body") }
            body = .none
        } else if let length = length ?? declared {
            if let declared, declared != length {
                throw .unsendable("its Content-Length is \(declared), but its body has \(length) bytes")
            }
            if declared == nil { added += Array("Content-Length: \(length)\r\n".utf8) }
            body = .length(length)
        } else if request.request.version >= .http11 {
            added += Array("Transfer-Encoding: chunked\r\n".utf8)
            body = .chunked
        } else {
            body = .untilClose
        }
        let closes = fields.contains(.connection) && fields.connectionOptions.contains("close")
        keepsConnection = mayPersist && request.isPersistent && !closes && body != .untilClose
        if !keepsConnection, !closes { added += Array("Connection: close\r\n".utf8) }
        if keepsConnection, request.request.version < .http11 { added += Array("Connection: keep-alive\r\n".utf8) }
        response.serializeOpenHead(into: &output)
        if !fields.contains(.date) {
            output += Array("Date: ".utf8)
            output += date
            output += ChunkedEncoder.chunkEnd
        }
        output += added
        output += ChunkedEncoder.chunkEnd
    }

    private static func declaredLength(_ fields: HTTPFields) throws(StreamError) -> Int64? {
        let values = fields.values(for: .contentLength)
        guard let first = values.first else { return nil }
        guard values.count == 1, let length = Int64(first), length >= 0, first.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
        else { throw .unsendable("its Content-Length is not a single number") }
        return length
    }
}
