@_spi(Packages) internal import HTTPMessage
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
        /// Bytes until the stream of HTTP/2 ends.
        case untilStreamEnds
    }

    let body: Body
    let keepsConnection: Bool

    /// The framing of the body.
    var framing: BodyFraming {
        switch body {
        case .none: .none
        case .length(let count): .length(count)
        case .chunked: .chunked
        case .untilClose, .untilStreamEnds: .untilClose
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
        if response.version < .http10 { throw .unsendable("a response of HTTP/0.9 has no head") }
        let content = try ResponseContent(of: response, length: length, to: request.request.method)
        let fields = response.fields
        var added: [UInt8] = []
        if let length = content.lengthToAdd { added += Array("Content-Length: \(length)\r\n".utf8) }
        if let known = content.body {
            body = known
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
}

/// The content of a response, by its status, its fields and the method of its request (RFC 9110 §6.4.1).
struct ResponseContent: Equatable {
    /// What follows the head; nil for a length that is unknown.
    let body: ResponsePlan.Body?
    /// The value of a `Content-Length` that the head lacks.
    let lengthToAdd: Int64?

    /// - Parameter length: the length of the body; nil if it is unknown.
    /// - Throws: `EINVAL` for an interim response, one with its own `Transfer-Encoding`, or one with a wrong length.
    init(of response: HTTPResponse, length: Int64?, to method: HTTPMethod) throws(StreamError) {
        let status = response.status.code
        if status < 200 { throw .unsendable("its status is \(status), and only a final response is allowed") }
        if response.fields.contains(.transferEncoding) {
            throw .unsendable("it has a Transfer-Encoding, which only the server sets")
        }
        let declared = try ResponseContent.declaredLength(response.fields)
        let isHead = method == .head
        if status == 204 || status == 304 || isHead {
            if status == 204, declared != nil { throw .unsendable("a 204 has no length (RFC 9110 §8.6)") }
            if !isHead, let length, length > 0 { throw .unsendable("a \(status) has no body") }
            body = ResponsePlan.Body.none
            lengthToAdd = isHead && status != 204 && status != 304 && declared == nil ? length : nil
        } else if let length = length ?? declared {
            if let declared, declared != length {
                throw .unsendable("its Content-Length is \(declared), but its body has \(length) bytes")
            }
            body = .length(length)
            lengthToAdd = declared == nil ? length : nil
        } else {
            (body, lengthToAdd) = (nil, nil)
        }
    }

    private static func declaredLength(_ fields: HTTPFields) throws(StreamError) -> Int64? {
        let values = fields.values(for: .contentLength)
        guard let first = values.first else { return nil }
        guard values.count == 1, let length = Int64(first), length >= 0, first.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
        else { throw .unsendable("its Content-Length is not a single number") }
        return length
    }
}
