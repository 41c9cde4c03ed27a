public import FoundationEssentials
public import HTTPMessage

/// Authentication with one server or proxy, for one user: made from the response that asks for it.
///
/// The object chooses a scheme, puts credentials on requests, and is told the answers. It is good for all requests to its
/// place, so that what it learned (a nonce, a ticket) is used again; another user or another server needs another object.
///
/// ```swift
/// // `response` has status 401
/// guard let authentication = HTTPAuthentication(response: response) else { return }
/// guard authentication.isValid else { throw authentication.error! }
/// try authentication.apply(to: &request, user: "joe", password: "secret")
/// let answer = try await send(request)
/// switch try authentication.update(with: answer, to: request) {
/// case .accepted: use(answer)
/// case .apply: break          // apply and send again: NTLM's next leg, or a fresh nonce
/// case .refused: break        // ask for another password, and begin with a new object
/// case .otherSpace, .failed: break
/// }
/// ```
///
/// It works with any HTTP client. All members may be used from any thread.
///
/// Replaces `CFHTTPAuthenticationRef`; the state that CFNetwork hides in the request, ``update(with:to:body:through:)`` takes openly.
public final class HTTPAuthentication: Sendable {
    /// The server or proxy that asks, without realm.
    public let place: ProtectionSpace

    /// How long `apply(to:user:password:accountDomain:body:channelBinding:through:)` and its siblings wait for work that blocks,
    /// such as asking for a Kerberos ticket.
    public let workLimit: Duration

    /// The forms of earlier logins, below which no credential is used without the user's agreement.
    public let memory: AuthenticationMemory

    /// Whether the application named the server or proxy itself; false for one that a redirect or a proxy script led to.
    public let isNamed: Bool

    private struct State {
        var machine: AuthenticationMachine
        var isWorking = false
        /// The paths below which the credentials are good, and what the server said of them.
        var domainPaths: (listed: [String]?, paths: [[Substring]])?
    }

    let url: URL?
    private let state: Locked<State>
    private let parser: ChallengeParser

    /// Makes an object from a response with status 401 or 407; nil for any other status.
    ///
    /// A response without a challenge, with a malformed one or with none that can be used gives an object that is not
    /// valid; ``error`` says why.
    ///
    /// - Parameters:
    ///   - response: What the server or proxy answered.
    ///   - place: Who answered. Nil takes it from the response's URL; a proxy is then known by its role only, so tell which
    ///     if there can be several. Must be of the role that the status is for.
    ///   - policy: Which schemes may be used.
    ///   - workLimit: See ``workLimit``.
    ///   - memory: The forms of earlier logins: the same for all objects that a client makes for one server. By default
    ///     one for this object alone.
    ///   - isNamed: Whether the application named the server or proxy; false for one that a redirect led to, which gets no
    ///     Kerberos ticket unless ``NegotiateOptions/hosts`` allows it.
    ///
    /// Replaces `CFHTTPAuthenticationCreateFromResponse`.
    public init?(
        response: HTTPResponse, from place: ProtectionSpace? = nil, policy: AuthenticationPolicy = .init(),
        workLimit: Duration = .seconds(30), memory: AuthenticationMemory = AuthenticationMemory(), isNamed: Bool = true
    ) {
        guard let role = ProtectionSpace.Role(asking: response.status) else { return nil }
        precondition(place == nil || place?.role == role, "a 401 comes from an origin, a 407 from a proxy")
        self.place = (place ?? ProtectionSpace(role, of: response.url)).with(realm: nil)
        self.workLimit = workLimit
        self.memory = memory
        self.isNamed = isNamed
        url = response.url
        parser = ChallengeParser(leniency: policy.leniency, limits: policy.limits)
        var machine = AuthenticationMachine(place: self.place, policy: policy, memory: memory)
        _ = machine.receive(parser.parse(response), answering: nil)
        state = Locked(State(machine: machine))
    }

    /// Makes an object that applies credentials **before** the server asks.
    ///
    /// Nobody knows then whether the server is the one that is meant to have them: do it for a server whose certificate
    /// was checked, and with a scheme that gives away little. Not possible with Digest.
    public init(
        unasked method: AuthenticationMethod, to place: ProtectionSpace, policy: AuthenticationPolicy = .init(),
        workLimit: Duration = .seconds(30), memory: AuthenticationMemory = AuthenticationMemory()
    ) {
        self.place = place.with(realm: nil)
        self.workLimit = workLimit
        self.memory = memory
        isNamed = true
        url = nil
        parser = ChallengeParser(leniency: policy.leniency, limits: policy.limits)
        var policy = policy
        policy.methods = [method]
        var machine = AuthenticationMachine(place: self.place, policy: policy, memory: memory)
        _ = machine.receive(.init(challenges: [Challenge(scheme: method.name)]), answering: nil)
        state = Locked(State(machine: machine))
    }

