internal import EventLoops
internal import HTTPAuth
internal import HTTPMessage
internal import StreamKit

/// An authentication object of a session, its credential, and the connection that belongs to both.
final class KnownAuthentication: Sendable {
    let authentication: HTTPAuthentication
    /// Nil where the scheme knows by itself who the user is.
    let credential: Credential?
    /// The connection of a scheme that authenticates connections: nobody else's requests go over it.
    let pool: HTTPConnectionPool?

    private struct State {
        weak var stream: ReadStream?
        var isSaved: Bool
        var saves: Bool
        var binding: ChannelBinding?
    }

    private let state: Locked<State>

    init(_ authentication: HTTPAuthentication, _ credential: Credential?, isStored: Bool, saves: Bool) {
        self.authentication = authentication
        self.credential = credential
        pool = authentication.isConnectionBound ? HTTPConnectionPool(limits: .init(perOrigin: 1, total: 1)) : nil
        state = Locked(State(isSaved: isStored, saves: saves))
    }

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

    /// Gets ready for a request: says so if the connection is gone.
    func begin(_ stream: ReadStream) {
        guard pool != nil else { return }
        state.withLock { $0.stream = stream }
    }

    /// What ties the conversation to its TLS connection.
    var binding: ChannelBinding? { state.withLock { $0.binding } }

    /// Takes it from a connection to the same server.
    func bind(to stream: ReadStream) {
        guard let hash = stream[.serverEndPointBinding] else { return }
        state.withLock { $0.binding = .tlsServerEndPoint(hash) }
    }

    /// The connection may have been closed since it was used last.
    func checkConnection() {
        if let pool, pool.idleCount == 0 { authentication.disconnected() }
    }

    /// What is to be saved, once, now that the server has accepted it: persistently or for the process.
    func takeUnsaved() -> (credential: Credential, persistently: Bool)? {
        state.withLock { state in
            defer { state.isSaved = true }
            return state.isSaved ? nil : credential.map { ($0, state.saves) }
        }
    }
}
