@_spi(Packages) internal import HTTPAuth
internal import StreamKit

/// The logins that a session's load sends to the proxies of its route, each to its own proxy.
struct ProxyLogins: Sendable {
    /// The login for one proxy.
    struct Entry: Sendable {
        let known: KnownAuthentication
        /// The value of its field in a request in absolute form; nil if its connection is authenticated already.
        var value: [UInt8]?
    }

    /// What a session allows to be sent to a proxy before its challenge.
    final class Rules: Sendable {
        let policy: AuthenticationPolicy
        let memory: AuthenticationMemory

        init(_ policy: AuthenticationPolicy, _ memory: AuthenticationMemory) {
            self.policy = policy
            self.memory = memory
        }

        /// Whether an account may be sent to its proxy before a challenge.
        func permit(_ account: HTTPProxy.Account, at proxy: ProtectionSpace) -> Bool {
            guard policy.methods.contains(.basic) else { return false }
            let login = HTTPAuthentication(preemptive: .basic, to: proxy, policy: policy, memory: memory)
            let credential = Credential(user: account.user, proof: .password(account.password), for: login.space)
            return login.isValid && login.objection(to: credential) == nil
        }
    }

    private let rules: Rules
    private var entries: [ProtectionSpace: Entry] = [:]

    init(_ rules: Rules) {
        self.rules = rules
    }

    var isEmpty: Bool { entries.isEmpty }

    subscript(space: ProtectionSpace) -> Entry? {
        get { entries[space] }
        set { entries[space] = newValue }
    }

    subscript(proxy: HTTPProxy) -> Entry? { entries.isEmpty ? nil : entries[proxy.space] }

    /// Returns the routes with the login of each proxy, so that only equal ones share connections.
    ///
    /// The last proxy of a route for `http` receives its login with each request, unless it establishes a tunnel. The connection then belongs to no login, unless
    /// the scheme authenticates it.
    func logins(in routes: [ProxyRoute], toSecure isSecure: Bool) -> [ProxyRoute] {
        routes.map { route in
            var hops = route.hops
            for index in hops.indices {
                guard var proxy = hops[index] as? HTTPProxy else { continue }
                if let account = proxy.account, account.isSentUnasked, !rules.permit(account, at: proxy.space) {
                    proxy.account?.isSentUnasked = false
                }
                proxy.isSession = true
                let takesRequests = index == hops.count - 1 && !isSecure && !proxy.usesTunnels
                if let known = self[proxy]?.known, !takesRequests || known.pool != nil { proxy.login = known.login }
                hops[index] = proxy
            }
            return ProxyRoute(hops: hops)
        }
    }
}
