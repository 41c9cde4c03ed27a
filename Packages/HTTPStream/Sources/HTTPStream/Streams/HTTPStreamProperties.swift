public import FoundationEssentials
public import HTTPMessage
public import StreamKit

/// Properties of HTTP streams that are set before the stream is opened.
extension StreamProperty where Value == Bool {
    /// Whether redirects are followed. Default false: a 3xx is then a response like others.
    ///
    /// 301 and 302 turn a POST into a GET, and 303 any method except HEAD; 300, 307 and 308 keep method and body (RFC 9110 §15.4).
    /// ``StreamProperty/httpCrossOriginPolicy`` determines what is sent to another origin; unless it says otherwise, a redirect from
    /// https to http is an error. At most ``RedirectPolicy/limit`` redirects are followed. Replaces `kCFStreamPropertyHTTPShouldAutoredirect`.
    public static var httpFollowsRedirects: Self {
        .init(setting: "HTTPStream.followsRedirects", access: .beforeOpen, default: false)
    }

    /// Whether an idle connection is used if there is one, and the connection is kept for other requests afterwards. Default
    /// false.
    ///
    /// Replaces `kCFStreamPropertyHTTPAttemptPersistentConnection`.
    public static var httpKeepsConnection: Self {
        .init(setting: "HTTPStream.keepsConnection", access: .beforeOpen, default: false)
    }

    /// Whether coded bodies are requested and decoded (RFC 9110 §8.4). Default false: the body is as the server encoded it.
    ///
    /// The codings are gzip and deflate, and br (RFC 7932) and zstd (RFC 8878) if libbrotlidec and libzstd are installed. A body may have
    /// up to two of them. One with more, or with another coding, is not decoded: see ``StreamProperty/httpRemainingContentCoding``.
    public static var httpDecodesContent: Self {
        .init(setting: "HTTPStream.decodesContent", access: .beforeOpen, default: false)
    }

    /// Whether an empty `User-Agent` of the request is sent as it is. Default false: an empty value omits the field.
    ///
    /// For a CFHTTPMessage, of which each field is sent as the program has set it.
    @_spi(CoreFoundation)
    public static var httpKeepsEmptyUserAgent: Self {
        .init(setting: "HTTPStream.keepsEmptyUserAgent", access: .beforeOpen, default: false)
    }
}

extension StreamProperty where Value == String {
    /// The value of `Host` in requests to the origin that the application names, such as `www.example.org` or `www.example.org:8080`.
    /// Default nil: the host and port of the URL (RFC 9110 §7.2).
    ///
    /// For a server that is reached by another name or address than the one it serves, as in a test of a virtual host. Connections,
    /// TLS and credentials still use the URL; `TLSConfiguration.peerName` names the host of the certificate. A redirect to another
    /// origin sends that origin's own `Host`. Setting anything but a host with an optional port throws `EINVAL`.
    public static var httpHost: Self { .init(setting: "HTTPStream.host", access: .beforeOpen) }

    /// The content codings that the body has as it is read, such as `compress`; nil if it has none, or they are removed
    /// (``StreamProperty/httpDecodesContent``).
    ///
    /// The value is in lower case, without `identity`, in the order in which the codings were applied.
    public static var httpRemainingContentCoding: Self {
        .init(setting: "HTTPStream.remainingContentCoding", access: .readOnly)
    }
}

extension StreamProperty where Value == CrossOriginPolicy {
    /// What a redirect sends to another origin: fields, a body, the client's certificate, relaxed TLS checks. Default: fields
    /// that contain no secret, and nothing else.
    public static var httpCrossOriginPolicy: Self {
        .init(setting: "HTTPStream.crossOriginPolicy", access: .beforeOpen, default: CrossOriginPolicy())
    }
}

extension StreamProperty where Value == Duration {
    /// The time limit from `open()` to the end of the body. Default nil: no limit.
    ///
    /// For a load of an ``HTTPSession`` it covers all attempts and redirects, including the time that the user takes to answer a
    /// prompt; the property of the load's stream holds the time that was left for the last attempt.
    public static var httpTotalTimeout: Self { .init(setting: "HTTPStream.totalTimeout", access: .beforeOpen) }

