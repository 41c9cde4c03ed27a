public import FoundationEssentials
public import HTTPMessage
public import StreamKit

/// What HTTP streams can be told before they are opened.
extension StreamProperty where Value == Bool {
    /// Follow redirects. Default false: a 3xx is then an answer like others.
    ///
    /// 301 and 302 turn a POST into a GET, 303 anything but HEAD into a GET; 307 and 308 keep method and body (RFC 9110
    /// §15.4). What goes along to another origin is up to ``StreamProperty/httpCrossOriginPolicy``; https never leads to
    /// http. At most ``RedirectPolicy/limit``. Replaces `kCFStreamPropertyHTTPShouldAutoredirect`.
    public static var httpFollowsRedirects: Self {
        .init(setting: "NetKit.http.followsRedirects", access: .beforeOpen, default: false)
    }

    /// Use an idle connection if there is one, and keep this one for others afterwards. Default false.
    ///
    /// Replaces `kCFStreamPropertyHTTPAttemptPersistentConnection`.
    public static var httpKeepsConnection: Self {
        .init(setting: "NetKit.http.keepsConnection", access: .beforeOpen, default: false)
    }

    /// Ask for gzip and deflate, and give the decoded body. Default false: the body is as the server encoded it.
    public static var httpDecodesContent: Self {
        .init(setting: "NetKit.http.decodesContent", access: .beforeOpen, default: false)
    }
}

extension StreamProperty where Value == CrossOriginPolicy {
    /// What a redirect takes along to another origin: fields, a body, the client's certificate, relaxed checks of TLS. Default:
    /// fields that hold no secret, and nothing else.
    public static var httpCrossOriginPolicy: Self {
        .init(setting: "NetKit.http.crossOriginPolicy", access: .beforeOpen, default: CrossOriginPolicy())
    }
}

extension StreamProperty where Value == Duration {
    /// The longest that a load may take from `open()` to the end of the body. Default none.
    ///
    /// A load of an ``HTTPSession`` has it once for all its attempts and redirects, with the time that the user takes to answer a
    /// prompt; the property of its stream says what was left for the last attempt.
    public static var httpTotalLimit: Self { .init(setting: "NetKit.http.totalLimit", access: .beforeOpen) }

    /// The longest wait for the head of the answer, counted anew whenever more of the request has gone out. Default none: the
    /// wait is the caller's own. ``HTTPSession`` sets it to ``HTTPSession/Configuration/responseLimit``.
    ///
    /// Time in which the stream of the request's body has nothing does not count, and interim answers do not count anew.
    public static var httpResponseLimit: Self { .init(setting: "NetKit.http.responseLimit", access: .beforeOpen) }

    /// The longest time spent on the body of a redirect that is followed, to use its connection again. Default 5 s; then the
    /// connection is closed. At most 64 KiB are read.
    public static var httpDiscardLimit: Self {
        .init(setting: "NetKit.http.discardLimit", access: .beforeOpen, default: .seconds(5))
    }

    /// How long to wait for a 100 (Continue) before sending the body anyway, if the request says `Expect: 100-continue`.
    /// Default 1 s.
    public static var httpContinueLimit: Self {
        .init(setting: "NetKit.http.continueLimit", access: .beforeOpen, default: .seconds(1))
    }
}

extension StreamProperty where Value == Int64 {
    /// The most bytes that a decoded body may have. Default 1 GiB; see ``StreamProperty/httpDecodesContent``.
    public static var httpDecodedLimit: Self {
        .init(setting: "NetKit.http.decodedLimit", access: .beforeOpen, default: 1 << 30)
    }

    /// How many bytes of the request's body have been sent.
    ///
    /// Replaces `kCFStreamPropertyHTTPRequestBytesWrittenCount`.
    public static var httpBodyBytesSent: Self { .init(setting: "NetKit.http.bodyBytesSent", access: .readOnly) }

    /// How many bytes the body of the answer will have, as far as the server says; nil while unknown.
    public static var httpBodyLength: Self { .init(setting: "NetKit.http.bodyLength", access: .readOnly) }
}

extension StreamProperty where Value == HTTPLimits {
    /// What is accepted of the server's heads, trailers and chunks.
    public static var httpLimits: Self { .init(setting: "NetKit.http.limits", access: .beforeOpen, default: .default) }
}

extension StreamProperty where Value == HTTPConnectionPool {
    /// Where idle connections are kept. Default ``HTTPConnectionPool/shared``.
    public static var httpPool: Self { .init(setting: "NetKit.http.pool", access: .beforeOpen) }
}

extension StreamProperty where Value == HTTPResponse {
    /// The head of the answer, without its body; nil until it has arrived. It stays after the end and after close.
    ///
    /// A 407 with which a proxy refused a tunnel is that proxy's word: `httpAnsweringProxy` names the proxy, the response has no
    /// URL, and no field that would set a cookie or a policy for the origin.
    ///
    /// Replaces `kCFStreamPropertyHTTPResponseHeader`.
    public static var httpResponse: Self { .init(setting: "NetKit.http.response", access: .readOnly) }
}

extension StreamProperty where Value == [HTTPResponse] {
    /// The interim answers (1xx) that came before the final one, at most ``HTTPLimits/interimResponses``.
    public static var httpInterimResponses: Self { .init(setting: "NetKit.http.interimResponses", access: .readOnly) }
}

extension StreamProperty where Value == HTTPFields {
    /// The fields after a chunked body, once it has ended; none that frames, routes or authenticates the message.
    public static var httpTrailers: Self { .init(setting: "NetKit.http.trailers", access: .readOnly) }

    /// The fields that were taken out of the trailers because they must not be trailers (RFC 9110 §6.5.1). A server that sends
    /// them is broken, or hopes that they are believed.
    public static var httpDroppedTrailers: Self { .init(setting: "NetKit.http.droppedTrailers", access: .readOnly) }
}

extension StreamProperty where Value == URL {
    /// The URL that answered last, after redirects. Replaces `kCFStreamPropertyHTTPFinalURL`.
    public static var httpFinalURL: Self { .init(setting: "NetKit.http.finalURL", access: .readOnly) }
}

extension StreamProperty where Value == HTTPRequest {
    /// The request as it was sent last: after redirects, with all fields. Replaces `kCFStreamPropertyHTTPFinalRequest`.
    public static var httpFinalRequest: Self { .init(setting: "NetKit.http.finalRequest", access: .readOnly) }
}
