internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// What a session's load tells the proxies on the way: to each its own.
struct ProxyLogins: Sendable {
    /// For one proxy.
    struct Entry: Sendable {
        let known: KnownAuthentication
        /// What it is told with a request in absolute form; nil if its connection is authenticated already.
        var value: [UInt8]?
    }

    /// What a session allows to be sent to a proxy before it asks.
    final class Rules: Sendable {
        let policy: AuthenticationPolicy
        let memory: AuthenticationMemory

        init(_ policy: AuthenticationPolicy, _ memory: AuthenticationMemory) {
            self.policy = policy
            self.memory = memory
        }
    }

    private let rules: Rules
    private var entries: [ProtectionSpace: Entry] = [:]

    init(_ rules: Rules) {
        self.rules = rules
    }

    var isEmpty: Bool { entries.isEmpty }

    subscript(place: ProtectionSpace) -> Entry? {
        get { entries[place] }
        set { entries[place] = newValue }
    }

    subscript(proxy: HTTPProxy) -> Entry? { entries.isEmpty ? nil : entries[proxy.space] }

    /// The ways, each proxy with the login that it is for, so that connections are shared by equal ones only.
    ///
    /// The last proxy of a way for `http` is told with each request. Then the connection is nobody's, unless the
    /// scheme authenticates it.
    func logins(in routes: [ProxyRoute], toSecure isSecure: Bool) -> [ProxyRoute] {
        routes.map { route in
            var hops = route.hops
            for index in hops.indices {
                guard var proxy = hops[index] as? HTTPProxy else { continue }
                if let account = proxy.account, account.isSentUnasked, !proxy.mayBeSentUnasked(account, rules) {
                    proxy.account?.isSentUnasked = false
                }
                proxy.isSession = true
                let takesRequests = index == hops.count - 1 && !isSecure
                if let entry = self[proxy], !takesRequests || entry.known.pool != nil { proxy.login = entry.known }
                hops[index] = proxy
            }
            return ProxyRoute(hops: hops)
        }
    }
}

extension StreamProperty where Value == ProxyLogins {
    static var httpProxyLogins: Self { .init(setting: "NetKit.http.proxyLogins", access: .beforeOpen) }
}

extension StreamProperty where Value == [UInt8] {
    /// `tls-server-end-point` of the connection with that proxy, if it has TLS.
    static var httpProxyBinding: Self { .init(setting: "NetKit.http.proxyBinding", access: .readOnly) }
}

extension StreamProperty where Value == AuthenticationVerdict {
    /// What became of the credentials that the proxy was told which refused a tunnel.
    static var httpTunnelVerdict: Self { .init(setting: "NetKit.http.tunnelVerdict", access: .readOnly) }
}

extension StreamProperty where Value == Bool {
    /// Fail with ``ConnectionGone`` instead of making a new connection: what the request says is for the idle one.
    static var httpNeedsIdleConnection: Self {
        .init(setting: "NetKit.http.needsIdleConnection", access: .beforeOpen, default: false)
    }
}

/// The connection that a login belongs to is no more; nothing was done.
struct ConnectionGone: Error {}
