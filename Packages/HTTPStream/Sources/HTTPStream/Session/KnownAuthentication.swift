internal import EventLoops
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

#if Logging
internal import Logging
#endif

/// A login of a session, with the connection that belongs to it.
final class KnownAuthentication: Sendable {
    /// The login itself, which the proxies of a route need without a connection.
    let login: HTTPLogin
    /// The connection of a scheme that authenticates connections, which carries no other user's requests; nil for other schemes.
    let pool: HTTPConnectionPool?

    private struct State {
        /// The load that uses the connection.
        weak var claim: LoginClaim?
        /// The last stream of that load, which may outlive it.
        weak var stream: ReadStream?
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
        login = HTTPLogin(authentication, of: challenge, policy, credential)
        pool = authentication.isConnectionBound ? HTTPConnectionPool(ofLogin: sessionPool) : nil
        state = Locked(State(isSaved: isStored, saves: saves))
    }

    /// The authentication over connections that the session uses for requests.
    var authentication: HTTPAuthentication { login.authentication }

    /// Nil if the scheme determines the user itself.
    var credential: Credential? { login.credential }

    /// The response that the authentication was made from.
    var challenge: HTTPResponse { login.challenge }

    /// The server or proxy, without a realm.
    var endpoint: ProtectionSpace { login.endpoint }

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

    /// Returns the accepted credential if it is not saved yet, once: to save persistently or for the process.
    func takeUnsaved() -> (credential: Credential, persistently: Bool)? {
        guard login.isAccepted else { return nil }
        return state.withLock { state in
            guard !state.isSaved else { return nil }
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
