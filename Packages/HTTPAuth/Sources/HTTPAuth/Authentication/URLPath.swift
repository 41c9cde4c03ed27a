internal import FoundationEssentials
internal import HTTPMessage

/// The paths of URLs, as protection spaces compare them.
enum URLPath {
    /// The path up to its last slash: `/a/` for `/a/b`.
    static func folder(of url: URL?) -> String {
        guard let path = url.flatMap({ try? RequestTarget(origin: $0).path }), let slash = path.lastIndex(of: "/")
        else {
            return "/"
        }
        return String(path[...slash])
    }

    /// The segments of a path, with `.` and `..` resolved, so that `/a/../b` does not count as below `/a`.
    static func segments(of url: URL) -> [Substring] {
        guard var path = try? RequestTarget(origin: url).path else { return [] }
        // Few paths contain anything to resolve, and this test is cheaper than resolving.
        if path.contains("%") || path.contains("/.") {
            guard let resolved = try? RequestTarget(origin: url.standardized).path else { return [] }
            path = resolved
        }
        return path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }
}

extension [Substring] {
    /// The segments without the empty one after a trailing slash: `/a/` covers `/a/b`.
    var droppingLastEmpty: [Substring] { last?.isEmpty == true ? dropLast() : self }
}

extension ProtectionSpace.Role {
    /// Creates the role that sends challenges with this status; nil for any other status.
    init?(asking status: HTTPStatus) {
        switch status {
        case .unauthorized: self = .origin
        case .proxyAuthenticationRequired: self = .proxy
        default: return nil
        }
    }
}

extension ProtectionSpace {
    /// Creates the space of a URL, without a realm. For a proxy, and without a URL, the host is empty.
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

    /// Returns whether a URL belongs to this server.
    func contains(_ url: URL) -> Bool {
        url.scheme != nil && url.host != nil && ProtectionSpace(.origin, of: url) == with(realm: nil)
    }

    /// Returns whether a request may carry the credentials of this space. For an origin, the request's URL or `Host`
    /// must not name another origin; for a proxy, the request must be sent through that proxy. A space without a host
    /// allows every request.
    func mayReceive(_ request: HTTPRequest, through proxy: ProtectionSpace?) -> Bool {
        if host.isEmpty { return true }
        if role == .proxy { return proxy?.with(realm: nil) == with(realm: nil) }
        if let url = request.url, url.host != nil { return contains(url) }
        guard let name = request.fields[.host], let url = URL(string: "\(scheme)://\(name)/") else { return true }
        return contains(url)
    }
}
