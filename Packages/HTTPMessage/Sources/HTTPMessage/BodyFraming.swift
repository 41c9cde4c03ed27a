/// How the end of a message's body is determined (RFC 9112 §6.3).
///
/// ```swift
/// switch try BodyFraming.of(response, to: .get) {
/// case .none: break
/// case .length(let count): print("\(count) bytes follow")
/// case .chunked: print("chunks follow")
/// case .untilClose, .tunnel: print("all further bytes")
/// }
/// ```
public enum BodyFraming: Hashable, Sendable {
    /// The message has no body, regardless of its fields.
    case none
    /// The body has this many bytes.
    case length(Int64)
    /// The body consists of chunks, followed by a trailer section (RFC 9112 §7.1).
    case chunked
    /// The body ends when the peer closes the connection, which therefore cannot be reused. Responses only.
    case untilClose
    /// The connection no longer carries HTTP: after a successful `CONNECT`, or a 101.
    case tunnel

    /// Returns the framing of a request's body.
    ///
    /// Throws if the framing fields are invalid or contradict each other: `invalidContentLength`, `repeatedContentLength`,
    /// `conflictingFraming`, `invalidTransferEncoding`, `unknownTransferCoding`, `transferEncodingInHTTP10`. The end of such a
    /// message is unknown, so its connection must be closed.
    public static func of(
        _ request: HTTPRequest, leniency: HTTPLeniency = .strict
    ) throws(HTTPMessageError) -> BodyFraming {
        let fields = FramingFields(request.fields, request.version, leniency)
        let length = try fields.contentLength()
        if let framing = try fields.transferEncoding(hasLength: length != nil) {
            // §6.3 rule 4: a request whose final coding is not chunked has no known end.
            guard framing == .chunked else { throw fields.error(.invalidTransferEncoding) }
            return .chunked
        }
        return length.map { .length($0) } ?? .none
    }

    /// Returns the framing of a response's body, which depends on the method of the request.
    ///
    /// Throws the errors of ``of(_:leniency:)``, even for a response without a body: if the fields are contradictory, the
    /// peer's next message cannot be trusted either.
    public static func of(
        _ response: HTTPResponse, to method: HTTPMethod, leniency: HTTPLeniency = .strict
    ) throws(HTTPMessageError) -> BodyFraming {
        if response.version == .http09, response.statusLine.isEmpty { return .untilClose }
        let fields = FramingFields(response.fields, response.version, leniency)
        let length = try fields.contentLength()
        let coding = try fields.transferEncoding(hasLength: length != nil)
        let status = response.status
        switch status.code {
        case 101: return .tunnel
        case 100...199, 204, 304: return .none
        case 200...299 where method == .connect: return .tunnel
        default: break
        }
        if method == .head { return .none }
        return coding ?? length.map { .length($0) } ?? .untilClose
    }
}

extension HTTPFields {
    /// The transfer codings of the body in the order in which they were applied, in lower case, including `chunked`.
    ///
    /// This package decodes `chunked` only: a body with further codings is still encoded after ``BodyDecoder`` has removed
    /// its framing. Throws ``HTTPMessageError/Code/invalidTransferEncoding`` if the value is not a list of codings.
    public var transferCodings: [String] {
        get throws(HTTPMessageError) { try FramingFields(self, .http11, []).codings() }
    }
}
