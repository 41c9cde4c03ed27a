internal import FoundationEssentials

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
    var bodyLimit: Int?

    /// This machine's network, without a remote target.
    static let machine = DiagnosisTarget(host: nil, port: 0, isSecure: false, service: .bytes)

    /// The host's address, if the host is an address literal.
    var literal: IPAddress? { host.flatMap { IPAddress($0) } }

    /// `host:port`, for display.
    var hostAndPort: String {
        guard let host else { return "this machine" }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    // MARK: The first hop: the proxy if there is one, else the target

    var firstHost: String? { proxy?.host ?? host }
    var firstPort: UInt16 { proxy?.port ?? port }
    var firstLiteral: IPAddress? { firstHost.flatMap { IPAddress($0) } }

    /// `host:port` of the proxy, for display.
    var proxyHostAndPort: String {
        guard let proxy else { return "" }
        return proxy.host.contains(":") ? "[\(proxy.host)]:\(proxy.port)" : "\(proxy.host):\(proxy.port)"
    }

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
        let path = url.path(percentEncoded: true)
        let service: Service =
            switch scheme {
            // The query is not sent: it may hold a secret.
            case "http", "https": .http(path: path.isEmpty ? "/" : path, isWhole: url.query == nil)
            case "ftp", "ftps": .ftp
            default: .bytes
            }
        self.init(
            host: authority.host, port: port, isSecure: known?.isSecure ?? false, service: service)
    }

    /// The server of a proxy script; nil unless the URL's scheme is `http` or `https`.
    init?(scriptAt text: String) {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            let target = try? DiagnosisTarget(url),
            case .http(let path, _) = target.service
        else { return nil }
        self = target
        // The query is part of the setting, and only this server receives it.
        service = .http(path: path + (url.query(percentEncoded: true).map { "?\($0)" } ?? ""))
        bodyLimit = ProxyScript.largestScript
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
            // Of a chain the nearest one: the others cannot be reached from here.
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

    /// The URL given to a proxy script, without the query, which may hold a secret.
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
