internal import EventLoops
public import HTTPAuth
internal import HTTPMessage

extension HTTPProxy {
    /// A user and a password for an HTTP proxy.
    ///
    /// Nothing is sent before the proxy asks (407), unless ``isSentUnasked`` says so. Then the strongest scheme that the
    /// proxy offers, Digest or Basic, is used by streams; a session uses its own schemes and policy, with these as the
    /// first credential that it tries.
    public struct Account: Hashable, Sendable {
        /// The user name.
        public var user: String

        /// The password.
        public var password: Secret

        /// Whether they are sent as Basic with the first request, before the proxy asks: anyone who answers at its address
        /// gets the password then. False by default.
        ///
        /// A session sends them only if its policy allows Basic there (`banned`, `encryptedOnly`), and if the proxy has not
        /// asked for a stronger scheme before.
        public var isSentUnasked: Bool

        /// The forms of the logins with proxies' accounts, of all streams of the process without a session: no account is used in a
        /// weaker form than before, whichever stream it was used by (`AuthenticationMemory`).
        ///
        /// A proxy that was reconfigured to ask for a weaker scheme gets nothing until `forget()` is called.
        public static let memory = AuthenticationMemory()

        /// Makes an account.
        public init(user: String, password: Secret, isSentUnasked: Bool = false) {
            self.user = user
            self.password = password
            self.isSentUnasked = isSentUnasked
        }
    }
}

/// The login with a proxy's own account, as streams without a session do it: what the proxy has asked for, and the answer.
///
/// All copies of the proxy share it, so that the next connection begins with what the last one has learned. Proxies that are made
/// anew, as settings make them for each URL, share the forms of earlier logins (``HTTPProxy/Account/memory``).
final class ProxyAccountLogin: Sendable {
    /// The most answers to one request that ask for another login; then the last one counts.
    static let mostRounds = 4

    let account: HTTPProxy.Account
    private let memory = HTTPProxy.Account.memory
    private let known = Locked<KnownAuthentication?>(nil)

    init(_ account: HTTPProxy.Account) {
        self.account = account
    }

    /// The login that the proxy has asked for; nil if it has not asked yet.
    var current: KnownAuthentication? { known.withLock { $0 } }

    /// Takes a proxy's 407 and makes a login of it.
    ///
    /// - Parameters:
    ///   - response: The 407.
    ///   - sent: The field that the refused request carried; nil for none.
    ///   - place: The proxy.
    /// - Returns: The login; nil if the account cannot answer: no scheme can be used, it is weaker than before, or the
    ///   password has been refused.
    func begin(_ response: HTTPResponse, answering sent: String?, from place: ProtectionSpace) -> KnownAuthentication? {
        var policy = AuthenticationPolicy()
        policy.methods = [.digest, .basic]
        guard let authentication = HTTPAuthentication(response: response, from: place, policy: policy, memory: memory),
            authentication.isValid, let method = authentication.method
        else { return nil }
        // What was sent unasked was Basic already.
        if method == .basic, sent != nil { return nil }
        let credential = credential(for: authentication.space)
        guard authentication.objection(to: credential) == nil else { return nil }
        let login = KnownAuthentication(authentication, of: response, policy, credential, isStored: true, saves: false)
        known.withLock { $0 = login }
        return login
    }

    /// Forgets a login that the proxy has refused.
    func drop(_ login: KnownAuthentication) {
        known.withLock { if $0 === login { $0 = nil } }
    }

    /// Puts the login on a request that the proxy itself takes: what it has asked for, or Basic unasked. The request stays
    /// as it was if there is nothing to put on it.
    func sign(_ request: inout HTTPRequest, for place: ProtectionSpace, body: AuthenticationBody) {
        guard let authentication = current?.authentication ?? unasked(for: place) else { return }
        let credential = credential(for: authentication.space)
        // A request that cannot be signed goes without, and the proxy says what it thinks of that.
        // Digest and Basic make their fields at once: nothing waits here.
        try? authentication.apply(to: &request, credential, body: body, through: place)
    }

    /// Takes the answer to a request that was signed.
    ///
    /// - Returns: Whether the request should be sent again, with another field.
    func judge(_ response: HTTPResponse, to request: HTTPRequest, from place: ProtectionSpace) -> Bool {
        let sent = request.fields[.proxyAuthorization]
        guard let login = current, sent != nil else {
            return response.status == .proxyAuthenticationRequired
                && begin(response, answering: sent, from: place) != nil
        }
        let verdict = try? login.authentication.update(with: response, to: request)
        switch verdict {
        case .accepted?: return false
        case .apply?: return true
        case .refused?, .otherSpace?, .failed?, nil:
            drop(login)
            return false
        }
    }

    private func unasked(for place: ProtectionSpace) -> HTTPAuthentication? {
        guard account.isSentUnasked else { return nil }
        return HTTPAuthentication(unasked: .basic, to: place, memory: memory)
    }

    private func credential(for space: ProtectionSpace) -> Credential {
        Credential(user: account.user, proof: .password(account.password), for: space)
    }
}

extension HTTPProxy {
    /// Whether a session's rules allow the account to be sent before the proxy asks.
    func mayBeSentUnasked(_ account: Account, _ rules: ProxyLogins.Rules) -> Bool {
        guard rules.policy.methods.contains(.basic) else { return false }
        let login = HTTPAuthentication(unasked: .basic, to: space, policy: rules.policy, memory: rules.memory)
        let credential = Credential(user: account.user, proof: .password(account.password), for: login.space)
        return login.isValid && login.objection(to: credential) == nil
    }
}
