public import HTTPAuth
public import HTTPMessage
@_spi(Packages) public import StreamKit

/// An HTTP proxy. `http` requests are sent to it in absolute form; other connections use a tunnel (RFC 9110 §9.3.6).
///
/// ```swift
/// let stream = try ReadStream(httpURL: url)
/// try stream.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "proxy.example", port: 3128))])
///
/// let pair = StreamPair(host: "mail.example.org", port: 993)          // any stream can go through a tunnel
/// try pair.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "proxy.example", port: 3128))])
/// ```
///
/// If the proxy refuses, its response with fields and body is available as `StreamProperty.httpProxyResponse` and in the error
/// (``HTTPProxyRefusal``). Replaces `kCFStreamPropertyHTTPProxy` and `kCFStreamPropertyCONNECTProxy`.
public struct HTTPProxy: StreamProxy {
    /// The proxy's name or address. Replaces `kCFStreamPropertyHTTPProxyHost` and `kCFStreamPropertyHTTPSProxyHost`.
    public var host: String

    /// The proxy's port. Replaces `kCFStreamPropertyHTTPProxyPort` and `kCFStreamPropertyHTTPSProxyPort`.
    public var port: UInt16

    /// TLS on the connection to the proxy, which hides the names of the targets from the network; nil (default) for none.
    ///
    /// The proxy is spoken to in HTTP/1.1. If the application protocols contain `h2`, a proxy that chooses it establishes tunnels in HTTP/2 (RFC
    /// 9113 §8.5), each on a connection of its own; requests that are sent to the proxy itself use HTTP/1.1, and need `http/1.1` in the list.
    /// While no call reads or writes, as in a pool, such a tunnel answers no PING.
    public var tls: TLSConfiguration? {
        get { security?.tls }
        set { security = newValue.map(Security.init) }
    }

    /// Fields that are sent to the proxy only, in addition to `Host` and `User-Agent`, and never to an origin.
    ///
    /// A `Proxy-Authorization` among them is sent without a challenge; use ``account`` for credentials to send after a challenge.
    /// Replaces `kCFStreamPropertyCONNECTAdditionalHeaders`.
    public var fields: HTTPFields

    /// The user and password for the proxy; nil (default) for none.
    public var account: Account? {
        get { accountLogin?.account }
        set { accountLogin = newValue.map(ProxyAccountLogin.init) }
    }

    /// The login with the account. A separate object, which copies of the proxy share.
    private var accountLogin: ProxyAccountLogin?

    /// Whether the application named the proxy. A proxy that a script chose receives less without a challenge.
    var isNamed = true

    /// Whether a session answers the proxy's challenges, by its own rules.
    var isSession = false

    /// The login that is sent without a challenge, if there is one.
    var unaskedLogin: ProxyAccountLogin? {
        accountLogin?.account.isSentUnasked == true && !fields.contains(.proxyAuthorization) ? accountLogin : nil
    }

    /// The login with which a stream answers challenges; nil if the caller has set a field, or a session answers them.
    var ownLogin: ProxyAccountLogin? {
        isSession || fields.contains(.proxyAuthorization) ? nil : accountLogin
    }

    /// The limits for the proxy's responses.
    public var limits: HTTPLimits

    /// Whether the proxy establishes a tunnel (CONNECT) for `http` URLs, too, as it does for `https`. Default false: it receives the
    /// requests themselves.
    public var usesTunnels = false

    /// The session's login for the proxy, which answers its challenges. `Proxy-Authorization` in ``fields`` is then not sent.
    var login: HTTPLogin?

    private var security: Security?

    /// A separate object: it is large, and few proxies have it.
    private final class Security: Sendable {
        let tls: TLSConfiguration

        init(_ tls: TLSConfiguration) {
            self.tls = tls
        }
    }

    /// The maximum number of bytes of a refusal's body that are kept; the rest is not read.
    static let maximumRefusalBodyLength = 64 * 1024

