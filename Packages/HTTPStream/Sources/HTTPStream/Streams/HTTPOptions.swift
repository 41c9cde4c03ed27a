public import HTTPMessage
@_spi(Packages) public import StreamKit

/// The options of a load, which is all that a stream does for one request: connecting, redirects, decoding.
///
/// ```swift
/// var options = HTTPOptions()
/// options.followsRedirects = true
/// options.totalTimeout = .seconds(600)
/// let stream = try ReadStream(request: request, options: options)
/// ```
///
/// The defaults are those of CFNetwork; a session has those of ``userAgent``.
/// A single option of a stream is also a property (`StreamProperty.http(_:)`), which can be set until the stream is opened:
///
/// ```swift
/// try stream.set(.http(\.followsRedirects), to: true)
/// ```
public struct HTTPOptions: Sendable {
    // MARK: Requests

    /// Whether redirects are followed. Default false: a 3xx is then a response like others.
    ///
    /// 301 and 302 turn a POST into a GET, and 303 any method except HEAD; 300, 307 and 308 keep method and body (RFC 9110 §15.4).
    /// ``crossOrigin`` determines what is sent to another origin; unless it says otherwise, a redirect from https to http is an error. At
    /// most ``RedirectPolicy/maximumRedirects`` redirects are followed. Replaces `kCFStreamPropertyHTTPShouldAutoredirect`.
    public var followsRedirects = false

    /// What a redirect sends to another origin: fields, a body, the client's certificate, relaxed TLS checks. Default: fields that contain
    /// no secret, and nothing else.
    public var crossOrigin = CrossOriginPolicy()

    /// The value of `Host` in requests to the origin that the application names, such as `www.example.org` or `www.example.org:8080`.
    /// Default nil: the host and port of the URL (RFC 9110 §7.2).
    ///
    /// For a server that is reached by another name or address than the one it serves, as in a test of a virtual host. Connections,
    /// TLS and credentials still use the URL; `TLSConfiguration.peerName` names the host of the certificate. A redirect to another
    /// origin sends that origin's own `Host`. Anything but a host with an optional port is refused with `EINVAL`.
    public var host: String?

    /// Whether an empty `User-Agent` of the request is sent as it is. Default false: an empty value omits the field.
    ///
    /// For a CFHTTPMessage, of which each field is sent as the program has set it.
    @_spi(CoreFoundation) public var keepsEmptyUserAgent = false

    /// The versions of HTTP that the load may use. Default ``HTTPVersions/http1``; that of a session: ``HTTPVersions/automatic``.
    ///
    /// With ``keepsConnection``, requests to the same origin on the same event loop, with the same ``limits`` and connection options, share one
    /// HTTP/2 connection. Without it, each has its own.
    ///
    /// HTTP/1.1 is used for a request that offers an upgrade (unless there is a connection of HTTP/2 whose server accepts it, RFC 8441), that is
    /// of HTTP/1.0, whose login belongs to a connection (NTLM, Negotiate), or that a proxy receives itself; and once the server has demanded it.
    /// With ``HTTPVersions/http2``, such a request fails.
    ///
    /// A server of HTTP/2 that sends nothing for 30 seconds while a request waits for it, or before a new request, is sent a PING, and after an
    /// answered one the next after 5 minutes. If it neither sends anything nor takes output that had to wait for another 15 seconds, the
    /// connection has ended: requests that may be repeated are sent on another one, and the others fail with `ETIMEDOUT`.
    ///
    /// If the TLS configuration names application protocols, these are offered instead, and the server's choice among them decides.
    public var versions = HTTPVersions.http1

    // MARK: Responses

    /// Whether coded bodies are requested and decoded (RFC 9110 §8.4). Default false: the body is as the server encoded it.
    ///
    /// The codings are gzip and deflate, and br (RFC 7932) and zstd (RFC 8878) if libbrotlidec and libzstd are installed. A body may have
    /// up to two of them. One with more, or with another coding, is not decoded: see `StreamProperty.httpRemainingContentCoding`.
    public var decodesContent = false

    /// The maximum size of a decoded body in bytes, also of one from which only the outer of two codings has been removed. Default 1 GiB;
    /// see ``decodesContent``.
    public var maximumDecodedLength: Int64 = 1 << 30

    /// The limits for the server's heads, trailers and chunks.
    public var limits = HTTPLimits.default

    // MARK: Connections

    /// Whether an idle connection of the ``pool`` is used if there is one, and the connection is kept for other requests afterwards. Default
    /// false.
    ///
    /// Replaces `kCFStreamPropertyHTTPAttemptPersistentConnection`.
    public var keepsConnection = false

