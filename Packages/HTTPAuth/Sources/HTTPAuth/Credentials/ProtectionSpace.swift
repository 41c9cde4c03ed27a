internal import FoundationEssentials
internal import HTTPMessage

/// The scope of a credential: one realm of one origin or proxy (RFC 9110 §11.5).
///
/// ```swift
/// let space = ProtectionSpace(.origin, scheme: "https", host: "example.org", port: 443, realm: "staff")
/// ```
///
/// Two spaces are equal if all their parts are equal. A credential for `http` is not valid for `https`, and a
/// credential for a proxy is not valid for an origin with the same name.
public struct ProtectionSpace: Hashable, Sendable {
    /// The party that asks for authentication.
    public enum Role: String, Hashable, Sendable, CaseIterable {
        /// The origin server, which responds with status 401.
        case origin
        /// A proxy on the path to it, which responds with status 407.
        case proxy
    }

    /// The party that asks for authentication.
    public let role: Role

    /// The scheme of the URL in lower case; for a proxy, the scheme of the connection to the proxy.
    public let scheme: String

    /// The host name or address, in lower case and without brackets.
    public let host: String

    /// The port number.
    public let port: Int

    /// The realm; nil for schemes without realms, such as NTLM and Negotiate.
    public let realm: String?

    /// Creates a protection space. The case of the scheme and host, brackets around an address and a trailing dot are
    /// ignored.
    public init(_ role: Role, scheme: String, host: String, port: Int, realm: String? = nil) {
        self.role = role
        self.scheme = scheme.lowercased()
        self.host = Self.normalized(host: host)
        self.port = port
        self.realm = realm
    }

    package static func normalized(host: String) -> String {
        var name = host.lowercased()[...]
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        if name.hasSuffix("."), name.count > 1 { name = name.dropLast() }
        return String(name)
    }

    /// Returns a space with the same server or proxy and another realm.
    public func with(realm: String?) -> ProtectionSpace {
        ProtectionSpace(role, scheme: scheme, host: host, port: port, realm: realm)
    }

    /// Whether the connection to the server or proxy is encrypted.
    public var isEncrypted: Bool { scheme == "https" }
}

extension ProtectionSpace: CustomStringConvertible {
    /// A readable form: `proxy http://proxy.example:3128 "staff"`.
    public var description: String {
        "\(role.rawValue) \(scheme)://\(bracketedHost):\(port)" + (realm.map { " \(AuthGrammar.quoted($0))" } ?? "")
    }
}

/// The paths of URLs, as protection spaces compare them.
enum URLPath {
    /// The path up to its last slash: `/a/` for `/a/b`.
    static func folder(of url: URL?) -> String {
        guard let path = url.flatMap({ try? RequestTarget(origin: $0).path }),
            let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        else { return "/" }
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
        return path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
            .map { Substring($0) }
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
        host.isEmpty ? nil : URL(string: "\(scheme)://\(bracketedHost):\(port)/")
    }

    /// The host as a URL has it: an IPv6 address has brackets.
    private var bracketedHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

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