    /// Makes a proxy.
    public init(
        host: String, port: UInt16, tls: TLSConfiguration? = nil, fields: HTTPFields = HTTPFields(),
        limits: HTTPLimits = .default
    ) {
        self.host = host
        self.port = port
        security = tls.map(Security.init)
        self.fields = fields
        self.limits = limits
    }

    /// `HTTP` or `HTTPS`.
    public var kind: String { tls == nil ? "HTTP" : "HTTPS" }

    /// Yes.
    public var isHTTP: Bool { true }

    /// Makes the machine that requests a tunnel to `target`.
    ///
    /// - Throws: `EINVAL` for fields that a request cannot contain.
    public func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine {
        try ConnectMachine(self, target)
    }

    /// The TLS of requests that are sent to the proxy itself.
    ///
    /// - Throws: `EINVAL` if the application protocols permit HTTP/2 only.
    func tlsOfRequests() throws(StreamError) -> TLSConfiguration? {
        guard var tls, tls.applicationProtocols.contains(HTTPVersions.http2Protocol) else { return tls }
        tls.applicationProtocols.removeAll { $0 == HTTPVersions.http2Protocol }
        if tls.applicationProtocols.isEmpty { throw .proxyOfHTTP2(hostAndPort) }
        return tls
    }
}

extension HTTPProxy {
    /// The protection space of credentials for the proxy, without a realm: for an `HTTPAuthentication` made from its 407.
    public var protectionSpace: ProtectionSpace {
        ProtectionSpace(.proxy, scheme: tls == nil ? "http" : "https", host: host, port: Int(port))
    }

    var space: ProtectionSpace { protectionSpace }

    /// Whether all properties are equal, including credentials in the fields and the session's login.
    public static func == (left: HTTPProxy, right: HTTPProxy) -> Bool {
        left.host == right.host && left.port == right.port && left.tls == right.tls && left.fields == right.fields
            && left.account == right.account && left.limits == right.limits && left.isSession == right.isSession
            && left.usesTunnels == right.usesTunnels && left.isNamed == right.isNamed && left.login === right.login
    }

    /// Hashes host and port: proxies rarely differ only in other properties.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
    }
}

extension HTTPProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Kind, host and port.
    public var description: String { "\(kind) \(hostAndPort)" }

    /// Kind, host and port, without credentials.
    public var debugDescription: String { description }

    /// Host and port, without credentials.
    public var customMirror: Mirror { Mirror(self, children: ["host": host, "port": port]) }

    var hostAndPort: String { "\(URLAuthority.bracketed(host)):\(port)" }
}

/// An HTTP proxy's refusal of a tunnel: the underlying error of the stream's error.
///
/// ```swift
/// do {
///     try await stream.opened()
/// } catch where (error.underlying as? HTTPProxyRefusal)?.response.status == .proxyAuthenticationRequired {
///     print("The proxy requires a password.")
/// }
/// ```
public struct HTTPProxyRefusal: Error, Hashable, Sendable {
    /// The proxy, as `host:port`.
    public let proxy: String

    /// The proxy's response, with at most 64 KiB of the body.
    ///
    /// The proxy has written it, not the target: never present it as the target's.
    public let response: HTTPResponse

    /// The proxy itself.
    let source: HTTPProxy

    /// The verdict on the session's credentials, if the proxy received any.
    let verdict: AuthenticationVerdict?
}

extension HTTPProxyRefusal {
    /// Fields that set state for an origin in the client.
    private static let statefulFields: [HTTPFieldName] = [
        .setCookie, "Set-Cookie2", "Strict-Transport-Security", "Alt-Svc", "Clear-Site-Data", "Public-Key-Pins", "NEL",
        "Report-To", "Reporting-Endpoints", "Expect-CT", "Accept-CH",
    ]

