/// How the end of a message's body is found (RFC 9112 §6.3).
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
    /// There is no body, whatever the fields say.
    case none
    /// So many bytes.
    case length(Int64)
    /// Chunks, then a trailer section (RFC 9112 §7.1).
    case chunked
    /// Everything until the peer closes. Only responses end so, and such a connection is not used again.
    case untilClose
    /// The connection is no longer HTTP: after a successful `CONNECT`, or a 101.
    case tunnel

    /// The framing of a request's body.
    ///
    /// Throws if the fields contradict each other or themselves: `invalidContentLength`, `repeatedContentLength`,
    /// `conflictingFraming`, `invalidTransferEncoding`, `transferEncodingInHTTP10`. The end of such a message is
    /// unknown, so its connection has to be closed.
    public static func of(
        _ request: HTTPRequest, leniency: HTTPLeniency = .strict
    ) throws(HTTPMessageError) -> BodyFraming {
        let fields = FramingFields(request.fields, request.version, leniency)
        let length = try fields.contentLength()
        if let framing = try fields.transferEncoding(hasLength: length != nil) {
            // §6.3 rule 4: a request whose last coding is not chunked has no known end.
            guard framing == .chunked else { throw fields.error(.invalidTransferEncoding) }
            return .chunked
        }
        return length.map { .length($0) } ?? .none
    }

    /// The framing of a response's body. It depends on the method of the request that is answered.
    ///
    /// Throws as ``of(_:leniency:)``, also where there is no body: a peer that contradicts itself is not to be trusted
    /// with the next message.
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
    /// The transfer codings that were applied to the body, in order and in lower case, `chunked` among them.
    ///
    /// A body whose codings are more than `["chunked"]` is still encoded after its framing is undone; this package
    /// undoes `chunked` only. Throws ``HTTPMessageError/Code/invalidTransferEncoding`` for anything but a list of codings.
    public var transferCodings: [String] {
        get throws(HTTPMessageError) { try FramingFields(self, .http11, []).codings() }
    }
}
