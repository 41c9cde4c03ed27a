public import HTTPAuth
public import HTTPMessage
public import StreamKit

/// An HTTP proxy: `http` URLs are sent to it in absolute form, everything else goes through a tunnel (RFC 9110 §9.3.6).
///
/// ```swift
/// let stream = try ReadStream(httpURL: url)
/// try stream.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "proxy.example", port: 3128))])
///
/// let pair = StreamPair(host: "mail.example.org", port: 993)          // any stream can go through a tunnel
/// try pair.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "proxy.example", port: 3128))])
/// ```
///
/// A proxy that refuses is heard: its answer, with fields and body, is `StreamProperty.httpProxyResponse` and
/// in the error (``HTTPProxyRefusal``). Replaces `kCFStreamPropertyHTTPProxy` and `kCFStreamPropertyCONNECTProxy`.
public struct HTTPProxy: StreamProxy {
    /// The proxy's name or address. Replaces `kCFStreamPropertyHTTPProxyHost` and `kCFStreamPropertyHTTPSProxyHost`.
    public var host: String

    /// The proxy's port. Replaces `kCFStreamPropertyHTTPProxyPort` and `kCFStreamPropertyHTTPSProxyPort`.
    public var port: UInt16

    /// TLS on the connection to the proxy, so that nobody else sees whom it is asked for; nil (default) for none.
    public var tls: TLSConfiguration? {
        get { security?.tls }
        set { security = newValue.map(Security.init) }
    }

    /// Fields for the proxy alone, in addition to `Host` and `User-Agent`: never sent to an origin.
    ///
    /// `Proxy-Authorization` among them is credentials that are sent without being asked for; ``account`` is for those that
    /// the proxy is to ask for. Replaces `kCFStreamPropertyCONNECTAdditionalHeaders`.
    public var fields: HTTPFields

    /// The user there, and the password; nil (default) for none.
    public var account: Account? {
        get { accountLogin?.account }
        set { accountLogin = newValue.map(ProxyAccountLogin.init) }
    }

    /// The login with the account: beside the proxy, and shared by its copies.
    private(set) var accountLogin: ProxyAccountLogin?

    /// Whether the application named the proxy; false for one that a script chose, which gets less without being asked for.
    var isNamed = true

    /// Whether a session answers the proxy's challenges, by rules of its own.
    var isSession = false

    /// The login that is sent unasked, if there is one.
    var unaskedLogin: ProxyAccountLogin? {
        accountLogin?.account.isSentUnasked == true && !fields.contains(.proxyAuthorization) ? accountLogin : nil
    }

    /// The login that a stream answers challenges with: none if the caller has brought a field, or a session does it.
    var ownLogin: ProxyAccountLogin? {
        isSession || fields.contains(.proxyAuthorization) ? nil : accountLogin
    }

    /// What is accepted of the proxy's answers.
    public var limits: HTTPLimits

    /// Who is asked for credentials when the proxy wants some; of a session. Those of ``fields`` are then not sent.
    var login: KnownAuthentication?

    private var security: Security?

    /// Beside the proxy: it is large, and few proxies have it.
    private final class Security: Sendable {
        let tls: TLSConfiguration

        init(_ tls: TLSConfiguration) {
            self.tls = tls
        }
    }

    /// Most bytes of a refusal's body that are kept; the rest is not waited for.
    public static let refusalBodyLimit = 64 * 1024

    /// Names a proxy.
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

    /// The conversation that asks for a tunnel to `target`.
    ///
    /// - Throws: `EINVAL` for fields that a request cannot have.
    public func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine {
        try ConnectMachine(self, target)
    }
}

extension HTTPProxy {
    /// Where credentials for it are good, without a realm: for an `HTTPAuthentication` made from its 407.
    public var protectionSpace: ProtectionSpace {
        ProtectionSpace(.proxy, scheme: tls == nil ? "http" : "https", host: host, port: Int(port))
    }

    var space: ProtectionSpace { protectionSpace }

    /// Equal if everything is: the fields' credentials, and on whose behalf a session uses it, too.
    public static func == (left: HTTPProxy, right: HTTPProxy) -> Bool {
        left.host == right.host && left.port == right.port && left.tls == right.tls && left.fields == right.fields
            && left.account == right.account && left.limits == right.limits && left.isSession == right.isSession
            && left.isNamed == right.isNamed && left.login === right.login
    }

    /// Hashes host and port: proxies seldom differ in anything else.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
    }
}

extension HTTPProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Kind, host and port.
    public var description: String { "\(kind) \(place)" }

    /// Kind, host and port: no credentials.
    public var debugDescription: String { description }

    /// No credentials here either.
    public var customMirror: Mirror { Mirror(self, children: ["host": host, "port": port]) }

    var place: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