    private func withMachine<Result>(_ body: (inout AuthenticationMachine) -> Result) -> Result {
        state.withLock { body(&$0.machine) }
    }
}

extension HTTPAuthentication {
    /// Whether credentials can be applied. If not, ``error`` says why; the other properties still tell what is known.
    ///
    /// Replaces `CFHTTPAuthenticationIsValid`.
    public var isValid: Bool { error == nil }

    /// Why the object is not valid; nil if it is.
    ///
    /// ``HTTPAuthError/asksForOtherCredentials`` tells the two cases of the guide apart: ask again, or give up.
    public var error: HTTPAuthError? { withMachine { $0.error } }

    /// The scheme that was chosen; nil if none could be. Replaces `CFHTTPAuthenticationCopyMethod`.
    public var method: AuthenticationMethod? { withMachine { $0.method } }

    /// The realm, for the prompt; nil for schemes that have none, where the host name says as much.
    ///
    /// Replaces `CFHTTPAuthenticationCopyRealm`.
    public var realm: String? { withMachine { $0.realm } }

    /// The place and realm that a credential must be made for.
    public var space: ProtectionSpace { withMachine { $0.space } }

    /// Whether a user name and a password are needed. If not, apply nil.
    ///
    /// Replaces `CFHTTPAuthenticationRequiresUserNameAndPassword`.
    public var requiresUserNameAndPassword: Bool { traits.requiresUserNameAndPassword }

    /// Whether a Windows domain is to be asked for, too, instead of showing a realm.
    ///
    /// Replaces `CFHTTPAuthenticationRequiresAccountDomain`.
    public var requiresAccountDomain: Bool { traits.requiresAccountDomain }

    /// Whether requests must go one after another. Replaces `CFHTTPAuthenticationRequiresOrderedRequests`.
    public var requiresOrderedRequests: Bool { traits.requiresOrderedRequests }

    /// Whether the connection is what is authenticated: all rounds must go over one, which then is this user's alone.
    public var isConnectionBound: Bool { traits.isConnectionBound }

    /// All of the above at one time.
    public var traits: SchemeTraits { withMachine { $0.scheme?.traits ?? SchemeTraits() } }

    /// Why each scheme that the server offered was taken or not.
    public func explain() -> AuthenticationExplanation { withMachine { $0.explanation } }

    /// The field that carries the credentials: `Authorization` or `Proxy-Authorization`.
    public var fieldName: HTTPFieldName { place.role == .origin ? .authorization : .proxyAuthorization }

    /// The URLs below which the credentials are good; empty for a proxy and where the place is not known.
    ///
    /// What Digest's `domain` says, else the folder of the URL that was asked for. URLs of other servers are left out:
    /// RFC 7616 §3.3 allows them, but a credential belongs to one server here.
    ///
    /// Replaces `CFHTTPAuthenticationCopyDomains`.
    public var domains: [URL] {
        guard place.role == .origin, let base = place.rootURL else { return [] }
        let listed = withMachine { $0.scheme?.domain } ?? [URLPath.folder(of: url)]
        return listed.compactMap { URL(string: $0, relativeTo: base)?.absoluteURL }.filter { place.contains($0) }
    }

    /// Whether the object is meant for a request: its URL lies below one of ``domains``; for a proxy's object, whether the
    /// request is sent to that proxy.
    ///
    /// A request whose URL is not absolute belongs nowhere.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - proxy: The proxy that the request is sent to. A proxy's object that was made with a ``place`` applies to no
    ///     request without it, since nothing in the request says which proxy that is. Ignored by an origin's object.
    ///
    /// Replaces `CFHTTPAuthenticationAppliesToRequest`.
    public func appliesTo(_ request: HTTPRequest, through proxy: ProtectionSpace? = nil) -> Bool {
        if place.role == .proxy { return place.mayReceive(request, through: proxy) }
        guard let url = request.url, place.contains(url) else { return false }
        let path = URLPath.segments(of: url)
        return domainPaths.contains { path.starts(with: $0) }
    }
}

