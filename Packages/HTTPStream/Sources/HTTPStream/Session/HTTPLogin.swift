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
