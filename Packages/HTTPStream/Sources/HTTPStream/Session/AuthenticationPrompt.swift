internal import EventLoops
public import FoundationEssentials
public import HTTPAuth
@_spi(Packages) internal import StreamKit

/// The question to the user when a server or proxy requires a login.
public struct AuthenticationPrompt: Sendable {
    /// The protection space: the server or proxy, and its realm.
    public let space: ProtectionSpace

    /// The scheme that will carry the answer.
    public let method: AuthenticationMethod

    /// Whether the user should also enter a Windows domain.
    public let requiresAccountDomain: Bool

    /// The URL of the request.
    public let url: URL

    /// The user name in the URL of the server or proxy; nil if it has none.
    public var user: String?

    /// Why the user is asked again; nil the first time.
    public let failure: HTTPAuthError?

    /// The reason why the answer would be used in a weaker form than the server or proxy has required before, which may be an
    /// attack (`HTTPAuthError.Code.weakerScheme`, with both forms); nil if the form is not weaker.
    ///
    /// An answer is the user's agreement to the weaker form: answer without asking only if this is nil.
    public let downgrade: HTTPAuthError?

    /// The question as text: the server or proxy, the realm, the scheme, and a warning if the connection is not encrypted.
    public var text: String {
        let origin = "\(space.scheme)://\(URLAuthority.bracketed(space.host)):\(space.port)"
        let sender = "\(space.role == .proxy ? "The proxy" : "The server") \(origin)"
        let realm = requiresAccountDomain ? nil : space.realm.map { " for \"\($0)\"" }
        var text =
            switch failure?.code {
            case nil: "\(sender) requires a user name and a password\(realm ?? "") (\(method.name))."
            case .credentialRefused?:
                "Wrong user name or password\(realm ?? "") at \(origin) (\(method.name))."
            default: "\(failure.map { "\($0). " } ?? "")\(sender) requires a user name and a password\(realm ?? "")."
            }
        if !space.isEncrypted { text += " The connection is not encrypted." }
        if let downgrade { text += " Warning: \(downgrade)." }
        return text
    }

    /// The answer of the user.
    public struct Answer: Sendable {
        /// The user name.
        public var user: String
        /// The password.
        public var password: Secret
        /// The Windows domain, if one is required.
        public var accountDomain: String?
        /// Whether to save the credential in the first store that outlives the process, once the server has accepted it.
        public var saves: Bool

        /// Makes an answer.
        public init(user: String, password: Secret, accountDomain: String? = nil, saves: Bool = false) {
            self.user = user
            self.password = password
            self.accountDomain = accountDomain
            self.saves = saves
        }

        /// Makes an answer from text.
        public init(user: String, password: String, accountDomain: String? = nil, saves: Bool = false) {
            self.init(user: user, password: Secret(password), accountDomain: accountDomain, saves: saves)
        }
    }
}

extension AuthenticationPrompt {
    /// Returns the answer of a closure, which runs in a task of its own: the load need not wait for its end.
    ///
    /// - Throws: a time-out or a cancellation of the load. The closure's task is then cancelled.
    func answer(
        of ask: @escaping @Sendable (AuthenticationPrompt) async -> Answer?, within closure: RunningClosure,
        _ options: LoadOptions
    ) async throws(StreamError) -> Answer? {
        let answer = OneShot<Answer?>()
        let asking = Task { _ = answer.provide(await closure.run { await ask(self) }) }
        do throws(WaitError) {
            return try await answer.value(until: options.deadline)
        } catch {
            asking.cancel()
            throw error == .timedOut ? .timedOut("asking for a login", after: options.timeout) : .cancelled
        }
    }
}
