internal import Glibc
@_spi(Packages) internal import HostResolver

/// A proxy in settings: its protocol, its address, and the user's login.
///
/// ```swift
/// let proxy = try ProxyServer("socks5h://me:secret@localhost:9050")
/// ```
///
/// A value without behaviour: ``route`` makes a route from a SOCKS proxy, and HTTPStream from an HTTP proxy. Replaces the
/// dictionaries of `CFNetworkCopyProxiesForURL` with their keys `kCFProxyTypeKey`, `kCFProxyHostNameKey`,
/// `kCFProxyPortNumberKey`, `kCFProxyUsernameKey` and `kCFProxyPasswordKey`.
public struct ProxyServer: Sendable, Hashable {
    /// The protocol of a proxy.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// HTTP: `http` URLs in absolute form, all others through CONNECT (`kCFProxyTypeHTTP`, `kCFProxyTypeHTTPS`).
        case http
        /// HTTP, with TLS to the proxy.
        case https
        /// SOCKS 4, with names looked up here.
        case socks4
        /// SOCKS 4, with names sent to the proxy.
        case socks4a
        /// SOCKS 5, with names looked up here.
        case socks5
        /// SOCKS 5, with names sent to the proxy (`kCFProxyTypeSOCKS`).
        case socks5h

        /// The port of such a proxy if none is given: 80, 443 or 1080.
        public var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            case .socks4, .socks4a, .socks5, .socks5h: 1080
            }
        }
    }

    /// The protocol of the proxy.
    public var kind: Kind
    /// The proxy's name or address; IPv6 without brackets.
    public var host: String
    /// The proxy's port.
    public var port: UInt16
    /// The user name for the proxy.
    public var user: String?
    /// The user's password. Descriptions and errors never contain it.
    public var password: String?
    /// Whether an HTTP proxy gets user name and password as Basic with the first request, before it asks for them. Any
    /// server that answers at its address then gets the password. Default false. Ignored by SOCKS.
    public var sendsLoginUnasked = false
    /// Whether an HTTP proxy establishes a tunnel (CONNECT) for `http` URLs, too, as it does for `https`. Default false. Ignored
    /// by SOCKS.
    public var usesTunnels = false
    /// The proxies through which this one is reached, the nearest first, each behind its own ``via``. If empty
    /// (default), this one is reached directly.
    ///
    /// ``route`` and HTTPStream's routes pass through them; ``socksProxy`` is this proxy alone.
    public var via: [ProxyServer] = []

    /// Makes a proxy; without a port, it has the default port of its kind.
    public init(_ kind: Kind, host: String, port: UInt16? = nil, user: String? = nil, password: String? = nil) {
        self.kind = kind
        self.host = host
        self.port = port ?? kind.defaultPort
        self.user = user
        self.password = password
    }

    /// Parses `[kind://][user[:password]@]host[:port]`, with user and password percent-encoded.
    ///
    /// The default kind is `http`; `socks` is SOCKS 5 with names sent to the proxy. curl differs: `socks` is SOCKS 4
    /// there, and an HTTP proxy without a port has port 1080.
    ///
    /// - Throws: `EINVAL`, with a message that contains neither user name nor password; also for a password with SOCKS
    ///   4, which cannot carry one.
    public init(_ text: String) throws(StreamError) {
        // By bytes: a delimiter beside a combining mark is part of another `Character`, and another part would be the host.
        var rest = text.utf8[...]
        kind = .http
        if let separator = rest.firstRange(of: "://".utf8) {
            let scheme = Substring(rest[..<separator.lowerBound]).lowercased()
            guard let named = scheme == "socks" ? .socks5h : Kind(rawValue: scheme) else {
                throw StreamError(posix: EINVAL, .proxyUnreadable("unknown kind “\(scheme)”"))
            }
            kind = named
            rest = rest[separator.upperBound...]
        }
        if let end = rest.firstIndex(where: { "/?#".utf8.contains($0) }) {
            guard rest[end...].elementsEqual("/".utf8) else {
                throw StreamError(posix: EINVAL, .proxyUnreadable("a path follows its port"))
            }
            rest = rest[..<end]
        }
        let colon = UInt8(ascii: ":")
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            let parts = rest[..<at].split(separator: colon, maxSplits: 1, omittingEmptySubsequences: false)
            user = try ProxyServer.decode(parts[0])
            password = parts.count > 1 ? try ProxyServer.decode(parts[1]) : nil
            if kind == .socks4 || kind == .socks4a, password?.isEmpty == false {
                throw StreamError(posix: EINVAL, .proxyUnreadable("SOCKS 4 does not support passwords"))
            }
            rest = rest[at...].dropFirst()
        }
        var portText: Substring?
        if rest.first == UInt8(ascii: "["), let end = rest.firstIndex(of: UInt8(ascii: "]")) {
            host = String(Substring(rest[..<end].dropFirst()))
            let behind = rest[end...].dropFirst()
            guard behind.isEmpty || behind.first == colon, case .v6? = IPAddress(host) else {
                throw StreamError(posix: EINVAL, .proxyUnreadable("the text in brackets is not an IPv6 address"))
            }
            portText = behind.isEmpty ? nil : Substring(behind.dropFirst())
        } else {
            let parts = rest.split(separator: colon, omittingEmptySubsequences: false).map { Substring($0) }
            guard parts.count <= 2 else {
                throw StreamError(posix: EINVAL, .proxyUnreadable("an IPv6 address must be in brackets"))
            }
            host = parts.first.map(String.init) ?? ""
            portText = parts.count > 1 ? parts[1] : nil
        }
        do throws(ResolverError) {
            _ = try HostName(host)
        } catch {
            throw StreamError(posix: EINVAL, .proxyUnreadable("the host name is invalid"), underlying: error)
        }
        port = kind.defaultPort
        if let portText, !portText.isEmpty {
            guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(portText), number > 0
            else { throw StreamError(posix: EINVAL, .proxyUnreadable("the port must be between 1 and 65535")) }
            port = number
        }
    }

    /// The route through this proxy, behind those of ``via``; nil if one of them is an HTTP proxy, for which HTTPStream
    /// makes routes.
    public var route: ProxyRoute? {
        let hops = via.map(\.route?.hops) + [socksProxy.map { [$0] }]
        return hops.contains { $0 == nil } ? nil : ProxyRoute(hops: hops.flatMap { $0 ?? [] })
    }

    /// The proxy for ``StreamProperty/socksProxy``, without those of ``via``; nil if it does not speak SOCKS.
    public var socksProxy: SOCKSProxy? {
        switch kind {
        case .http, .https: nil
        case .socks4, .socks4a:
            SOCKSProxy(
                host: host, port: port, version: .v4, user: user, password: password,
                resolvesNamesHere: kind == .socks4)
        case .socks5, .socks5h:
            SOCKSProxy(
                host: host, port: port, version: .v5, user: user, password: password,
                resolvesNamesHere: kind == .socks5)
        }
    }

    /// Decodes percent-encoding (RFC 3986 §2.1).
    private static func decode(_ text: Substring.UTF8View) throws(StreamError) -> String {
        guard let bytes = PercentEscapes.decode(text) else {
            throw StreamError(
                posix: EINVAL,
                .proxyUnreadable("a % in user name or password must be followed by two hexadecimal digits"))
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw StreamError(posix: EINVAL, .proxyUnreadable("user name or password is not UTF-8"))
        }
        return decoded
    }
}

extension ProxyServer: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `kind://host:port`, preceded by those of ``via`` and a space each. Contains neither user name nor password.
    public var description: String {
        let own = "\(kind.rawValue)://\(URLAuthority.bracketed(host)):\(port)"
        return (via.map(\.description) + [own]).joined(separator: " ")
    }

    /// The description.
    public var debugDescription: String { description }

    /// The properties without the password.
    public var customMirror: Mirror {
        Mirror(self, children: ["kind": kind, "host": host, "port": port, "user": user ?? "none", "via": via])
    }
}
