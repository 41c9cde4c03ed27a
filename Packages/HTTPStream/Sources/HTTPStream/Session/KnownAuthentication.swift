internal import EventLoops
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

#if Logging
internal import Logging
#endif

/// An authentication object of a session, with its credential and the connection that belongs to both.
final class KnownAuthentication: Sendable {
    /// The authentication over connections that the session uses for requests.
    let authentication: HTTPAuthentication
    /// Nil if the scheme determines the user itself.
    let credential: Credential?
    /// The connection of a scheme that authenticates connections, which carries no other user's requests; nil for other schemes.
    let pool: HTTPConnectionPool?

    /// The challenge, from which each tunnel begins its own login.
    let challenge: HTTPResponse
    private let policy: AuthenticationPolicy

    private struct State {
        /// The load that uses the connection.
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
    ///   - challenge: the response that `authentication` was made from.
    ///   - isStored: whether the credential need not be saved.
    ///   - saves: whether to save it in a store that outlives the process.
    ///   - sessionPool: the pool of the session.
    init(
        _ authentication: HTTPAuthentication, of challenge: HTTPResponse, _ policy: AuthenticationPolicy,
        _ credential: Credential?, isStored: Bool, saves: Bool, pool sessionPool: HTTPConnectionPool = .shared
    ) {
        self.authentication = authentication
        self.challenge = challenge
        self.policy = policy
        self.credential = credential
        pool = authentication.isConnectionBound ? HTTPConnectionPool(ofLogin: sessionPool) : nil
        state = Locked(State(isSaved: isStored, saves: saves))
    }

    /// The server or proxy, without a realm.
    var endpoint: ProtectionSpace { authentication.peer }

    /// Claims the login for a load. Returns false while another load uses the connection that belongs to the login: from the time
    /// at which that load found or published the login until the stream that it returned has ended.
    ///
    /// Any number of loads may use a login that does not belong to a connection.
    func claim(for claim: LoginClaim) -> Bool {
        guard pool != nil else { return true }
        // Without the lock: the stream has its own.
        let last = state.withLock { $0.stream }
        if let last, !last.hasEnded, !state.withLock({ $0.claim === claim }) { return false }
        return state.withLock { state in
            guard state.claim == nil || state.claim === claim, state.stream === last else { return false }
            state.claim = claim
            return true
        }
    }

    /// Records the stream of the load that uses the connection.
    func begin(_ stream: ReadStream) {
        guard pool != nil else { return }
        state.withLock { $0.stream = stream }
    }

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

    /// Whether the credential is the one that a URL names. True for a URL without a user, and for a scheme that determines the
    /// user itself.
    func isOf(_ login: URLLogin?) -> Bool { credential.map { $0.isOf(login) } ?? true }

    /// The channel binding of the TLS connection.
    var binding: ChannelBinding? { state.withLock { $0.binding } }

    /// Sets the channel binding, unless the connection to the server or proxy has none.
    func bind(_ hash: [UInt8]?) {
        guard let hash else { return }
        state.withLock { $0.binding = .tlsServerEndPoint(hash) }
    }

    /// Records that the server or proxy has accepted the credential.
    func accept() {
        state.withLock { $0.isAccepted = true }
    }

    /// Returns the accepted credential if it is not saved yet, once: to save persistently or for the process.
    func takeUnsaved() -> (credential: Credential, persistently: Bool)? {
        state.withLock { state in
            guard state.isAccepted, !state.isSaved else { return nil }
            state.isSaved = true
            return credential.map { ($0, state.saves) }
        }
    }
}

extension Credential {
    /// Whether the credential is that of a URL's user, possibly as `DOMAIN\user`, and of its password, if any. True for a URL
    /// without a user.
    func isOf(_ login: URLLogin?) -> Bool {
        guard let login else { return true }
        guard login.user == user || login.user == accountDomain.map({ "\($0)\\\(user)" }) else { return false }
        return login.password.map { Secret($0) == password } ?? true
    }
}

/// Held by a load while it uses logins that belong to connections. The logins are free once the claim has been released.
final class LoginClaim: Sendable {}

extension ReadStream {
    /// Whether no more bytes are read from or sent on the stream's connection.
    fileprivate var hasEnded: Bool {
        switch status {
        case .atEnd, .closed, .error: true
        case .notOpen, .opening, .open, .reading, .writing: false
        }
    }
}

/// An event of a login, logged once per round.
enum LoginEvent: String {
    /// A credential was found, or none is needed: the next request uses it.
    case begins
    /// The next leg, or a fresh nonce.
    case goesOn = "goes on"
    case accepted
    case refused
    /// There is no credential for the challenge.
    case unanswered

    /// Logs the event with the stream's logger: the protection space and the scheme, never the user or a secret. Without the
    /// trait `Logging` it does nothing and costs nothing.
    static func log(
        _ event: LoginEvent, at endpoint: ProtectionSpace, by method: AuthenticationMethod?, _ stream: ReadStream
    ) {
        #if Logging
        stream[.logger]?.debug(
            "Login \(event.rawValue)",
            metadata: ["peer": "\(endpoint)", "scheme": "\(method?.name ?? "none")", "outcome": "\(event.rawValue)"])
        #endif
    }
}

extension ProtectionSpace {
    init(_ role: Role, of origin: HTTPOrigin) {
        self.init(role, scheme: origin.scheme, host: origin.host, port: Int(origin.port))
    }
}
