/// Where a credential is good: one origin or one proxy, and one realm there (RFC 9110 §11.5).
///
/// ```swift
/// let space = ProtectionSpace(.origin, scheme: "https", host: "example.org", port: 443, realm: "staff")
/// ```
///
/// Two spaces are the same if every part is: a credential for `http` is none for `https`, one for a proxy none for
/// an origin of the same name.
public struct ProtectionSpace: Hashable, Sendable {
    /// Who asks.
    public enum Role: String, Hashable, Sendable, CaseIterable {
        /// The server the request is for, with status 401.
        case origin
        /// A proxy on the way, with status 407.
        case proxy
    }

    /// Who asks.
    public let role: Role

    /// The scheme of the URL, in lower case; for a proxy that of the connection to it.
    public let scheme: String

    /// The host name or address, in lower case and without brackets.
    public let host: String

    /// The port.
    public let port: Int

    /// The realm; nil for schemes that know none, such as NTLM and Negotiate.
    public let realm: String?

    /// Makes a space. Upper case in scheme and host, brackets around an address and a dot behind a name make no difference.
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

    /// The same place with another realm.
    public func with(realm: String?) -> ProtectionSpace {
        ProtectionSpace(role, scheme: scheme, host: host, port: port, realm: realm)
    }

    /// Whether the connection to it is encrypted.
    public var isEncrypted: Bool { scheme == "https" }
}

extension ProtectionSpace: CustomStringConvertible {
    /// For people: `proxy http://proxy.example:3128 "staff"`.
    public var description: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return "\(role.rawValue) \(scheme)://\(name):\(port)" + (realm.map { " \(AuthGrammar.quoted($0))" } ?? "")
    }
}
