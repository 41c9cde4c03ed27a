internal import EventLoops
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// An authentication object of a session, its credential, and the connection that belongs to both.
final class KnownAuthentication: Sendable {
    /// The conversation over connections that the session uses for requests.
    let authentication: HTTPAuthentication
    /// Nil where the scheme knows by itself who the user is.
    let credential: Credential?
    /// The connection of a scheme that authenticates connections: nobody else's requests go over it.
    let pool: HTTPConnectionPool?

    /// What asked, to begin anew for each tunnel.
    let challenge: HTTPResponse
    private let policy: AuthenticationPolicy

    private struct State {
        /// The load that has the connection.
        weak var claim: LoginClaim?
        /// The last stream of that load, which may outlive it.
        weak var stream: ReadStream?
        var isAccepted = false
        var isSaved: Bool
        var saves: Bool
        var binding: ChannelBinding?
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - challenge: the answer that `authentication` was made from.
    ///   - isStored: the credential need not be saved.
    ///   - saves: it is to outlive the process.
    init(
        _ authentication: HTTPAuthentication, of challenge: HTTPResponse, _ policy: AuthenticationPolicy,
        _ credential: Credential?, isStored: Bool, saves: Bool
    ) {
        self.authentication = authentication
        self.challenge = challenge
        self.policy = policy
        self.credential = credential
        pool = authentication.isConnectionBound ? HTTPConnectionPool(ofLogin: ()) : nil
        state = Locked(State(isSaved: isStored, saves: saves))
    }

    /// Who asked.
    var place: ProtectionSpace { authentication.place }

    /// Takes the login for a load. False while another load has the connection that belongs to it: from the time at which
    /// that load found or published the login until the stream that it returned has ended.
    ///
    /// A login that belongs to no connection is good for any number of loads.
    func claim(for claim: LoginClaim) -> Bool {
        guard pool != nil else { return true }
        // The stream is asked without the lock: it has a lock of its own.
        let last = state.withLock { $0.stream }
        if let last, !last.hasEnded, !state.withLock({ $0.claim === claim }) { return false }
        return state.withLock { state in
            guard state.claim == nil || state.claim === claim, state.stream === last else { return false }
            state.claim = claim
            return true
        }
    }

    /// The load of this stream has the connection.
    func begin(_ stream: ReadStream) {
        guard pool != nil else { return }
        state.withLock { $0.stream = stream }
    }

    /// The conversation with a proxy for one tunnel.
    ///
    /// A scheme that authenticates connections begins anew; those that were tried before it are not tried again for each
    /// tunnel.
    func forTunnel() -> HTTPAuthentication {
        guard authentication.isConnectionBound, let method = authentication.method else { return authentication }
        var policy = policy
        policy.methods = Array(policy.methods.drop { $0 != method })
        return HTTPAuthentication(
            response: challenge, from: place, policy: policy, memory: authentication.memory,
            isNamed: authentication.isNamed) ?? authentication
    }

    /// Whether the credential is the one that a URL names; true for a URL that names no user, and for a scheme that knows by itself
    /// who the user is.
    func isOf(_ login: SessionLoad.URLLogin?) -> Bool { credential.map { $0.isOf(login) } ?? true }

    /// What ties the conversation to its TLS connection.
    var binding: ChannelBinding? { state.withLock { $0.binding } }

    /// Takes it from a connection to the same server or proxy.
    func bind(to stream: ReadStream) {
        guard let hash = stream[place.role == .origin ? .serverEndPointBinding : .httpProxyBinding] else { return }
        state.withLock { $0.binding = .tlsServerEndPoint(hash) }
    }

    /// The server or proxy has taken the credential.
    func accept() {
        state.withLock { $0.isAccepted = true }
    }

    /// What is to be saved, once, now that it was accepted: persistently or for the process.
    func takeUnsaved() -> (credential: Credential, persistently: Bool)? {
        state.withLock { state in
            guard state.isAccepted, !state.isSaved else { return nil }
            state.isSaved = true
            return credential.map { ($0, state.saves) }
        }
    }
}

/// What a load holds while it uses logins that belong to connections; the logins are free once it is gone.
final class LoginClaim: Sendable {}

extension ReadStream {
    /// Whether nothing more is read from or sent on the stream's connection.
    fileprivate var hasEnded: Bool {
        switch status {
        case .atEnd, .closed, .error: true
        case .notOpen, .opening, .open, .reading, .writing: false
        }
    }
}