    /// The time limit of the wait for the response head, restarted whenever more of the request has been sent. Default nil: no
    /// limit. ``HTTPSession`` sets it to ``HTTPSession/Configuration/responseTimeout``.
    ///
    /// Time in which the stream of the request's body has no bytes does not count. Interim responses do not restart the limit.
    public static var httpResponseTimeout: Self { .init(setting: "HTTPStream.responseTimeout", access: .beforeOpen) }

    /// The time limit for reading the body of a redirect that is followed, in order to keep its connection. Default 5 s; then the
    /// connection is closed. At most 64 KiB are read.
    public static var httpDiscardTimeout: Self {
        .init(setting: "HTTPStream.discardTimeout", access: .beforeOpen, default: .seconds(5))
    }

    /// The time to wait for 100 (Continue) before the body is sent anyway, if the request contains `Expect: 100-continue`.
    /// Default 1 s.
    public static var httpContinueTimeout: Self {
        .init(setting: "HTTPStream.continueTimeout", access: .beforeOpen, default: .seconds(1))
    }
}

extension StreamProperty where Value == Int64 {
    /// The maximum size of a decoded body in bytes, also of one from which only the outer of two codings has been removed. Default 1 GiB;
    /// see ``StreamProperty/httpDecodesContent``.
    public static var httpDecodedLength: Self {
        .init(setting: "HTTPStream.decodedLength", access: .beforeOpen, default: 1 << 30)
    }

    /// The number of bytes of the request's body that have been sent.
    ///
    /// Replaces `kCFStreamPropertyHTTPRequestBytesWrittenCount`.
    public static var httpBodyBytesSent: Self { .init(setting: "HTTPStream.bodyBytesSent", access: .readOnly) }

    /// The length of the response body in bytes, if the server declares it; nil while unknown.
    public static var httpBodyLength: Self { .init(setting: "HTTPStream.bodyLength", access: .readOnly) }
}

extension StreamProperty where Value == HTTPLimits {
    /// The limits for the server's heads, trailers and chunks.
    public static var httpLimits: Self { .init(setting: "HTTPStream.limits", access: .beforeOpen, default: .default) }
}

extension StreamProperty where Value == HTTPConnectionPool {
    /// The pool of idle connections. Default ``HTTPConnectionPool/shared``.
    public static var httpPool: Self { .init(setting: "HTTPStream.pool", access: .beforeOpen) }
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
    /// The fields after a chunked body, once the body has ended; without those that frame, route or authenticate a message.
    public static var httpTrailers: Self { .init(setting: "HTTPStream.trailers", access: .readOnly) }

    /// The fields that were removed from the trailers because they are not allowed there (RFC 9110 §6.5.1). A server that sends
    /// them is faulty or malicious.
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

extension StreamProperty where Value == ProxySettings {
    /// Settings that determine the proxies, for the URL of the request and of each redirect that is followed.
    ///
    /// If a script decides, it is loaded and run first, once for each URL. Nil (default): only the proxies of
    /// `StreamProperty.proxies`, which take precedence if both are set. Replaces the dictionary of `kCFStreamPropertyHTTPProxy`.
    public static var httpProxySettings: Self { .init(setting: "HTTPStream.proxySettings", access: .beforeOpen) }
}

extension StreamProperty where Value == HTTPProxy {
    /// The proxy that received the request and returned the response, or that refused a tunnel with 407. Nil if the response
    /// comes from the origin, even if it is a 407.
    public static var httpAnsweringProxy: Self { .init(setting: "HTTPStream.answeringProxy", access: .readOnly) }
}

/// The stream kinds of HTTPStream.
extension StreamKind {
    /// `ReadStream(request:body:)`: the rows of `StreamPropertyTable.connection` reach each connection that the load uses.
    public static let http = StreamKind(
        "an HTTP request",
        StreamPropertyTable.connection
            .using(.httpContinueTimeout)
            .using(.httpCrossOriginPolicy)
            .using(.httpDecodedLength)
            .using(.httpDiscardTimeout)
            .using(.httpDecodesContent)
            .connecting(.httpEndpoints)
            .using(.httpFollowsRedirects)
            .using(.httpHost)
            .using(.httpKeepsConnection)
            .using(.httpKeepsEmptyUserAgent)
            .using(.httpLimits)
            .using(.httpPool)
            .using(.httpProxySettings)
            .using(.httpResponseTimeout)
            .using(.httpTotalTimeout)
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
    public static let ofHTTPStream: [StreamKind] = [.http]
}
