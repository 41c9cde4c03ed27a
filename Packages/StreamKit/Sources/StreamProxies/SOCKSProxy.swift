internal import HostResolver

/// A SOCKS proxy: version 4, 4a or 5 (RFC 1928), with or without user name and password (RFC 1929).
///
/// ```swift
/// let pair = StreamPair(host: "www.example.org", port: 443)
/// try pair.set(.socksProxy, to: SOCKSProxy(host: "localhost"))                // version 5, port 1080
/// try pair.set(.socksProxy, to: SOCKSProxy(host: "p.example", user: "me", password: "…"))
/// ```
///
/// The protocol sends the password unencrypted. Use it only if the network up to the proxy is trusted, or reach the
/// proxy through TLS or another tunnel. Replaces the dictionary of `kCFStreamPropertySOCKSProxy`.
public struct SOCKSProxy: StreamProxy {
    /// The protocol to speak. Replaces `kCFStreamSocketSOCKSVersion4` and `kCFStreamSocketSOCKSVersion5`.
    public enum Version: Sendable, Hashable {
        /// IPv4 addresses. A proxy that supports the extension 4a also accepts names.
        case v4
        /// Names, IPv4 and IPv6 addresses; user name and password.
        case v5
    }

    /// The longest name, user name and password of version 5, in bytes (RFC 1928 §5, RFC 1929 §2).
    package static let maximumFieldLength = 255

    /// The longest user ID of version 4, in bytes. The limit is ours, as the protocol has none.
    package static let maximumUserIDLength = 512

    /// The proxy's name or address. Replaces `kCFStreamPropertySOCKSProxyHost`.
    public var host: String
    /// The proxy's port. Replaces `kCFStreamPropertySOCKSProxyPort`.
    public var port: UInt16
    /// The protocol to speak. Replaces `kCFStreamPropertySOCKSVersion`.
    public var version: Version
    /// The user name; for version 4, the user ID. Replaces `kCFStreamPropertySOCKSUser`.
    public var user: String?
    /// The password, for version 5 only, and together with a user name. Descriptions and errors never contain it. Replaces
    /// `kCFStreamPropertySOCKSPassword`.
    public var password: String?
    /// Whether to look up the target's name on this machine and send the proxy an address.
    ///
    /// The default is true for version 4, which accepts names only with the extension 4a, and false for version 5.
    public var resolvesNamesHere: Bool

    /// Makes a proxy from its name and port.
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

    /// The lookup that ``resolvesNamesHere`` selects.
    public var nameLookup: ProxyNameLookup {
        guard resolvesNamesHere else { return .byProxy }
        return .here(version == .v4 ? .v4 : .all)
    }

    /// Returns the conversation that requests a connection to `target`.
    ///
    /// - Throws: `EINVAL` for values that the protocol cannot carry: a name, user name or password that is too long, a
    ///   password without a user name, and in version 4 a password or an IPv6 address.
    public func machine(for target: TunnelTarget) throws(StreamError) -> any TunnelMachine {
        try SOCKSMachine(self, target)
    }
}

extension SOCKSProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Kind, host and port.
    public var description: String { "\(kind) \(hostAndPort)" }

    /// Kind, host and port.
    public var debugDescription: String { description }

    /// The properties without the password.
    public var customMirror: Mirror {
        Mirror(self, children: ["host": host, "port": port, "version": version, "user": user ?? "none"])
    }
}

extension SOCKSFailure {
    /// What the proxy refused: this address, or the request as a whole. Nil if its answer was invalid.
    package var refusal: TunnelRefusal? {
        switch self {
        // Proxies also give the general failure (1) for an address that they cannot reach.
        case .requestFailed, .generalFailure, .networkUnreachable, .hostUnreachable, .connectionRefused,
            .timeToLiveExpired,
            .addressTypeNotSupported:
            .address
        default:
            switch subdomain {
            case .reply4?, .reply5?, .authentication?: .request
            case .method?: value == 255 ? .request : nil
            case .none?, .version?, nil: nil
            }
        }
    }
}
