public import HTTPMessage

extension HTTPAuthentication {
    /// A key of a credential dictionary.
    ///
    /// Replaces `kCFHTTPAuthenticationUsername`, `kCFHTTPAuthenticationPassword` and
    /// `kCFHTTPAuthenticationAccountDomain`.
    public struct CredentialKey: RawRepresentable, Hashable, Sendable {
        /// The name of the CFNetwork constant.
        public let rawValue: String

        /// Creates a key.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The user name.
        public static let username = CredentialKey(rawValue: "kCFHTTPAuthenticationUsername")
        /// The password.
        public static let password = CredentialKey(rawValue: "kCFHTTPAuthenticationPassword")
        /// The Windows domain, if ``HTTPAuthentication/requiresAccountDomain`` is true.
        public static let accountDomain = CredentialKey(rawValue: "kCFHTTPAuthenticationAccountDomain")
    }

    /// Puts the credentials in a dictionary on a request.
    ///
    /// If the scheme requires a user name and a password and one has no entry, the object becomes invalid and the error
    /// is ``HTTPAuthError/Code/missingUserName`` or ``HTTPAuthError/Code/missingPassword``. An empty string is a valid
    /// entry.
    ///
    /// Replaces `CFHTTPMessageApplyCredentialDictionary`.
    @available(*, noasync, message: "it may block the thread: use await")
    public func apply(
        to request: inout HTTPRequest, credentials: [CredentialKey: String], body: AuthenticationBody? = nil,
        channelBinding: ChannelBinding? = nil, through proxy: ProtectionSpace? = nil
    ) throws(HTTPAuthError) {
        guard let login = try login(credentials) else {
            return try apply(to: &request, nil, body: body, channelBinding: channelBinding, through: proxy)
        }
        try apply(
            to: &request, user: login.user, password: login.password, accountDomain: login.domain, body: body,
            channelBinding: channelBinding, through: proxy)
    }

    /// Puts the credentials in a dictionary on a request, without blocking the thread.
    public func apply(
        to request: inout HTTPRequest, credentials: [CredentialKey: String], body: AuthenticationBody? = nil,
        channelBinding: ChannelBinding? = nil, through proxy: ProtectionSpace? = nil
    ) async throws(HTTPAuthError) {
        guard let login = try login(credentials) else {
            return try await apply(to: &request, nil, body: body, channelBinding: channelBinding, through: proxy)
        }
        try await apply(
            to: &request, user: login.user, password: login.password, accountDomain: login.domain, body: body,
            channelBinding: channelBinding, through: proxy)
    }

    private func login(
        _ credentials: [CredentialKey: String]
    ) throws(HTTPAuthError) -> (user: String, password: String, domain: String?)? {
        guard let user = credentials[.username], let password = credentials[.password] else {
            guard requiresUserNameAndPassword else { return nil }
            let error = HTTPAuthError(
                credentials[.username] == nil ? .missingUserName : .missingPassword, scheme: method?.name)
            invalidate(error)
            throw error
        }
        return (user, password, credentials[.accountDomain])
    }
}
