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

    static func normalized(host: String) -> String {
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
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(role.rawValue) \(scheme)://\(name):\(port)" + (realm.map { " \(AuthGrammar.quoted($0))" } ?? "")
    }
}
