internal import FoundationEssentials
internal import HTTPMessage

/// Paths of URLs, as protection spaces compare them.
enum URLPath {
    /// The path up to its last slash: `/a/` of `/a/b`.
    static func folder(of url: URL?) -> String {
        guard let path = url.flatMap({ try? RequestTarget(origin: $0).path }), let slash = path.lastIndex(of: "/")
        else {
            return "/"
        }
        return String(path[...slash])
    }

    /// The segments of a path, with `.` and `..` resolved, so that `/a/../b` is not below `/a`.
    static func segments(of url: URL) -> [Substring] {
        guard var path = try? RequestTarget(origin: url).path else { return [] }
        // Few paths have anything to resolve, and to find out costs less than to do it.
        if path.contains("%") || path.contains("/.") {
            guard let resolved = try? RequestTarget(origin: url.standardized).path else { return [] }
            path = resolved
        }
        return path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }
}

extension [Substring] {
    /// Without the empty segment behind a last slash: `/a/` covers `/a/b`.
    var droppingLastEmpty: [Substring] { last?.isEmpty == true ? dropLast() : self }
}

extension ProtectionSpace.Role {
    /// Who asks with this status; nil if nobody does.
    init?(asking status: HTTPStatus) {
        switch status {
        case .unauthorized: self = .origin
        case .proxyAuthenticationRequired: self = .proxy
        default: return nil
        }
    }
}

extension ProtectionSpace {
    /// The place of a URL; for a proxy, and without a URL, the nameless one.
    init(_ role: Role, of url: URL?) {
        guard role == .origin, let scheme = url?.scheme, let host = url?.host else {
            self.init(role, scheme: "", host: "", port: 0)
            return
        }
        self.init(role, scheme: scheme, host: host, port: url?.port ?? Self.defaultPort(scheme))
    }

    static func defaultPort(_ scheme: String) -> Int { scheme.lowercased() == "https" ? 443 : 80 }

    var rootURL: URL? {
        host.isEmpty ? nil : URL(string: "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)/")
    }

    /// Whether a URL is one of this server.
    func contains(_ url: URL) -> Bool {
        url.scheme != nil && url.host != nil && ProtectionSpace(.origin, of: url) == with(realm: nil)
    }

    /// Whether a request may carry this place's credentials: its URL or `Host` must not name another origin, and it must
    /// be sent through this proxy. A place that is not known cannot tell.
    func mayReceive(_ request: HTTPRequest, through proxy: ProtectionSpace?) -> Bool {
        if host.isEmpty { return true }
        if role == .proxy { return proxy?.with(realm: nil) == with(realm: nil) }
        if let url = request.url, url.host != nil { return contains(url) }
        guard let name = request.fields[.host], let url = URL(string: "\(scheme)://\(name)/") else { return true }
        return contains(url)
    }
}
