internal import EventLoops
@_spi(Packages) public import HTTPAuth
internal import HTTPMessage

extension HTTPProxy {
    /// A user and a password for an HTTP proxy.
    ///
    /// Nothing is sent before the proxy requires it (407), unless ``isSentUnasked`` is set. Streams then use the strongest scheme
    /// that the proxy offers, Digest or Basic. A session uses its own schemes and policy, and tries this account first.
    public struct Account: Hashable, Sendable {
        /// The user name.
        public var user: String

        /// The password.
        public var password: Secret

        /// Whether the account is sent as Basic with the first request, before the proxy requires it: any program that accepts
        /// connections at its address then receives the password. Default false.
        ///
        /// A session sends it only if its policy allows Basic for the proxy (`banned`, `encryptedOnly`), and only if the proxy
        /// has not required a stronger scheme before.
        public var isSentUnasked: Bool

        /// The forms of earlier logins with proxies' accounts, for all streams of the process without a session. No account is
        /// used in a weaker form than before, in whichever stream (`AuthenticationMemory`).
        ///
        /// A proxy that was reconfigured to require a weaker form receives nothing until `forget()` is called.
        public static let memory = AuthenticationMemory()

        /// Makes an account.
        public init(user: String, password: Secret, isSentUnasked: Bool = false) {
            self.user = user
            self.password = password
            self.isSentUnasked = isSentUnasked
        }
    }
}

/// The login with a proxy's own account for streams without a session: the proxy's challenge, and the response to it.
///
/// All copies of the proxy share it, so that the next connection starts with the state of the last one. Proxies that are made
/// again, as proxy settings do for each URL, share the forms of earlier logins (``HTTPProxy/Account/memory``).
final class ProxyAccountLogin: Sendable {
    /// The maximum number of repetitions of one request for a login; after them, the last response is final.
    static let maximumRounds = 4

    let account: HTTPProxy.Account
    private let memory = HTTPProxy.Account.memory
    private let known = Locked<HTTPLogin?>(nil)

    init(_ account: HTTPProxy.Account) {
        self.account = account
    }

    /// The login for the proxy's challenge; nil before the first challenge.
    var current: HTTPLogin? { known.withLock { $0 } }

    /// Makes a login from a proxy's 407.
    ///
    /// - Parameters:
    ///   - response: The 407.
    ///   - sent: The field that the refused request carried; nil for none.
    ///   - proxy: The protection space of the proxy.
    /// - Returns: The login; nil if the account cannot answer: no scheme is usable, the form is weaker than before, or the
    ///   password has been refused.
    func begin(_ response: HTTPResponse, answering sent: String?, from proxy: ProtectionSpace) -> HTTPLogin? {
        var policy = AuthenticationPolicy()
        policy.methods = [.digest, .basic]
        guard let authentication = HTTPAuthentication(response: response, from: proxy, policy: policy, memory: memory),
            authentication.isValid, let method = authentication.method
        else { return nil }
        // The account that was sent before the challenge was Basic already.
        if method == .basic, sent != nil { return nil }
        let credential = credential(for: authentication.space)
        guard authentication.objection(to: credential) == nil else { return nil }
        let login = HTTPLogin(authentication, of: response, policy, credential)
        known.withLock { $0 = login }
        return login
    }

    /// Removes a login that the proxy has refused.
    func drop(_ login: HTTPLogin) {
        known.withLock { if $0 === login { $0 = nil } }
    }

    /// Adds the login to a request that the proxy itself receives: in the scheme of its challenge, or as Basic before a
    /// challenge. Leaves the request unchanged if there is nothing to add.
    func sign(_ request: inout HTTPRequest, for proxy: ProtectionSpace, body: AuthenticationBody) {
        guard let authentication = current?.authentication ?? unasked(for: proxy) else { return }
        let credential = credential(for: authentication.space)
        // A request that cannot be signed is sent without a login, and the proxy's response then decides.
        // Digest and Basic compute their fields at once: nothing waits here.
        try? authentication.apply(to: &request, credential, body: body, through: proxy)
    }

    /// Evaluates the response to a request that was signed.
    ///
    /// - Returns: Whether to send the request again, with another field.
    func judge(_ response: HTTPResponse, to request: HTTPRequest, from proxy: ProtectionSpace) -> Bool {
        let sent = request.fields[.proxyAuthorization]
        guard let login = current, sent != nil else {
            return response.status == .proxyAuthenticationRequired
                && begin(response, answering: sent, from: proxy) != nil
        }
        let verdict = try? login.authentication.update(with: response, to: request)
        switch verdict {
        case .accepted?: return false
        case .apply?: return true
        case .refused?, .otherRealm?, .failed?, nil:
            drop(login)
            return false
        }
    }

    private func unasked(for proxy: ProtectionSpace) -> HTTPAuthentication? {
        guard account.isSentUnasked else { return nil }
        return HTTPAuthentication(preemptive: .basic, to: proxy, memory: memory)
    }

    private func credential(for space: ProtectionSpace) -> Credential {
        Credential(user: account.user, proof: .password(account.password), for: space)
    }
}

extension HTTPProxy {
    /// The proxy's account, in the form of a URL's login.
    var accountInURL: URLLogin? {
        account.map { .init(user: $0.user, password: $0.password.withBytes { String(decoding: $0, as: UTF8.self) }) }
    }
}
