internal import EventLoops
public import FoundationEssentials
public import HTTPMessage

/// Authentication of one user with one server or proxy, created from the response that asks for it.
///
/// The object chooses a scheme, puts credentials on requests and processes the responses. Use one object for all
/// requests to the server, so that it can reuse what it learned (a nonce, a ticket). Another user or another server
/// needs another object.
///
/// ```swift
/// // `response` has status 401
/// guard let authentication = HTTPAuthentication(response: response) else { return }
/// guard authentication.isValid else { throw authentication.error! }
/// try await authentication.apply(to: &request, user: "joe", password: "secret")
/// let answer = try await send(request)
/// switch try authentication.update(with: answer, to: request) {
/// case .accepted: use(answer)
/// case .apply: break          // apply and send again: NTLM's next round, or a fresh nonce
/// case .refused: break        // ask for another password, and begin with a new object
/// case .otherRealm, .failed: break
/// }
/// ```
///
/// The object works with any HTTP client and is safe to use from any thread.
///
/// Replaces `CFHTTPAuthenticationRef`. CFNetwork hides the state of a login in the request; here
/// ``update(with:to:body:through:)-(_,_,AuthenticationBody,_)`` updates it explicitly.
public final class HTTPAuthentication: Sendable {
    /// The server or proxy that asks for authentication, without a realm.
    public let peer: ProtectionSpace

    /// The time limit for blocking work, such as getting a Kerberos ticket, in one call of `apply`.
    public let workTimeout: Duration

    /// The forms of earlier logins. A credential is not used in a weaker form without the user's agreement.
    public let memory: AuthenticationMemory

    /// Whether the application named the server or proxy; false if a redirect or a proxy script chose it.
    public let isNamed: Bool

    private struct State {
        var machine: AuthenticationMachine
        var isWorking = false
        /// The paths for which the credentials are valid, and the server's list from which they were computed.
        var domainPaths: (listed: [String]?, paths: [[Substring]])?
    }

    private let url: URL?
    private let state: Locked<State>
    private let parser: ChallengeParser

    /// Creates an object from a response with status 401 or 407; nil for any other status.
    ///
    /// If the response has no challenge, a malformed one or no usable one, the object is not valid; ``error`` gives the
    /// reason.
    ///
    /// - Parameters:
    ///   - response: The response of the server or proxy.
    ///   - peer: The server or proxy that responded; its role must match the status. Nil takes it from the URL of the
    ///     response. A proxy then has no host, so pass it if there can be several proxies.
    ///   - policy: The schemes that may be used.
    ///   - workTimeout: See ``workTimeout``.
    ///   - memory: The forms of earlier logins. Pass the same memory to all objects for one server; by default the
    ///     object has its own.
    ///   - isNamed: Whether the application named the server or proxy. If false, for instance after a redirect, it gets
    ///     no Kerberos ticket unless ``NegotiateOptions/hosts`` allows it.
    ///
    /// Replaces `CFHTTPAuthenticationCreateFromResponse`.
    public init?(
        response: HTTPResponse, from peer: ProtectionSpace? = nil, policy: AuthenticationPolicy = .init(),
        workTimeout: Duration = .seconds(30), memory: AuthenticationMemory = AuthenticationMemory(),
        isNamed: Bool = true
    ) {
        guard let role = ProtectionSpace.Role(asking: response.status) else { return nil }
        precondition(peer == nil || peer?.role == role, "a 401 comes from an origin, a 407 from a proxy")
        self.peer = (peer ?? ProtectionSpace(role, of: response.url)).with(realm: nil)
        self.workTimeout = workTimeout
        self.memory = memory
        self.isNamed = isNamed
        url = response.url
        parser = ChallengeParser(leniency: policy.leniency, limits: policy.limits)
        var machine = AuthenticationMachine(peer: self.peer, policy: policy, memory: memory)
        _ = machine.receive(parser.parse(response), answering: nil)
        state = Locked(State(machine: machine))
    }