extension HTTPAuthentication {
    /// The paths of ``domains``, made once for what the server says.
    private var domainPaths: [[Substring]] {
        let (listed, known) = state.withLock { ($0.machine.scheme?.domain, $0.domainPaths) }
        if let known, known.listed == listed { return known.paths }
        let paths = domains.map { URLPath.segments(of: $0).droppingLastEmpty }
        state.withLock { $0.domainPaths = (listed, paths) }
        return paths
    }

    /// Takes the answer to a request that credentials were applied to, and says what to do next.
    ///
    /// - Parameters:
    ///   - response: The answer, with any status.
    ///   - request: The request as it was sent, with the field that was applied.
    ///   - body: The body of the answer, if the caller has all of it; used where the server signs it.
    ///   - proxy: The proxy that the request was sent to; nil (default) for none. With a proxy, a 407 is its answer and says nothing
    ///     of the server; without one it is the server's own, which must be proven like any other.
    ///
    /// Throws ``HTTPAuthError/Code/serverNotAuthentic`` if the server had to prove that it knows the secret and did not:
    /// the answer comes from somebody else. The object is no longer valid then.
    public func update(
        with response: HTTPResponse, to request: HTTPRequest, body: AuthenticationBody = .unknown,
        through proxy: ProtectionSpace? = nil
    ) throws(HTTPAuthError) -> AuthenticationVerdict {
        let sent = request.fields.first { $0.name == fieldName }?.rawValue
        if ProtectionSpace.Role(asking: response.status) == place.role {
            let found = parser.parse(response)
            return withMachine { $0.receive(found, answering: sent) }
        }
        // A proxy's 407 to a request that was for an origin: the origin has not seen it.
        let isProxys = proxy != nil && ProtectionSpace.Role(asking: response.status) == .proxy
        guard let sent, !isProxys else { return .accepted }
        let isOrigin = place.role == .origin
        let challenges = parser.parse(response.fields, isOrigin ? .wwwAuthenticate : .proxyAuthenticate).challenges
        let scheme = AuthGrammar.text(sent.prefix { !AuthGrammar.isSpace($0) })
        var info: [Challenge.Parameter] = []
        for field in response.fields
        where field.name == (isOrigin ? .authenticationInfo : .proxyAuthenticationInfo) {
            info += try parser.parseParameters(field.rawValue)
        }
        let acceptance = Acceptance(
            status: response.status, sent: sent, challenge: challenges.first { $0.is(scheme) }, info: info, body: body)
        try state.withLock { state throws(HTTPAuthError) in try state.machine.finish(acceptance) }
        return .accepted
    }

    /// Why a credential must not be used with the scheme at hand without asking the user; nil if it may be.
    ///
    /// The error is ``HTTPAuthError/Code/weakerScheme``, and names both forms. Without a credential, whether the place has
    /// offered a stronger form to any user. See ``AuthenticationMemory``.
    public func objection(to credential: Credential?) -> HTTPAuthError? {
        withMachine { $0.objection(to: credential) }
    }

    /// Records that the user has agreed to use a credential with the scheme at hand, knowing which scheme that is.
    public func approve(_ credential: Credential) {
        withMachine { $0.approve(credential) }
    }

    /// Says that the connection is gone, or that the next request goes over another one. Schemes that authenticate the
    /// connection begin anew.
    public func disconnected() {
        withMachine { $0.disconnected() }
    }

    /// Puts a credential on a request.
    ///
    /// - Parameters:
    ///   - request: The request. Its field `Authorization` or `Proxy-Authorization` is replaced.
    ///   - credential: A credential made for ``space``; nil where ``requiresUserNameAndPassword`` is false.
    ///   - body: The body that will be sent; nil stands for the request's own.
    ///   - channelBinding: What identifies the TLS connection.
    ///   - proxy: The proxy that the request is sent to, as for ``appliesTo(_:through:)``.
    ///
    /// Throws ``HTTPAuthError``; the request stays as it was. A credential that was used in a stronger form before is
    /// refused with ``HTTPAuthError/Code/weakerScheme`` unless it was approved (``approve(_:)``). If the chosen scheme cannot start, the next one is taken;
    /// if that needs a credential and has none, or has one for another realm, the error is
    /// ``HTTPAuthError/Code/missingUserName`` or ``HTTPAuthError/Code/wrongProtectionSpace``, the object stays valid, and
    /// ``space`` is the one to ask for.
    ///
    /// Waits up to ``workLimit`` where the scheme has to ask a third party. Replaces `CFHTTPMessageApplyCredentialDictionary`.
    @available(*, noasync, message: "it may block the thread: use await")
    public func apply(
        to request: inout HTTPRequest, _ credential: Credential?, body: AuthenticationBody? = nil,
        channelBinding: ChannelBinding? = nil, through proxy: ProtectionSpace? = nil
    ) throws(HTTPAuthError) {
        try applyBlocking(to: &request, body, channelBinding, proxy) { _ in credential }
    }

