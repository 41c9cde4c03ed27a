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

    /// False while a load has the connection that belongs to this object.
    var isFree: Bool {
        guard pool != nil else { return true }
        return state.withLock { state in
            switch state.stream?.status {
            case nil, .atEnd, .closed, .error: true
            case .notOpen, .opening, .open, .reading, .writing: false
            }
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
        return HTTPAuthentication(response: challenge, from: place, policy: policy) ?? authentication
    }

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
