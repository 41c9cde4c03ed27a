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
    /// A script that would choose the proxy.
    var proxyScript: String?
    /// Why nobody knows which proxy to use.
    var proxyError: StreamError?

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
        guard let scheme = url.scheme?.lowercased() else { throw .undiagnosable("it names no scheme.") }
        guard let host = url.host(percentEncoded: false), !host.isEmpty else {
            throw .undiagnosable("it names no host.")
        }
        let known = DiagnosisTarget.ports[scheme]
        guard let port = UInt16(exactly: url.port ?? Int(known?.0 ?? 0)), port > 0 else {
            throw .undiagnosable(
                url.port == nil
                    ? "its scheme has no port known here; name one." : "its port is not between 1 and 65535.")
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
            host: host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host, port: port,
            isSecure: known?.isSecure ?? false, service: service)
    }

    /// The same, by the way that the settings say.
    func through(_ settings: Result<ProxySettings, StreamError>) -> DiagnosisTarget {
        var target = self
        guard let host else { return target }
        do throws(StreamError) {
            switch try settings.get().choices(scheme: scheme, host: host, port: port).first {
            case .server(let server)?: target.proxy = server
            case .script(.url(let url))?: target.proxyScript = PublicText.of("script at \(url)")
            case .script(.text)?: target.proxyScript = "script"
            case .direct?, nil: break
            }
        } catch {
            target.proxyError = error
        }
        return target
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