    /// Puts a credential on a request, as the blocking call of this name does. Cancelling the task ends the wait.
    public func apply(
        to request: inout HTTPRequest, _ credential: Credential?, body: AuthenticationBody? = nil,
        channelBinding: ChannelBinding? = nil, through proxy: ProtectionSpace? = nil
    ) async throws(HTTPAuthError) {
        try await applyAsync(to: &request, body, channelBinding, proxy) { _ in credential }
    }

    /// Puts a user name and a password on a request, for whatever realm asks. For NTLM, `DOMAIN\user` is split.
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

    /// Puts a user name and a password on a request, as the blocking call of this name does.
    public func apply(
        to request: inout HTTPRequest, user: String, password: String, accountDomain: String? = nil,
        body: AuthenticationBody? = nil, channelBinding: ChannelBinding? = nil, through proxy: ProtectionSpace? = nil
    ) async throws(HTTPAuthError) {
        let login = Login(user, password, accountDomain)
        try await applyAsync(to: &request, body, channelBinding, proxy) { login.credential(for: $0, self) }
    }
}

extension HTTPAuthentication {
    /// Makes the object refuse from now on.
    func invalidate(_ error: HTTPAuthError) {
        withMachine { $0.invalidate(error) }
    }

    private func applyBlocking(
        to request: inout HTTPRequest, _ body: AuthenticationBody?, _ binding: ChannelBinding?,
        _ proxy: ProtectionSpace?, _ credential: (ProtectionSpace) -> Credential?
    ) throws(HTTPAuthError) {
        var step = try begin(request, body, binding, proxy, credential)
        while case .work(let work) = step {
            let outcome = WorkThreads.shared.wait(for: work, limit: workLimit)
            if let next = try end(outcome) {
                step = next
            } else {
                step = try begin(request, body, binding, proxy, credential)
            }
        }
        put(step, on: &request)
    }

    private func applyAsync(
        to request: inout HTTPRequest, _ body: AuthenticationBody?, _ binding: ChannelBinding?,
        _ proxy: ProtectionSpace?, _ credential: (ProtectionSpace) -> Credential?
    ) async throws(HTTPAuthError) {
        var step = try begin(request, body, binding, proxy, credential)
        while case .work(let work) = step {
            let outcome = await WorkThreads.shared.outcome(of: work, limit: workLimit)
            if let next = try end(outcome) {
                step = next
            } else {
                step = try begin(request, body, binding, proxy, credential)
            }
        }
        put(step, on: &request)
    }

    private func begin(
        _ request: HTTPRequest, _ body: AuthenticationBody?, _ binding: ChannelBinding?, _ proxy: ProtectionSpace?,
        _ credential: (ProtectionSpace) -> Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep {
        guard place.mayReceive(request, through: proxy) else {
            throw HTTPAuthError(.requestOutsideSpace, detail: "expected \(place)")
        }
        let time = Surroundings.time
        while true {
            let space = space
            let credential = credential(space)
            let random = try Surroundings.random(32)
            let input = AuthenticationInput(
                method: request.method, target: request.target, body: body ?? .bytes(request.body ?? []), space: space,
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
                // The scheme could not start, and the next one has another realm: a user name and a password, which the
                // caller gave for whatever asks, go there as well.
                guard error.code == .wrongProtectionSpace, self.space != space, credential?.space == space else {
                    throw error
                }
            }
        }
    }

    private func end(_ outcome: WorkThreads.Outcome) throws(HTTPAuthError) -> AuthenticationStep? {
        try state.withLock { (state: inout State) throws(HTTPAuthError) -> AuthenticationStep? in
            state.isWorking = false
            let step = try state.machine.resume(with: outcome)
            if case .work = step { state.isWorking = true }
            return step
        }
    }

    private func put(_ step: AuthenticationStep, on request: inout HTTPRequest) {
        switch step {
        case .send(let value):
            // A scheme's value is base 64, or text in quotes that was checked for control characters.
            do { try request.fields.set(rawValue: value, for: fieldName) } catch { request.fields.remove(fieldName) }
        case .nothing, .work: request.fields.remove(fieldName)
        }
    }
}
