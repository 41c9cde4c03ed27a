internal import FoundationEssentials
@_spi(Packages) internal import HostResolver

/// What a diagnosis examines: the host and port, the protocol spoken there, and the proxy on the route.
struct DiagnosisTarget: Sendable, Hashable {
    /// The protocol spoken once connected.
    enum Service: Sendable, Hashable {
        /// An unknown protocol: the diagnosis only connects.
        case bytes
        /// HTTP, with the path to request; `isWhole` is false if the URL's query was left out.
        case http(path: String, isWhole: Bool = true)
        /// FTP: the diagnosis reads the greeting.
        case ftp
    }

    /// The host, a name or an address as text; nil to diagnose this machine's network.
    var host: String?
    var port: UInt16
    var isSecure: Bool
    var service: Service
    /// The proxy that this machine connects to instead of the target.
    var proxy: ProxyServer?
    /// The script that chooses the proxy.
    var proxyScript: ProxyScriptSource?
    /// The TLS configuration for this target, if it is not that of the options: a proxy script's server has its own.
    var ownTLS: TLSConfiguration?
    /// The TLS configuration of the proxy settings, for the proxy and the server of the proxy script.
    var proxyTLS: TLSConfiguration?
    /// Why the proxy could not be determined.
    var proxyFault: Finding?
    /// The maximum number of body bytes to keep; one byte more shows that the body is longer. Nil if the body is not read.
    var maximumBodyLength: Int?

    /// This machine's network, without a remote target.
    static let machine = DiagnosisTarget(host: nil, port: 0, isSecure: false, service: .bytes)

    /// `host:port`, for display.
    var hostAndPort: String { host.map { "\(URLAuthority.bracketed($0)):\(port)" } ?? "this machine" }

    // MARK: The first hop: the proxy if there is one, else the target

    var firstHost: String? { proxy?.host ?? host }
    var firstPort: UInt16 { proxy?.port ?? port }
    var firstLiteral: IPAddress? { firstHost.flatMap { IPAddress($0) } }

    /// `host:port` of the proxy, for display.
    var proxyHostAndPort: String { proxy.map { "\(URLAuthority.bracketed($0.host)):\($0.port)" } ?? "" }

    private static let ports: [String: (UInt16, isSecure: Bool)] = [
        "http": (80, false), "https": (443, true), "ftp": (21, false), "ftps": (990, true),
    ]

    init(host: String?, port: UInt16, isSecure: Bool, service: Service) {
        self.host = host
        self.port = port
        self.isSecure = isSecure
        self.service = service
    }

    /// The target that a URL names. Schemes without a known default port require an explicit port.
    init(_ url: URL) throws(StreamError) {
        guard let scheme = url.scheme?.lowercased() else { throw .undiagnosable("it has no scheme.") }
        let authority: URLAuthority
        do throws(ResolverError) {
            authority = try URLAuthority(of: url.absoluteString)
        } catch {
            throw .undiagnosable("\(error)")
        }
        if authority.host.isEmpty { throw .undiagnosable("it has no host.") }
        let known = DiagnosisTarget.ports[scheme]
        guard let port = UInt16(exactly: authority.port ?? Int(known?.0 ?? 0)), port > 0 else {
            throw .undiagnosable(
                authority.port == nil
                    ? "its scheme has no default port; add :PORT after the host."
                    : "its port is not between 1 and 65535.")
        }
        let service: Service =
            switch scheme {
            // The query is not sent: it may hold a secret.
            case "http", "https": .http(path: url.nonemptyPath, isWhole: url.query == nil)
            case "ftp", "ftps": .ftp
            default: .bytes
            }
        self.init(
            host: authority.host, port: port, isSecure: known?.isSecure ?? false, service: service)
    }

    /// The server of a proxy script; nil unless the URL's scheme is `http` or `https`.
    init?(scriptAt text: String) {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            let target = try? DiagnosisTarget(url)
        else { return nil }
        self = target
        // The query is part of the setting, and only this server receives it.
        service = .http(path: url.requestPath)
        maximumBodyLength = ProxyScript.maximumScriptSize
    }

    /// Copies of the target for each route that the proxy settings allow, in order of preference; at least one.
    func through(_ settings: Result<ProxySettings, StreamError>) -> [DiagnosisTarget] {
        guard let host else { return [self] }
        do throws(StreamError) {
            let settings = try settings.get()
            var target = self
            target.proxyTLS = settings.tls
            return settings.choices(scheme: scheme, host: host, port: port).map { target.through($0) }
        } catch {
            let why = Sentence.proxySettingsUnreadable(PublicText.of("\(error)"))
            return [withUnknownProxy(Finding(.proxySettingsUnreadable, .failure, why))]
        }
    }

