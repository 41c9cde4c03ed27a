public import FoundationEssentials
public import HTTPAuth

/// What a user is asked when a server or proxy wants to know who it is.
public struct AuthenticationPrompt: Sendable {
    /// Who asks, in which realm.
    public let space: ProtectionSpace

    /// The scheme that will carry the answer.
    public let method: AuthenticationMethod

    /// Whether a Windows domain is to be asked for, too.
    public let requiresAccountDomain: Bool

    /// The URL that was asked for.
    public let url: URL

    /// The user name that the URL of the server or proxy has; nil if it has none.
    public var user: String?

    /// Why the user is asked again; nil the first time.
    public let failure: HTTPAuthError?

    /// Why the answer would be used in a weaker form than the server or proxy has asked for before, which may be the work of
    /// somebody on the way (`HTTPAuthError.Code.weakerScheme`, with both forms); nil if it is not weaker.
    ///
    /// An answer is the user's agreement to the weaker scheme: answer without asking only if this is nil.
    public let downgrade: HTTPAuthError?

    /// The question as text: the server or proxy, the realm, the scheme, and a warning if the connection is not encrypted.
    public var text: String {
        let host = space.host.contains(":") ? "[\(space.host)]" : space.host
        let origin = "\(space.scheme)://\(host):\(space.port)"
        let asker = "\(space.role == .proxy ? "The proxy" : "The server") \(origin)"
        let realm = requiresAccountDomain ? nil : space.realm.map { " for \"\($0)\"" }
        var text =
            switch failure?.code {
            case nil: "\(asker) requires a user name and a password\(realm ?? "") (\(method.name))."
            case .credentialRefused?:
                "Wrong user name or password\(realm ?? "") at \(origin) (\(method.name))."
            default: "\(failure.map { "\($0). " } ?? "")\(asker) requires a user name and a password\(realm ?? "")."
            }
        if !space.isEncrypted { text += " The connection is not encrypted." }
        if let downgrade { text += " Warning: \(downgrade)." }
        return text
    }

    /// What the user says.
    public struct Answer: Sendable {
        /// The user name.
        public var user: String
        /// The password.
        public var password: Secret
        /// The Windows domain, where one is asked for.
        public var accountDomain: String?
        /// Whether to keep it in the first store that outlives the process, once the server has accepted it.
        public var saves: Bool

        /// Makes an answer.
        public init(user: String, password: Secret, accountDomain: String? = nil, saves: Bool = false) {
            self.user = user
            self.password = password
            self.accountDomain = accountDomain
            self.saves = saves
        }

        /// Makes an answer of text.
        public init(user: String, password: String, accountDomain: String? = nil, saves: Bool = false) {
            self.init(user: user, password: Secret(password), accountDomain: accountDomain, saves: saves)
        }
    }
}
