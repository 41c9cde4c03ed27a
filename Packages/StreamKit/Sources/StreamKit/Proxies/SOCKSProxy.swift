internal import HostResolver

/// A SOCKS proxy: version 4, 4a or 5 (RFC 1928), with or without user and password (RFC 1929).
///
/// ```swift
/// let pair = StreamPair(host: "www.example.org", port: 443)
/// try pair.set(.socksProxy, to: SOCKSProxy(host: "localhost"))                // version 5, port 1080
/// try pair.set(.socksProxy, to: SOCKSProxy(host: "p.example", user: "me", password: "…"))
/// ```
///
/// Replaces the dictionary of `kCFStreamPropertySOCKSProxy`. The password goes over the wire as it is: that is how the
/// protocol works, so trust the network up to the proxy, or reach it through TLS or another tunnel.
public struct SOCKSProxy: StreamProxy {
    /// Which protocol to speak. Replaces `kCFStreamSocketSOCKSVersion4` and `kCFStreamSocketSOCKSVersion5`.
    public enum Version: Sendable, Hashable {
        /// IPv4 addresses; with 4a also names, for a proxy that knows that extension.
        case v4
        /// Names, IPv4 and IPv6 addresses; user and password.
        case v5
    }

    /// Longest name, user and password of version 5 in bytes (RFC 1928 §5, RFC 1929 §2).
    public static let longestField = 255

    /// Longest user id of version 4 in bytes: ours, as the protocol names none.
    public static let longestUserID = 512

    /// The proxy's name or address. Replaces `kCFStreamPropertySOCKSProxyHost`.
    public var host: String
    /// The proxy's port. Replaces `kCFStreamPropertySOCKSProxyPort`.
    public var port: UInt16
    /// Which protocol to speak. Replaces `kCFStreamPropertySOCKSVersion`.
    public var version: Version
    /// The user; for version 4 the user id. Replaces `kCFStreamPropertySOCKSUser`.
    public var user: String?
    /// The password; version 5 only. Never in descriptions or errors. Replaces `kCFStreamPropertySOCKSPassword`.
    public var password: String?
    /// Look up the target's name here and tell the proxy an address.
    ///
    /// By default true for version 4, which has no names before 4a, and false for version 5.
    public var resolvesNamesHere: Bool

    /// Names a proxy.
    public init(
        host: String, port: UInt16 = 1080, version: Version = .v5, user: String? = nil, password: String? = nil,
        resolvesNamesHere: Bool? = nil
    ) {
        self.host = host
        self.port = port
        self.version = version
        self.user = user
        self.password = password
        self.resolvesNamesHere = resolvesNamesHere ?? (version == .v4)
    }

    /// `SOCKS4` or `SOCKS5`.
    public var kind: String {
        switch version {
        case .v4: "SOCKS4"
        case .v5: "SOCKS5"
        }
    }

    /// As ``resolvesNamesHere`` says.
    public var nameLookup: ProxyNameLookup {
        guard resolvesNamesHere else { return .byProxy }
        return .here(version == .v4 ? .v4 : .all)
    }

    /// The conversation that asks for a connection to `target`.
    ///
    /// - Throws: `EINVAL` for what the protocol cannot carry: a name, user or password that is too long, and an IPv6 address
    ///   in version 4.
    public func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine {
        try SOCKSMachine(self, target)
    }
}

extension SOCKSProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Kind, host and port.
    public var description: String { "\(kind) \(place)" }

    /// Kind, host and port.
    public var debugDescription: String { description }

    /// No password here either.
    public var customMirror: Mirror {
        Mirror(self, children: ["host": host, "port": port, "version": version, "user": user ?? "none"])
    }
}
