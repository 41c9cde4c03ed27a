internal import EventLoops
internal import HTTPAuth
internal import HTTPMessage
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
    /// The last proxy of a route for `http` receives its login with each request. The connection then belongs to no login, unless
    /// the scheme authenticates it.
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

/// The connection that a login belongs to was closed; nothing was sent.
struct ConnectionGone: Error {}

/// The login to a proxy for one tunnel: makes the fields of its requests, and evaluates the responses.
///
/// A scheme that authenticates connections has its own authentication for each tunnel; one that authenticates requests shares its
/// state.
final class ProxyLogin: Sendable {
    let authentication: HTTPAuthentication
    private let known: KnownAuthentication
    private let proxy: ProtectionSpace
    private struct State {
        var binding: ChannelBinding?
        var outcome: Result<HTTPRequest, HTTPAuthError>?
    }
    private let state = Locked(State())

    /// - Parameter proxy: the proxy that receives the credentials.
    init(for known: KnownAuthentication, at proxy: ProtectionSpace) {
        self.known = known
        self.proxy = proxy
        authentication = known.forTunnel()
    }

    /// The channel binding of the TLS connection with the proxy.
    var binding: ChannelBinding? {
        get { state.withLock { $0.binding } }
        set { state.withLock { $0.binding = newValue } }
    }

    /// Adds credentials to a request, which may involve a ticket server; ``takeOutcome()`` then returns the request.
    func work(on request: HTTPRequest) -> TunnelWork {
        TunnelWork { [self] done in
            Task {
                var signed = request
                let outcome: Result<HTTPRequest, HTTPAuthError>
                do throws(HTTPAuthError) {
                    try await authentication.apply(
                        to: &signed, known.credential, channelBinding: binding, through: proxy)
                    outcome = .success(signed)
                } catch {
                    outcome = .failure(error)
                }
                state.withLock { $0.outcome = outcome }
                done()
            }
        }
    }

    func takeOutcome() -> Result<HTTPRequest, HTTPAuthError>? { state.withLock { $0.outcome.take() } }

    /// Evaluates a response.
    func judge(_ response: HTTPResponse, to request: HTTPRequest) throws(HTTPAuthError) -> AuthenticationVerdict {
        let verdict = try authentication.update(with: response, to: request)
        if verdict == .accepted { known.accept() }
        return verdict
    }
}