    /// A copy of the target for one choice of the proxy settings.
    func through(_ choice: ProxyChoice) -> DiagnosisTarget {
        var target = self
        switch choice {
        case .direct: (target.proxy, target.proxyScript) = (nil, nil)
        case .server(let server):
            // Of a proxy chain, only the nearest proxy can be reached from this machine.
            var nearest = server
            while let nearer = nearest.via.first { nearest = nearer }
            (target.proxy, target.proxyScript) = (nearest, nil)
        case .script(let source): (target.proxy, target.proxyScript) = (nil, source)
        }
        return target
    }

    /// A copy of the target whose proxy could not be determined, for the given reason.
    func withUnknownProxy(_ fault: Finding) -> DiagnosisTarget {
        var target = self
        target.proxyFault = fault
        return target
    }

    /// The URL without its query, which may hold a secret. Proxy scripts receive it, and redirects are resolved against it.
    var url: URL? {
        guard host != nil else { return nil }
        let path = if case .http(let path, _) = service { path } else { "/" }
        return URL(string: "\(scheme.isEmpty ? "tcp" : scheme)://\(authority)\(path)")
    }

    private var scheme: String {
        switch service {
        case .http: isSecure ? "https" : "http"
        case .ftp: isSecure ? "ftps" : "ftp"
        case .bytes: ""
        }
    }
}

extension StreamError {
    static func undiagnosable(_ reason: String) -> StreamError {
        StreamError(posix: 22, Sentence("diag.badURL", "The URL cannot be diagnosed: %1", reason))  // EINVAL
    }
}

extension URL {
    /// The path, and the query if there is one, as sent in a request.
    var requestPath: String { nonemptyPath + (query(percentEncoded: true).map { "?\($0)" } ?? "") }

    fileprivate var nonemptyPath: String {
        let path = path(percentEncoded: true)
        return path.isEmpty ? "/" : path
    }
}

extension String {
    /// The host of the URL in this string; nil if the string is not a URL, or is a relative one.
    var urlHost: String? {
        guard let host = try? URLAuthority(of: self).host, !host.isEmpty else { return nil }
        return host
    }
}

extension DiagnosisTarget {
    /// The rungs between this machine and the target.
    var rungs: [Rung] {
        if host == nil { return [.link, .address, .route] }
        var rungs: [Rung] = [.link, .address, .route, .gateway]
        if firstLiteral == nil { rungs.append(.name) }
        if proxy != nil || proxyScript != nil || proxyFault != nil { rungs.append(.proxy) }
        if port > 0 { rungs.append(.connection) }
        if isSecure { rungs.append(.security) }
        if service != .bytes { rungs += [.answer, .authentication] }
        return rungs
    }

    /// Whether there is something to send or read once connected.
    var hasServiceProbe: Bool { isSecure || proxy != nil || service != .bytes }

    /// The value of the `Host` field (RFC 9110 §7.2).
    var authority: String {
        let name = URLAuthority.bracketed(host ?? "")
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    var inPlainHTTP: DiagnosisTarget {
        DiagnosisTarget(host: host, port: 80, isSecure: false, service: .http(path: "/"))
    }

    /// ``hostAndPort``, sanitized for display.
    var displayName: String { PublicText.of(hostAndPort) }
}

// MARK: - Targets of streams

extension DiagnosisTarget {
    /// The target of a stream.
    init(name: String?, port: UInt16?, address: SocketAddress?, report: ConnectionReport) {
        var host = name
        var number = port
        var isSecure = false
        for step in report.steps {
            switch step.kind {
            case .lookup(let name): host = host ?? name
            case .connect(.ip(let address, let port)):
                host = host ?? "\(address)"
                number = number ?? port
            case .tls: isSecure = true
            case .connect, .proxy, .stream, .request: break
            }
        }
        if case .ip(let address, let port)? = address {
            host = host ?? "\(address)"
            number = number ?? port
        }
        self.init(host: host, port: number ?? 0, isSecure: isSecure, service: .bytes)
    }

    /// A copy of the target, with the first proxy in a report. A report does not contain a proxy that was never reached; then the
    /// first proxy of `routes` is used.
    func through(_ report: ConnectionReport, or routes: [ProxyRoute]) -> DiagnosisTarget {
        for case .proxy(let kind, let hostAndPort) in report.steps.map(\.kind) {
            guard let colon = hostAndPort.utf8.lastIndex(of: UInt8(ascii: ":")),
                let port = UInt16(hostAndPort[hostAndPort.utf8.index(after: colon)...])
            else {
                continue
            }
            let host = hostAndPort[..<colon]
            return through(
                kind, host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host), port)
        }
        guard let hop = routes.first?.hops.first else { return self }
        return through(hop.kind, hop.host, hop.port)
    }

    private func through(_ kind: String, _ host: String, _ port: UInt16) -> DiagnosisTarget {
        let kinds: [String: ProxyServer.Kind] = [
            "HTTP": .http, "HTTPS": .https, "SOCKS4": .socks4, "SOCKS4a": .socks4a, "SOCKS5": .socks5h,
        ]
        var target = self
        target.proxy = ProxyServer(kinds[kind] ?? .http, host: host, port: port)
        return target
    }
}
