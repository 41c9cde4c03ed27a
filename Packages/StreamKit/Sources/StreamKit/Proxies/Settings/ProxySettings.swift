public import FoundationEssentials

/// The proxies to use, by scheme and host: from the environment, from a file, or set by the program.
///
/// ```swift
/// let settings = try ProxySettings.environment()
/// for choice in settings.choices(for: url) { print(choice) }      // http://proxy.example:3128
///
/// var settings = ProxySettings()
/// settings.https = [try ProxyServer("http://a.example:3128"), try ProxyServer("http://b.example:3128")]
/// settings.bypass = ProxyBypassList(exceptions: ["*.intranet.example"])
/// ```
///
/// Settings have no effect by themselves: they return choices, and the program sets ``StreamProperty/proxies`` of its
/// streams. In a list of several proxies, the next one is tried when one cannot be reached. Replaces the dictionaries
/// of `CFNetworkCopySystemProxySettings` and `SCDynamicStoreCopyProxies`.
public struct ProxySettings: Sendable, Hashable {
    /// The proxies for `http` URLs (`kCFNetworkProxiesHTTPProxy`, `…HTTPPort`, `…HTTPEnable`).
    public var http: [ProxyServer] = []

    /// The proxies for `https` URLs (`kCFNetworkProxiesHTTPSProxy`, …).
    public var https: [ProxyServer] = []

    /// The proxies for `ftp` and `ftps` URLs (`kCFNetworkProxiesFTPProxy`, …).
    public var ftp: [ProxyServer] = []

    /// The proxies for every URL, tried after those of its scheme (`kCFNetworkProxiesSOCKSProxy`, …). Not only SOCKS.
    public var others: [ProxyServer] = []

    /// A script that decides alone: while it is set, the proxies above are not used
    /// (`kCFNetworkProxiesProxyAutoConfigURLString`, `kCFNetworkProxiesProxyAutoConfigJavaScript`).
    public var script: ProxyScriptSource?

    /// The TLS configuration for the server of the ``script`` and for proxies of kind ``ProxyServer/Kind/https``, above
    /// all the roots to trust.
    ///
    /// A stream's ``StreamProperty/tls`` applies to the target, and to neither of these. Default: the system's roots,
    /// and no client certificate.
    public var tls = TLSConfiguration()

    /// The hosts to reach without a proxy (`kCFNetworkProxiesExceptionsList`).
    public var bypass = ProxyBypassList.none

    /// Whether names without a dot are reached without a proxy. Default false. Replaces
    /// `kCFNetworkProxiesExcludeSimpleHostnames`.
    public var bypassesSimpleNames = false

    /// Whether `localhost`, names below it, 127.0.0.0/8 and ::1 are reached without a proxy. Default true.
    ///
    /// To a proxy, these names mean the proxy's own machine. curl sends them to the proxy unless `no_proxy` contains
    /// them.
    public var bypassesLoopback = true

    /// Whether FTP uses passive mode, if the settings define it (`kCFNetworkProxiesFTPPassive`).
    public var usesPassiveFTP: Bool?

    /// Makes settings without proxies.
    public init() {}

    /// Whether there is neither a proxy nor a script.
    public var isEmpty: Bool { http.isEmpty && https.isEmpty && ftp.isEmpty && others.isEmpty && script == nil }

    /// Returns the choices for a URL, in the order in which to try them; never empty.
    ///
    /// Exempt hosts are reached directly. Otherwise a script decides alone. Without a script, the proxies for the URL's
    /// scheme come first, then those for every URL. The choice is direct only if there are no proxies at all, so that
    /// no request bypasses a proxy that is down. Replaces `CFNetworkCopyProxiesForURL`.
    public func choices(for url: URL) -> [ProxyChoice] {
        choices(
            scheme: url.scheme?.lowercased() ?? "", host: url.host(percentEncoded: false) ?? "",
            port: url.port.flatMap { UInt16(exactly: $0) })
    }

    /// Returns the choices for a connection without a URL, as ``choices(for:)`` does.
    ///
    /// - Parameters:
    ///   - scheme: the scheme of the protocol, in lower case. Any other than `http`, `https`, `ftp` and `ftps` has only
    ///     the proxies for every URL.
    ///   - host: a name or an address.
    ///   - port: nil for the default port of the scheme.
    public func choices(scheme: String, host: String, port: UInt16?) -> [ProxyChoice] {
        let target = ProxyBypassList.Host(host)
        let port = port ?? ["http": 80, "https": 443, "ftp": 21, "ftps": 990][scheme]
        let isExempt =
            host.isEmpty || (bypassesLoopback && target.isLoopback) || (bypassesSimpleNames && target.isSimpleName)
            || bypass.covers(host: host, port: port)
        if isExempt { return [.direct] }
        if let script { return [.script(script)] }
        let own: [ProxyServer] =
            switch scheme {
            case "http": http
            case "https": https
            case "ftp", "ftps": ftp
            default: []
            }
        let servers = own + others.filter { !own.contains($0) }
        return servers.isEmpty ? [.direct] : servers.map { .server($0) }
    }
}
