public import FoundationEssentials
public import HTTPMessage
@_spi(Packages) public import StreamKit

extension StreamProperty where Value == String {
    /// The content codings that the body has as it is read, such as `compress`; nil if it has none, or they are removed
    /// (``HTTPOptions/decodesContent``).
    ///
    /// The value is in lower case, without `identity`, in the order in which the codings were applied.
    public static var httpRemainingContentCoding: Self {
        .init(setting: "HTTPStream.remainingContentCoding", access: .readOnly)
    }
}

extension StreamProperty where Value == Int64 {
    /// The number of bytes of the request's body that have been sent.
    ///
    /// Replaces `kCFStreamPropertyHTTPRequestBytesWrittenCount`.
    public static var httpBodyBytesSent: Self { .init(setting: "HTTPStream.bodyBytesSent", access: .readOnly) }

    /// The length of the response body in bytes, if the server declares it; nil while unknown.
    public static var httpBodyLength: Self { .init(setting: "HTTPStream.bodyLength", access: .readOnly) }
}

extension StreamProperty where Value == HTTPResponse {
    /// The head of the response, without its body; nil until it has arrived. It remains available after the end and after close.
    ///
    /// A 407 with which a proxy refused a tunnel comes from that proxy: `httpAnsweringProxy` names the proxy, and the response
    /// has no URL, and no field that would set a cookie or a policy for the origin.
    ///
    /// Replaces `kCFStreamPropertyHTTPResponseHeader`.
    public static var httpResponse: Self { .init(setting: "HTTPStream.response", access: .readOnly) }
}

extension StreamProperty where Value == [HTTPResponse] {
    /// The interim responses (1xx) that preceded the final one, at most ``HTTPLimits/interimResponses``.
    public static var httpInterimResponses: Self { .init(setting: "HTTPStream.interimResponses", access: .readOnly) }
}

extension StreamProperty where Value == HTTPFields {
    /// The fields after a chunked body, or after any body over HTTP/2, once the body has ended; without those that frame, route or
    /// authenticate a message.
    public static var httpTrailers: Self { .init(setting: "HTTPStream.trailers", access: .readOnly) }

    /// The fields that were removed from the trailers because they are not allowed there (RFC 9110 §6.5.1). A server that sends
    /// them is faulty or malicious. Over HTTP/2, such fields are left out without a report, and there are none here.
    public static var httpDroppedTrailers: Self { .init(setting: "HTTPStream.droppedTrailers", access: .readOnly) }
}

extension StreamProperty where Value == URL {
    /// The URL of the last request, after redirects. Replaces `kCFStreamPropertyHTTPFinalURL`.
    public static var httpFinalURL: Self { .init(setting: "HTTPStream.finalURL", access: .readOnly) }
}

extension StreamProperty where Value == HTTPRequest {
    /// The request as it was last sent: after redirects, with all fields. Replaces `kCFStreamPropertyHTTPFinalRequest`.
    public static var httpFinalRequest: Self { .init(setting: "HTTPStream.finalRequest", access: .readOnly) }
}

extension StreamProperty where Value == HTTPResponse {
    /// The last HTTP proxy's response to the request for a tunnel: a 2xx, or a refusal with its body. Nil without a tunnel.
    ///
    /// Also available if the refusal prevented the stream from opening. Replaces `kCFStreamPropertyCONNECTResponse`.
    public static var httpProxyResponse: Self { .init(setting: "HTTPStream.proxyResponse", access: .readOnly) }
}

extension StreamProperty where Value == HTTPProxy {
    /// The proxy that received the request and returned the response, or that refused a tunnel with 407. Nil if the response
    /// comes from the origin, even if it is a 407.
    public static var httpAnsweringProxy: Self { .init(setting: "HTTPStream.answeringProxy", access: .readOnly) }
}

/// The stream kinds of HTTPStream.
extension StreamKind {
    /// `ReadStream(request:)`: the rows of `StreamPropertyTable.connection` reach each connection that the load uses.
    @_spi(Packages) public static let http = StreamKind(
        "an HTTP request",
        StreamPropertyTable.connection
            .including(HTTPOptions.table)
            .telling(.httpAnsweringProxy)
            .telling(.httpBodyBytesSent)
            .telling(.httpBodyLength)
            .telling(.httpDroppedTrailers)
            .telling(.httpFinalRequest)
            .telling(.httpFinalURL)
            .telling(.httpInterimResponses)
            .telling(.httpProxyResponse)
            .telling(.httpRedirects)
            .telling(.httpRemainingContentCoding)
            .telling(.httpResponse)
            .telling(.httpTrailers)
            .telling(.serverEndPointBinding)
            .telling(.urlDemandsTLS))

    /// All kinds of this package.
    @_spi(Packages) public static let ofHTTPStream: [StreamKind] = [.http]
}