    /// The pool of idle connections. Default ``HTTPConnectionPool/shared``.
    public var pool = HTTPConnectionPool.shared

    /// The endpoints that replace the hosts of URLs, also of redirects. Default nil: connections lead to the host of the URL.
    public var endpoints: HTTPEndpoints?

    /// Settings that determine the proxies, for the URL of the request and of each redirect that is followed.
    ///
    /// If a script decides, it is loaded and run first, once for each URL. Nil (default): only the proxies of `StreamProperty.proxies` in
    /// ``connection``, which take precedence if both are set. Replaces the dictionary of `kCFStreamPropertyHTTPProxy`.
    public var proxySettings: ProxySettings?

    /// The properties of each connection, such as `StreamProperty.openTimeout`; and those of the stream, such as
    /// `StreamProperty.readTimeout`. A stream refuses with `EINVAL` those that it does not honour, and options of this structure as properties.
    public var connection = StreamProperties()

    /// The TLS options in ``connection`` (`StreamProperty.tls`). They apply to `https` URLs.
    public var tls: TLSConfiguration {
        get { connection[.tls] ?? TLSConfiguration() }
        set { connection[.tls] = newValue }
    }

    // MARK: Time limits

    /// The time limit from `open()` to the end of the body. Default nil: no limit.
    ///
    /// For a load of an ``HTTPSession`` it covers all attempts, redirects, logins and retries, including the time that the user takes to
    /// answer a prompt; the option of the load's stream is the time that was left for the last attempt.
    public var totalTimeout: Duration?

    /// The time limit of the wait for the response head, restarted whenever more of the request has been sent. Default nil: no limit;
    /// that of a session: 75 s.
    ///
    /// It also restarts on another connection, and when requests that wait for the same connection of HTTP/2 before this one are sent.
    /// Time in which the stream of the request's body has no bytes does not count. Interim responses do not restart the limit. Connecting
    /// has its own limit, `StreamProperty.openTimeout`.
    public var responseTimeout: Duration?

    /// The time to wait for 100 (Continue) before the body is sent anyway, if the request contains `Expect: 100-continue`.
    /// Default 1 s.
    public var continueTimeout = Duration.seconds(1)

    /// The time limit for reading the body of a response that leads to another request (a redirect, or a challenge), in order to keep its
    /// connection. Default 5 s; then the connection is closed. At most 64 KiB are read.
    public var discardTimeout = Duration.seconds(5)

    /// Makes the options of CFNetwork: no redirects, no decoding, no kept connections, and no proxies.
    public init() {}

    /// The options of a user agent, which are those of a session: it follows redirects, decodes bodies, keeps connections, uses HTTP/2
    /// if the server chooses it, and waits 75 s for a response.
    public static let userAgent: HTTPOptions = {
        var options = HTTPOptions()
        options.followsRedirects = true
        options.decodesContent = true
        options.keepsConnection = true
        options.responseTimeout = .seconds(75)
        options.versions = .automatic
        return options
    }()

    /// The options as properties.
    static let table = StreamOptionTable<HTTPOptions>(
        "HTTPStream", defaults: HTTPOptions(),
        [
            .using("continueTimeout", \.continueTimeout),
            .using("crossOrigin", \.crossOrigin),
            .using("decodesContent", \.decodesContent),
            .using("discardTimeout", \.discardTimeout),
            .connecting("endpoints", \.endpoints),
            .using("followsRedirects", \.followsRedirects),
            .using("host", \.host),
            .using("keepsConnection", \.keepsConnection),
            .using("keepsEmptyUserAgent", \.keepsEmptyUserAgent),
            .using("limits", \.limits),
            .using("maximumDecodedLength", \.maximumDecodedLength),
            .using("pool", \.pool),
            .using("proxySettings", \.proxySettings),
            .using("responseTimeout", \.responseTimeout),
            .using("totalTimeout", \.totalTimeout),
            .using("versions", \.versions),
        ],
        check: { (options) throws(StreamError) in try options.check() })

    /// Throws if an option has an invalid value. Setting an option by name checks all of them.
    func check() throws(StreamError) {
        if let host, !HTTPOrigin.isHost(host) { throw .invalidHost(host) }
    }
}

extension StreamProperty {
    /// An option of HTTP streams: `.http(\.followsRedirects)`. It can be set until the stream is opened.
    public static func http(_ option: any WritableKeyPath<HTTPOptions, Value> & Sendable) -> Self {
        HTTPOptions.table[option]
    }

    /// An option of HTTP streams that need not have a value: `.http(\.totalTimeout)`. It can be set until the stream is opened.
    public static func http(_ option: any WritableKeyPath<HTTPOptions, Value?> & Sendable) -> Self {
        HTTPOptions.table[option]
    }
}
