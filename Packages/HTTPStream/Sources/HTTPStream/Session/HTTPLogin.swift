internal import EventLoops
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// A login to a server or proxy: an authentication object with its credential, and the challenge that both answer.
///
/// It has no connection. A session's logins may have one (``KnownAuthentication``), and each tunnel has its own (``TunnelLogin``).
final class HTTPLogin: Sendable {
    let authentication: HTTPAuthentication
    /// Nil if the scheme determines the user itself.
    let credential: Credential?
    /// The response that the authentication was made from. Each tunnel begins its own login with it.
    let challenge: HTTPResponse
    private let policy: AuthenticationPolicy
    private let accepted = Locked(false)

    init(
        _ authentication: HTTPAuthentication, of challenge: HTTPResponse, _ policy: AuthenticationPolicy,
        _ credential: Credential?
    ) {
        self.authentication = authentication
        self.challenge = challenge
        self.policy = policy
        self.credential = credential
    }

    /// The server or proxy, without a realm.
    var endpoint: ProtectionSpace { authentication.peer }

    /// Returns the authentication with a proxy for one tunnel.
    ///
    /// A scheme that authenticates connections begins a new login; the schemes that were tried before it are not tried again for
    /// each tunnel.
    func forTunnel() -> HTTPAuthentication {
        guard authentication.isConnectionBound, let method = authentication.method else { return authentication }
        var policy = policy
        policy.methods = Array(policy.methods.drop { $0 != method })
        return HTTPAuthentication(
            response: challenge, from: endpoint, policy: policy, memory: authentication.memory,
            isNamed: authentication.isNamed) ?? authentication
    }

    /// Records that the server or proxy has accepted the credential.
    func accept() {
        accepted.withLock { $0 = true }
    }

    /// Whether the server or proxy has accepted the credential.
    var isAccepted: Bool { accepted.withLock { $0 } }
}

/// The login to a proxy for one tunnel: makes the fields of its requests, and evaluates the responses.
///
/// A scheme that authenticates connections has its own authentication for each tunnel; one that authenticates requests shares its
/// state.
final class TunnelLogin: Sendable {
    let authentication: HTTPAuthentication
    private let login: HTTPLogin
    private let proxy: ProtectionSpace
    private struct State {
        var binding: ChannelBinding?
        var outcome: Result<HTTPRequest, HTTPAuthError>?
    }
    private let state = Locked(State())

    /// - Parameter proxy: the proxy that receives the credentials.
    init(for login: HTTPLogin, at proxy: ProtectionSpace) {
        self.login = login
        self.proxy = proxy
        authentication = login.forTunnel()
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
                        to: &signed, login.credential, channelBinding: binding, through: proxy)
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
        if verdict == .accepted { login.accept() }
        return verdict
    }
}