    /// Creates an object that applies credentials **before** the server asks for them.
    ///
    /// The server has not identified itself at that point. Use this only for a server whose certificate was checked,
    /// and with a scheme that reveals little. Digest does not work this way.
    public init(
        preemptive method: AuthenticationMethod, to peer: ProtectionSpace, policy: AuthenticationPolicy = .init(),
        workTimeout: Duration = .seconds(30), memory: AuthenticationMemory = AuthenticationMemory()
    ) {
        self.peer = peer.with(realm: nil)
        self.workTimeout = workTimeout
        self.memory = memory
        isNamed = true
        url = nil
        parser = ChallengeParser(leniency: policy.leniency, limits: policy.limits)
        var policy = policy
        policy.methods = [method]
        var machine = AuthenticationMachine(peer: self.peer, policy: policy, memory: memory)
        _ = machine.receive(.init(challenges: [Challenge(scheme: method.name)]), answering: nil)
        state = Locked(State(machine: machine))
    }

    private func withMachine<Result: Sendable>(_ body: (inout AuthenticationMachine) -> Result) -> Result {
        state.withLock { body(&$0.machine) }
    }
}

extension HTTPAuthentication {
    /// Whether credentials can be applied. If not, ``error`` gives the reason; the other properties remain available.
    ///
    /// Replaces `CFHTTPAuthenticationIsValid`.
    public var isValid: Bool { error == nil }

    /// The reason why the object is not valid; nil if it is valid.
    ///
    /// ``HTTPAuthError/asksForOtherCredentials`` tells whether to ask the user again or to give up.
    public var error: HTTPAuthError? { withMachine { $0.error } }

    /// The chosen scheme; nil if no scheme is usable.
    ///
    /// Replaces `CFHTTPAuthenticationCopyMethod`.
    public var method: AuthenticationMethod? { withMachine { $0.method } }

    /// The realm of the challenge; nil for schemes without realms. ``displayRealm`` is the text for the user.
    ///
    /// Replaces `CFHTTPAuthenticationCopyRealm`.
    public var realm: String? { withMachine { $0.realm } }

    /// The text to show to the user: the realm or, for schemes without realms such as NTLM, the host name; empty if the
    /// host is unknown.
    ///
    /// The two are separate because a realm is part of the key of a stored credential, and a host name is not a realm.
    public var displayRealm: String { realm ?? peer.host }

    /// The protection space that a credential must be created for.
    public var space: ProtectionSpace { withMachine { $0.space } }

    /// Whether a user name and a password are required. If false, apply nil.
    ///
    /// Replaces `CFHTTPAuthenticationRequiresUserNameAndPassword`.
    public var requiresUserNameAndPassword: Bool { traits.requiresUserNameAndPassword }

    /// Whether the scheme uses a Windows domain. If true, ask for the domain too; there is no realm to show.
    ///
    /// Replaces `CFHTTPAuthenticationRequiresAccountDomain`.
    public var requiresAccountDomain: Bool { traits.requiresAccountDomain }

    /// Whether requests must be sent one at a time, each after the response to the previous one.
    ///
    /// Replaces `CFHTTPAuthenticationRequiresOrderedRequests`.
    public var requiresOrderedRequests: Bool { traits.requiresOrderedRequests }

    /// Whether the scheme authenticates the connection. All rounds must then use one connection, which belongs to this
    /// user afterwards.
    public var isConnectionBound: Bool { traits.isConnectionBound }

    /// All traits of the scheme, read at one point in time.
    public var traits: SchemeTraits { withMachine { $0.scheme?.traits ?? SchemeTraits() } }

    /// Returns the reason why each offered scheme was chosen or not.
    public func explain() -> AuthenticationExplanation { withMachine { $0.explanation } }

    /// The field for the credentials: `Authorization` or `Proxy-Authorization`.
    public var fieldName: HTTPFieldName { peer.role == .origin ? .authorization : .proxyAuthorization }

