public import FoundationEssentials

/// Which proxies to use for what: from the environment, from a file, or by hand.
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
/// Nothing is applied by itself: settings answer questions, and streams are told with ``StreamProperty/proxies``. A list
/// of several proxies means that the next one is tried when one cannot be reached. Replaces the dictionaries of
/// `CFNetworkCopySystemProxySettings` and `SCDynamicStoreCopyProxies`.
public struct ProxySettings: Sendable, Hashable {
    /// For `http` URLs (`kCFNetworkProxiesHTTPProxy`, `…HTTPPort`, `…HTTPEnable`).
    public var http: [ProxyServer] = []

    /// For `https` URLs (`kCFNetworkProxiesHTTPSProxy`, …).
    public var https: [ProxyServer] = []

    /// For `ftp` and `ftps` URLs (`kCFNetworkProxiesFTPProxy`, …).
    public var ftp: [ProxyServer] = []

    /// For everything, tried after the scheme's own (`kCFNetworkProxiesSOCKSProxy`, …). Not only SOCKS.
    public var others: [ProxyServer] = []

    /// A script that decides alone: while it is set, nothing above counts (`kCFNetworkProxiesProxyAutoConfigURLString`,
    /// `kCFNetworkProxiesProxyAutoConfigJavaScript`).
    public var script: ProxyScriptSource?

    /// TLS with the server of the ``script`` and with proxies of kind ``ProxyServer/Kind/https``: which roots to trust, above all.
    ///
    /// A stream's ``StreamProperty/tls`` is for the target and for neither of these. Default: the system's roots, and no certificate of
    /// one's own.
    public var tls = TLSConfiguration()

    /// Hosts to reach without a proxy (`kCFNetworkProxiesExceptionsList`).
    public var bypass = ProxyBypassList.none

    /// Names without a dot are reached without a proxy (`kCFNetworkProxiesExcludeSimpleHostnames`). Default false.
    public var bypassesSimpleNames = false

    /// `localhost`, names below it, 127.0.0.0/8 and ::1 are reached without a proxy. Default true.
    ///
    /// To a proxy these names mean itself. curl sends them there all the same, unless `no_proxy` names them.
    public var bypassesLoopback = true

    /// Whether FTP is to use passive mode, if the settings say so (`kCFNetworkProxiesFTPPassive`).
    public var usesPassiveFTP: Bool?

    /// No proxies.
    public init() {}

    /// True if there is neither a proxy nor a script.
    public var isEmpty: Bool { http.isEmpty && https.isEmpty && ftp.isEmpty && others.isEmpty && script == nil }

    /// What to try for a URL, in order; never empty. Replaces `CFNetworkCopyProxiesForURL`.
    ///
    /// Hosts that are exempt are reached directly. Else a script decides alone; else the proxies for the URL's scheme,
    /// then those for everything; directly only if there is none of these, so that no request goes past a proxy because
    /// it is down.
    public func choices(for url: URL) -> [ProxyChoice] {
        choices(
            scheme: url.scheme?.lowercased() ?? "", host: url.host(percentEncoded: false) ?? "",
            port: url.port.flatMap { UInt16(exactly: $0) })
    }

    /// What to try for a connection: as ``choices(for:)``, where there is no URL.
    ///
    /// - Parameters:
    ///   - scheme: of the protocol that will be spoken, in lower case; any other than `http`, `https`, `ftp` and `ftps` has the
    ///     proxies for everything.
    ///   - host: a name or an address.
    ///   - port: nil for the scheme's own.
    public func choices(scheme: String, host: String, port: UInt16?) -> [ProxyChoice] {
        let place = ProxyBypassList.Host(host)
        let port = port ?? ["http": 80, "https": 443, "ftp": 21, "ftps": 990][scheme]
        let isExempt =
            host.isEmpty || (bypassesLoopback && place.isLoopback) || (bypassesSimpleNames && place.isSimpleName)
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
