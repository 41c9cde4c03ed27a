internal import FoundationEssentials

/// What is to be reached: the host, the port, what is spoken there, and through which proxy.
struct DiagnosisTarget: Sendable, Hashable {
    /// What is spoken once connected.
    enum Service: Sendable, Hashable {
        /// Nothing that is known here: connecting is all that is tried.
        case bytes
        /// HTTP, with the path to ask for; `isWhole` unless a query was left out.
        case http(path: String, isWhole: Bool = true)
        /// FTP, of which the greeting is read.
        case ftp
    }

    /// A name, or an address as text; nil for this machine's network in general.
    var host: String?
    var port: UInt16
    var isSecure: Bool
    var service: Service
    /// Whom this machine connects to in the target's place.
    var proxy: ProxyServer?
    /// A script that is to choose the proxy.
    var proxyScript: ProxyScriptSource?
    /// TLS with the target itself, where it is not that of the options: the server of a proxy script.
    var ownTLS: TLSConfiguration?
    /// TLS with the proxy and the server of the script, as the settings say that name them.
    var proxyTLS: TLSConfiguration?
    /// Why nobody knows which proxy to use.
    var proxyFault: Finding?
    /// Most bytes of the answer's body that are kept; one more tells that there are more. Nil for none.
    var bodyLimit: Int?

    /// No target: the machine alone.
    static let machine = DiagnosisTarget(host: nil, port: 0, isSecure: false, service: .bytes)

    /// The host if it is written as an address.
    var literal: IPAddress? { host.flatMap { IPAddress($0) } }

    /// `host:port`, for people.
    var place: String {
        guard let host else { return "this machine" }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    // MARK: Whom this machine itself connects to

    var firstHost: String? { proxy?.host ?? host }
    var firstPort: UInt16 { proxy?.port ?? port }
    var firstLiteral: IPAddress? { firstHost.flatMap { IPAddress($0) } }

    /// Where the proxy is, for people.
    var proxyPlace: String {
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

    /// The target of a URL; any scheme will do if the URL names its port.
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
            // The query stays here: it may hold a secret.
            case "http", "https": .http(path: path.isEmpty ? "/" : path, isWhole: url.query == nil)
            case "ftp", "ftps": .ftp
            default: .bytes
            }
        self.init(
            host: authority.host, port: port, isSecure: known?.isSecure ?? false, service: service)
    }

    /// The server of a proxy script; nil for a URL of another scheme than `http` and `https`.
    init?(scriptAt place: String) {
        guard let url = URL(string: place), ["http", "https"].contains(url.scheme?.lowercased()),
            let target = try? DiagnosisTarget(url),
            case .http(let path, _) = target.service
        else { return nil }
        self = target
        // The query is part of the setting, and this server alone is told.
        service = .http(path: path + (url.query(percentEncoded: true).map { "?\($0)" } ?? ""))
        bodyLimit = ProxyScript.largestScript
    }

    /// The same, by each way that the settings name, in order; never none.
    func through(_ settings: Result<ProxySettings, StreamError>) -> [DiagnosisTarget] {
        guard let host else { return [self] }
        do throws(StreamError) {
            let settings = try settings.get()
            var target = self
            target.proxyTLS = settings.tls
            return settings.choices(scheme: scheme, host: host, port: port).map { target.through($0) }
        } catch {
            let why = Sentence.proxySettingsUnreadable(PublicText.of("\(error)"))
            return [without(Finding(.proxySettingsUnreadable, .failure, why))]
        }
    }

    /// The same, by one way.
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

    /// The same, and nobody knows the way to it.
    func without(_ fault: Finding) -> DiagnosisTarget {
        var target = self
        target.proxyFault = fault
        return target
    }

    /// What a proxy script is asked about: without a query, which may hold a secret.
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