    /// The URLs below which the credentials are valid; empty for a proxy, and if the server is unknown.
    ///
    /// These are the URIs in Digest's `domain` or, without it, the folder of the requested URL. URIs of other servers
    /// are in ``otherDomains``: RFC 7616 §3.3 allows them, but a credential of this package belongs to one server.
    ///
    /// Replaces `CFHTTPAuthenticationCopyDomains`.
    public var domains: [URL] {
        guard peer.role == .origin, let base = peer.rootURL else { return [] }
        let listed = withMachine { $0.scheme?.domain } ?? [URLPath.folder(of: url)]
        return listed.compactMap { URL(string: $0, relativeTo: base)?.absoluteURL }.filter { peer.contains($0) }
    }

    /// The URLs of other servers in Digest's `domain`, for which the challenging server claims that the credentials are
    /// valid as well; empty for a proxy, and if the server is unknown.
    ///
    /// They are for information only: ``appliesTo(_:through:)`` is false for them, because a server must not choose
    /// other recipients of a user's credentials.
    public var otherDomains: [URL] {
        guard peer.role == .origin, let base = peer.rootURL else { return [] }
        let listed = withMachine { $0.scheme?.domain } ?? []
        return listed.compactMap { URL(string: $0, relativeTo: base)?.absoluteURL }.filter { !peer.contains($0) }
    }

    /// Returns whether this object's credentials apply to a request. For an origin, the URL must be below one of
    /// ``domains``; for a proxy, the request must be sent to that proxy.
    ///
    /// A request without an absolute URL never matches an origin's object. A change of the server's certificate or
    /// address does not matter: the client verifies the certificate of each connection, and the addresses of a host change
    /// without notice.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - proxy: The proxy that the request is sent to. An origin's object ignores it. A proxy's object created with a
    ///     ``peer`` needs it, because the request itself does not name its proxy.
    ///
    /// Replaces `CFHTTPAuthenticationAppliesToRequest`.
    public func appliesTo(_ request: HTTPRequest, through proxy: ProtectionSpace? = nil) -> Bool {
        if peer.role == .proxy { return peer.mayReceive(request, through: proxy) }
        guard let url = request.url, peer.contains(url) else { return false }
        let path = URLPath.segments(of: url)
        return domainPaths.contains { path.starts(with: $0) }
    }
}

extension HTTPAuthentication {
    /// Processes the response to a request with credentials, and returns the next action.
    ///
    /// - Parameters:
    ///   - response: The response, with any status.
    ///   - request: The request as it was sent, including the credentials field.
    ///   - body: The body of the response, if it is complete; used if the server signs it.
    ///   - proxy: The proxy that the request was sent to, or nil. With a proxy, a 407 is the proxy's response and says
    ///     nothing about the server. Without one, it is the server's own response, which needs a proof like any other.
    /// - Throws: ``HTTPAuthError/Code/serverNotAuthentic`` if the server had to prove that it knows the secret and did
    ///   not: the response may be forged, and the object is no longer valid. An
    ///   `Authentication-Info` that cannot be read is no proof, as if it were missing.
    public func update(
        with response: HTTPResponse, to request: HTTPRequest, body: AuthenticationBody = .unknown,
        through proxy: ProtectionSpace? = nil
    ) throws(HTTPAuthError) -> AuthenticationVerdict {
        let sent = request.fields.first { $0.name == fieldName }?.rawValue
        if ProtectionSpace.Role(asking: response.status) == peer.role {
            let found = parser.parse(response)
            return withMachine { $0.receive(found, answering: sent) }
        }
        // A proxy's 407 for a request to an origin: the origin has not seen the request.
        let isProxyResponse = proxy != nil && ProtectionSpace.Role(asking: response.status) == .proxy
        guard let sent, !isProxyResponse else { return .accepted }
        let isOrigin = peer.role == .origin
        let challenges = parser.parse(response.fields, isOrigin ? .wwwAuthenticate : .proxyAuthenticate).challenges
        let scheme = AuthGrammar.text(sent.prefix { !AuthGrammar.isSpace($0) })
        var info: [Challenge.Parameter] = []
        for field in response.fields
        where field.name == (isOrigin ? .authenticationInfo : .proxyAuthenticationInfo) {
            info += (try? parser.parseParameters(field.rawValue)) ?? []
        }
        let acceptance = Acceptance(
            status: response.status, sent: sent, challenge: challenges.first { $0.is(scheme) }, info: info, body: body)
        try state.withLock { state throws(HTTPAuthError) in try state.machine.finish(acceptance) }
        return .accepted
    }