    /// The response of a load whose tunnel was refused because the proxy requires a login (407); nil for any other refusal.
    ///
    /// It has no body, since the proxy has sent it and not the origin. It has neither the origin's URL nor a field that would set
    /// state for the origin: the origin was never reached, and the proxy could otherwise set its cookies.
    var loginResponse: HTTPResponse? {
        guard response.status.code == 407 else { return nil }
        var head = response
        head.body = []
        head.url = nil
        for name in HTTPProxyRefusal.statefulFields { head.fields.remove(name) }
        return head
    }
}

extension HTTPOrigin {
    /// Makes the endpoint of requests for all `http` origins that use this proxy.
    init(_ proxy: HTTPProxy) {
        self.init(host: proxy.host, port: proxy.port)
    }
}

extension ProxyRoute {
    /// The proxy at the end of the route that receives requests to `http` URLs itself; nil if there is none.
    var requestProxy: HTTPProxy? {
        guard let proxy = hops.last as? HTTPProxy, !proxy.usesTunnels else { return nil }
        return proxy
    }
}

/// Credentials for a proxy could not be computed: the underlying error of the stream's error.
struct ProxyLoginFailure: Error {
    let proxy: HTTPProxy
    /// The authentication that failed, which may be about to continue with another scheme.
    let authentication: HTTPAuthentication
    let error: HTTPAuthError
}

extension StreamError {
    /// The errors of proxies have numbers in `CFNetworkErrors`; CFStream has none for them.
    static func proxy(
        _ number: HTTPErrorNumber.ProxyError, _ sentence: Sentence, reason: StreamErrorReason? = nil,
        underlying: (any Error)? = nil
    ) -> StreamError {
        StreamError(domain: .http, code: number.rawValue, sentence: sentence, reason: reason, underlying: underlying)
    }

    static func tunnelRefused(
        _ source: HTTPProxy, _ target: String, _ response: HTTPResponse, _ verdict: AuthenticationVerdict?
    ) -> StreamError {
        let proxy = source.hostAndPort
        let status = response.reason.isEmpty ? "\(response.status.code)" : "\(response.status.code) \(response.reason)"
        let refusal = HTTPProxyRefusal(proxy: proxy, response: response, source: source, verdict: verdict)
        return response.status.code == 407
            ? .proxy(
                .badCredentials,
                Sentence(
                    "proxy.authentication", "The proxy %1 requires a login for %2: %3.", proxy, target, status),
                underlying: refusal)
            : .proxy(
                .tunnelConnectionFailure,
                Sentence("proxy.refused", "The proxy %1 refused to connect to %2: %3.", proxy, target, status),
                underlying: refusal)
    }

    static func proxyLogin(
        _ proxy: HTTPProxy, _ authentication: HTTPAuthentication, _ error: HTTPAuthError
    ) -> StreamError {
        .proxy(
            .badCredentials,
            Sentence("proxy.login", "The login to the proxy %1 failed: %2.", proxy.hostAndPort, error.description),
            underlying: ProxyLoginFailure(proxy: proxy, authentication: authentication, error: error))
    }

    static func tunnelAnswerInvalid(_ proxy: String, _ error: HTTPMessageError) -> StreamError {
        .proxy(
            .unexpectedResponseToConnect,
            Sentence("proxy.notHTTP", "The proxy %1 sent a response that is not valid HTTP: %2.", proxy, "\(error)"),
            underlying: error)
    }

    static func tunnelClosed(_ proxy: String, _ step: String) -> StreamError {
        .proxy(
            .tunnelConnectionFailure, Sentence("proxy.brokeOff", "The proxy %1 closed the connection %2.", proxy, step))
    }

    static func tunnelInterim(_ proxy: String, _ count: Int) -> StreamError {
        .proxy(
            .unexpectedResponseToConnect,
            Sentence("proxy.interim", "The proxy %1 sent more than %2 interim responses.", proxy, "\(count)"))
    }
}