    /// Returns why a credential must not be used with the current scheme without asking the user; nil if it may be
    /// used.
    ///
    /// The error is ``HTTPAuthError/Code/weakerScheme`` and names both forms. Without a credential, the method compares
    /// the scheme with the strongest form that the server offered. See ``AuthenticationMemory``.
    @_spi(Packages) public func objection(to credential: Credential?) -> HTTPAuthError? {
        withMachine { $0.objection(to: credential) }
    }

    /// Records that the user agreed to use a credential with the current scheme. Call it only after the user was shown
    /// which scheme that is.
    public func approve(_ credential: Credential) {
        withMachine { $0.approve(credential) }
    }

    /// Reports that the connection was closed, or that the next request uses another connection. Schemes that
    /// authenticate connections start again.
    public func disconnected() {
        withMachine { $0.disconnected() }
    }

    /// Puts a credential on a request. May block for up to ``workTimeout``.
    ///
    /// If the chosen scheme cannot start, the next one is started. If that scheme needs another credential, the error
    /// is ``HTTPAuthError/Code/missingUserName`` or ``HTTPAuthError/Code/wrongProtectionSpace``, the object stays
    /// valid, and ``space`` is the protection space to ask for.
    ///
    /// - Parameters:
    ///   - request: The request. Its `Authorization` or `Proxy-Authorization` field is replaced.
    ///   - credential: A credential for ``space``; nil if ``requiresUserNameAndPassword`` is false.
    ///   - body: The body that will be sent; nil means the body of `request`.
    ///   - channelBinding: The binding to the TLS connection.
    ///   - proxy: The proxy that the request is sent to; see ``appliesTo(_:through:)``.
    /// - Throws: ``HTTPAuthError``; the request is then unchanged. The code is ``HTTPAuthError/Code/weakerScheme`` if
    ///   the credential was used in a stronger form before and the user has not agreed (``approve(_:)``).
    ///
    /// Replaces `CFHTTPMessageApplyCredentialDictionary`.
    @available(*, noasync, message: "it may block the thread: use await")
    public func apply(
        to request: inout HTTPRequest, _ credential: Credential?, body: AuthenticationBody? = nil,
        channelBinding: ChannelBinding? = nil, through proxy: ProtectionSpace? = nil
    ) throws(HTTPAuthError) {
        try applyBlocking(to: &request, body, channelBinding, proxy) { _ in credential }
    }

    /// Puts a credential on a request, without blocking the thread. Cancelling the task ends the wait.
    public func apply(
        to request: inout HTTPRequest, _ credential: Credential?, body: AuthenticationBody? = nil,
        channelBinding: ChannelBinding? = nil, through proxy: ProtectionSpace? = nil
    ) async throws(HTTPAuthError) {
        try await applyAsync(to: &request, body, channelBinding, proxy) { _ in credential }
    }

    /// Puts a user name and a password on a request, for any realm. For NTLM, `DOMAIN\user` is split.
    ///
    /// Replaces `CFHTTPMessageApplyCredentials`.
    @available(*, noasync, message: "it may block the thread: use await")
    public func apply(
        to request: inout HTTPRequest, user: String, password: String, accountDomain: String? = nil,
        body: AuthenticationBody? = nil, channelBinding: ChannelBinding? = nil, through proxy: ProtectionSpace? = nil
    ) throws(HTTPAuthError) {
        let login = Login(user, password, accountDomain)
        try applyBlocking(to: &request, body, channelBinding, proxy) { login.credential(for: $0, self) }
    }

    /// Puts a user name and a password on a request, without blocking the thread.
    public func apply(
        to request: inout HTTPRequest, user: String, password: String, accountDomain: String? = nil,
        body: AuthenticationBody? = nil, channelBinding: ChannelBinding? = nil, through proxy: ProtectionSpace? = nil
    ) async throws(HTTPAuthError) {
        let login = Login(user, password, accountDomain)
        try await applyAsync(to: &request, body, channelBinding, proxy) { login.credential(for: $0, self) }
    }
}

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
            withMachine { $0.invalidate(error) }
            throw error
        }
        return (user, password, credentials[.accountDomain])
    }
}

extension HTTPAuthentication {
    private func applyBlocking(
        to request: inout HTTPRequest, _ body: AuthenticationBody?, _ binding: ChannelBinding?,
        _ proxy: ProtectionSpace?, _ credential: (ProtectionSpace) -> Credential?
    ) throws(HTTPAuthError) {
        var step = try begin(request, body, binding, proxy, credential)
        while case .work(let work) = step {
            let outcome = work.outcome(within: workTimeout)
            if let next = try end(outcome) {
                step = next
            } else {
                step = try begin(request, body, binding, proxy, credential)
            }
        }
        try put(step, on: &request)
    }

    private func applyAsync(
        to request: inout HTTPRequest, _ body: AuthenticationBody?, _ binding: ChannelBinding?,
        _ proxy: ProtectionSpace?, _ credential: (ProtectionSpace) -> Credential?
    ) async throws(HTTPAuthError) {
        var step = try begin(request, body, binding, proxy, credential)
        while case .work(let work) = step {
            let outcome = await work.outcome(within: workTimeout)
            if let next = try end(outcome) {
                step = next
            } else {
                step = try begin(request, body, binding, proxy, credential)
            }
        }
        try put(step, on: &request)
    }

    private func begin(
        _ request: HTTPRequest, _ body: AuthenticationBody?, _ binding: ChannelBinding?, _ proxy: ProtectionSpace?,
        _ credential: (ProtectionSpace) -> Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep {
        guard peer.mayReceive(request, through: proxy) else {
            throw HTTPAuthError(.requestOutsideSpace, detail: "expected \(peer)")
        }
        let time = Environment.time
        while true {
            let space = space
            let credential = credential(space)
            let random = try Environment.random(32)
            let input = AuthenticationInput(
                method: request.method, target: request.target, body: body ?? .bytes(request.body), space: space,
                isNamed: isNamed, channelBinding: binding, time: time, random: random)
            do throws(HTTPAuthError) {
                return try state.withLock { (state: inout State) throws(HTTPAuthError) -> AuthenticationStep in
                    guard !state.isWorking else {
                        throw HTTPAuthError(.outOfOrder, detail: "another request is being signed")
                    }
                    let step = try state.machine.respond(to: input, with: credential)
                    if case .work = step { state.isWorking = true }
                    return step
                }
            } catch {
                // The scheme could not start, and the next one has another realm. A user name and a password are valid
                // for any realm, so create the credential again.
                guard error.code == .wrongProtectionSpace, self.space != space, credential?.space == space else {
                    throw error
                }
            }
        }
    }

    private func end(_ outcome: BlockingWork.Outcome) throws(HTTPAuthError) -> AuthenticationStep? {
        try state.withLock { (state: inout State) throws(HTTPAuthError) -> AuthenticationStep? in
            state.isWorking = false
            let step = try state.machine.resume(with: outcome)
            if case .work = step { state.isWorking = true }
            return step
        }
    }

    private func put(_ step: AuthenticationStep, on request: inout HTTPRequest) throws(HTTPAuthError) {
        switch step {
        case .send(let value):
            do throws(HTTPMessageError) {
                try request.fields.set(rawValue: value, for: fieldName)
            } catch {
                // The schemes of this package send base 64, and quoted text that was checked for control characters.
                throw HTTPAuthError(
                    .malformedToken, scheme: method?.name, detail: "the scheme made a value that a field cannot contain"
                )
            }
        case .nothing, .work: request.fields.remove(fieldName)
        }
    }

    /// The paths of ``domains``, cached until the server's list changes.
    private var domainPaths: [[Substring]] {
        let (listed, known) = state.withLock { ($0.machine.scheme?.domain, $0.domainPaths) }
        if let known, known.listed == listed { return known.paths }
        let paths = domains.map { URLPath.segments(of: $0).droppingLastEmpty }
        state.withLock { $0.domainPaths = (listed, paths) }
        return paths
    }
}
