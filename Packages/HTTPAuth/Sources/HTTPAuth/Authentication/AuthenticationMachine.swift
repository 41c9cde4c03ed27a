/// Chooses a scheme among those that a server offers, and falls back to the next one if a scheme cannot start.
///
/// The machine does no I/O: responses, the time and random bytes go in; a verdict or a step comes out.
/// ``HTTPAuthentication`` drives it.
struct AuthenticationMachine {
    /// The server or proxy, without a realm.
    let peer: ProtectionSpace
    let policy: AuthenticationPolicy
    /// The forms of earlier offers and logins. A credential is not used in a weaker form.
    let memory: AuthenticationMemory

    /// The reason why authentication cannot continue; nil if it can.
    private(set) var error: HTTPAuthError?

    /// The offers of the most recent challenges, in order.
    private var offers: [Offer] = []
    private var parseErrors: [HTTPAuthError] = []
    /// Indices of offers to try if the current one fails, best first.
    private var untried: [Int] = []
    private var current: Conversation?
    /// Schemes that failed and are not tried again.
    private var failed: [AuthenticationMethod: HTTPAuthError] = [:]
    /// The number of rounds since the last acceptance: challenges in response to the field value that was newest then.
    /// Concurrent requests share this machine, so a challenge in response to an older value is not counted: it does not
    /// show that the server keeps asking.
    private var rounds = 0
    /// The newest field value.
    private var lastSent: [UInt8]?
    /// The strongest form that was sent. This conversation never becomes weaker, even if the memory has dropped the
    /// server's record.
    private var strongestSent: AuthenticationForm?
    /// Whether the first challenges were received; only later ones can be a downgrade.
    private var hasBegun = false

    private struct Offer {
        let challenge: Challenge
        var outcome: AuthenticationExplanation.Outcome
        var method: AuthenticationMethod?
    }

    private struct Conversation {
        let method: AuthenticationMethod
        let offer: Int
        var form: AuthenticationForm
        var scheme: any AuthenticationScheme
        /// The login of the most recent credential.
        var login: LoginIdentity?
        /// Whether a value of this conversation was sent. Then no other scheme can take its place.
        var hasSent = false
    }

    init(peer: ProtectionSpace, policy: AuthenticationPolicy, memory: AuthenticationMemory) {
        self.peer = peer.with(realm: nil)
        self.policy = policy
        self.memory = memory
    }

    var method: AuthenticationMethod? { current?.method }

    var scheme: (any AuthenticationScheme)? { current?.scheme }

    /// The protection space that credentials must belong to.
    var space: ProtectionSpace { peer.with(realm: realm) }

    /// The realm of the conversation; without a conversation, the first realm in the challenges.
    var realm: String? {
        if let current { return current.scheme.realm }
        return offers.lazy.compactMap { $0.challenge["realm"] }.first
    }

    var explanation: AuthenticationExplanation {
        AuthenticationExplanation(
            entries: offers.map {
                .init(scheme: $0.challenge.scheme, realm: $0.challenge["realm"], outcome: $0.outcome)
            },
            errors: parseErrors)
    }

    // MARK: Challenges

    /// Processes the challenges of a 401 or 407. `sent` is the field value of the request that was challenged.
    mutating func receive(_ found: ChallengeParser.Result, answering sent: [UInt8]?) -> AuthenticationVerdict {
        defer { hasBegun = true }
        let verdict = evaluate(found, answering: sent)
        guard verdict == .apply, let sent, sent == lastSent else { return verdict }
        rounds += 1
        guard rounds > policy.limits.roundCount else { return verdict }
        return fail(HTTPAuthError(.tooManyRounds, scheme: current?.method.name))
    }

    private mutating func evaluate(_ found: ChallengeParser.Result, answering sent: [UInt8]?) -> AuthenticationVerdict {
        guard let method = current?.method else {
            if sent == nil { failed = [:] }
            return choose(found)
        }
        let isOurCredential = sent.map { $0.isCredential(of: method) } ?? false
        let same = found.challenges.filter { $0.is(method.name) }
        let candidates = same.filter(isOfCurrentRealm)
        let best = candidates.map(method.rank).max()
        guard let challenge = candidates.first(where: { method.rank($0) == best }) else {
            if !same.isEmpty { return .otherRealm }
            // The server no longer offers the scheme, so a scheme is chosen from its new offers. The old one has failed
            // only if the challenged request carried our credential.
            failed[method] = isOurCredential ? HTTPAuthError(.credentialRefused, scheme: method.name) : nil
            return choose(found)
        }
        return advance(with: challenge, found, answering: isOurCredential ? sent : nil)
    }

    private func isOfCurrentRealm(_ challenge: Challenge) -> Bool {
        guard let realm = current?.scheme.realm else { return true }
        return challenge["realm"] == nil || challenge["realm"] == realm
    }

    private mutating func advance(
        with challenge: Challenge, _ found: ChallengeParser.Result, answering sent: [UInt8]?
    ) -> AuthenticationVerdict {
        guard var conversation = current else { return .failed }
        let form = conversation.method.form(challenge, peer)
        let space = peer.with(realm: conversation.scheme.realm)
        if let objection = objection(to: form, of: conversation.method, in: space, for: conversation.login) {
            return fail(objection)
        }
        let verdict: ChallengeVerdict
        do throws(HTTPAuthError) {
            verdict = try conversation.scheme.receive(challenge, answering: sent)
        } catch {
            failed[conversation.method] = error
            return choose(found)
        }
        conversation.form = form
        current = conversation
        switch verdict {
        case .fresh, .continues:
            error = nil
            return .apply
        case .refused:
            let refusal = HTTPAuthError(.credentialRefused, scheme: conversation.method.name)
            // The user cannot supply another Kerberos ticket: this scheme is finished, but another one may work.
            if !conversation.scheme.traits.requiresUserNameAndPassword {
                failed[conversation.method] = HTTPAuthError(.loginRefused, scheme: conversation.method.name)
                return choose(found)
            }
            error = refusal
            if offers.indices.contains(conversation.offer) { offers[conversation.offer].outcome = .refused }
            return .refused
        }
    }

    /// Starts the first usable scheme, in the policy's order.
    ///
    /// The first challenges may be weaker than earlier offers in ``memory``, because the user can still be asked. Later
    /// challenges may not: the credential was chosen for the first offer.
    private mutating func choose(_ found: ChallengeParser.Result) -> AuthenticationVerdict {
        let login = current?.login
        current = nil
        error = nil
        parseErrors = found.errors
        offers = found.challenges.map { challenge in
            let method = policy.methods.first { challenge.is($0.name) }
            return Offer(challenge: challenge, outcome: outcome(of: method, challenge, login), method: method)
        }
        untried = policy.methods.flatMap { method -> [Int] in
            let usable = offers.indices.filter { offers[$0].method == method && offers[$0].outcome == .notNeeded }
            return usable.sorted { method.rank(offers[$0].challenge) > method.rank(offers[$1].challenge) }
        }
        if !hasBegun {
            let weaker = Set(untried.filter { objection(to: offers[$0], for: login) != nil })
            untried = untried.filter { !weaker.contains($0) } + untried.filter(weaker.contains)
        }
        return startNext() ? .apply : .failed
    }

    private func outcome(
        of method: AuthenticationMethod?, _ challenge: Challenge, _ login: LoginIdentity?
    ) -> AuthenticationExplanation.Outcome {
        guard let method else {
            if AuthenticationPolicy().methods.contains(where: { challenge.is($0.name) }) { return .notAllowed }
            return AuthenticationMethod.unsupportedNames.contains { challenge.is($0) } ? .unsupported : .unknown
        }
        if policy.banned.contains(method) { return .banned }
        if policy.encryptedOnly.contains(method), !peer.isEncrypted { return .needsEncryption }
        if let failure = failed[method] { return .skipped(failure) }
        let offer = Offer(challenge: challenge, outcome: .notNeeded, method: method)
        if hasBegun, objection(to: offer, for: login) != nil { return .weaker }
        return .notNeeded
    }

    // MARK: Forms

    /// Returns the reason why a form must not be used without asking the user; nil if it may be used.
    private func objection(
        to form: AuthenticationForm, of method: AuthenticationMethod, in space: ProtectionSpace,
        for login: LoginIdentity?
    ) -> HTTPAuthError? {
        guard !policy.mayWeakenLogins.contains(method),
            let floor = memory.floor(in: space, for: login, sent: strongestSent),
            form.isWeaker(than: floor)
        else { return nil }
        return HTTPAuthError(.weakerScheme, scheme: method.name, detail: "now: \(form); before: \(floor)")
    }

    private func objection(to offer: Offer, for login: LoginIdentity?) -> HTTPAuthError? {
        guard let method = offer.method else { return nil }
        let space = peer.with(realm: offer.challenge["realm"])
        return objection(to: method.form(offer.challenge, peer), of: method, in: space, for: login)
    }

    /// Returns the reason why a credential must not be used with the current scheme without asking the user; nil if it
    /// may be used.
    func objection(to credential: Credential?) -> HTTPAuthError? {
        guard let current else { return nil }
        return objection(
            to: current.form, of: current.method, in: space, for: credential.map(LoginIdentity.init)
        ).map(withReasons)
    }

    /// Records that the user agreed to use a credential with the current scheme.
    func approve(_ credential: Credential) {
        guard let current else { return }
        memory.recordApproval(current.form, in: space, for: LoginIdentity(credential))
    }

    // MARK: Beginning

    /// Starts a conversation with the next usable offer. Returns false, and sets ``error``, if there is none.
    private mutating func startNext() -> Bool {
        while !untried.isEmpty {
            let index = untried.removeFirst()
            guard let method = offers[index].method else { continue }
            do throws(HTTPAuthError) {
                var scheme = try method.conversation(in: peer, limits: policy.limits)
                _ = try scheme.receive(offers[index].challenge, answering: nil)
                let form = method.form(offers[index].challenge, peer)
                current = Conversation(method: method, offer: index, form: form, scheme: scheme)
                // A scheme without a password (Kerberos) may turn out to be unusable on this machine, so it is recorded
                // only when it is used.
                if scheme.traits.requiresUserNameAndPassword { memory.recordOffer(form, in: space) }
                offers[index].outcome = .chosen
                error = nil
                return true
            } catch {
                offers[index].outcome = .skipped(error)
            }
        }
        current = nil
        error = finalError
        return false
    }

    /// The most informative reason why no scheme is usable.
    private var finalError: HTTPAuthError {
        let reasons = offers.compactMap { offer -> HTTPAuthError? in
            if case .skipped(let reason) = offer.outcome { reason } else { nil }
        }
        if let weaker = offers.first(where: { $0.outcome == .weaker }) {
            return withReasons(
                objection(to: weaker, for: nil) ?? HTTPAuthError(.weakerScheme, scheme: weaker.challenge.scheme))
        }
        if offers.isEmpty { return parseErrors.first ?? HTTPAuthError(.noChallenge) }
        if reasons.count == 1 { return reasons[0] }
        let names = offers.map(\.challenge.scheme).joined(separator: ", ")
        return withReasons(HTTPAuthError(.noUsableScheme, detail: "offered: \(names)"))
    }

    /// Adds to an error why the schemes before the current one could not be used. Without that, an error of the scheme that takes the place
    /// of a stronger one would hide what prevented that one: "a user name is required", although only a ticket is missing.
    private func withReasons(_ error: HTTPAuthError) -> HTTPAuthError {
        let reasons = offers.compactMap { offer -> String? in
            if case .skipped(let reason) = offer.outcome { reason.description } else { nil }
        }
        guard !reasons.isEmpty else { return error }
        var error = error
        error.detail = ([error.detail].compactMap { $0 } + reasons).joined(separator: "; ")
        return error
    }

    private mutating func fail(_ error: HTTPAuthError) -> AuthenticationVerdict {
        self.error = error
        return .failed
    }

    // MARK: Steps

    /// Returns the step for the next request: a field value, no field, or blocking work. If the scheme cannot start,
    /// the next one is started, which can change ``space``.
    mutating func respond(
        to input: AuthenticationInput, with credential: Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep {
        if let error { throw error }
        while var conversation = current {
            try check(credential, conversation.scheme)
            conversation.login = credential.map(LoginIdentity.init)
            var input = input
            input.space = self.space
            do throws(HTTPAuthError) {
                let step = try conversation.scheme.respond(to: input, with: credential)
                return record(step, conversation)
            } catch {
                try fallBack(from: conversation, error)
            }
        }
        throw error ?? HTTPAuthError(.outOfOrder, detail: "no challenge was received")
    }

    /// Continues after blocking work. Returns nil if the scheme failed and another one was started; call
    /// ``respond(to:with:)`` again.
    mutating func resume(
        with outcome: Result<BlockingWork.Output, HTTPAuthError>
    ) throws(HTTPAuthError) -> AuthenticationStep? {
        guard var conversation = current else { throw error ?? HTTPAuthError(.outOfOrder) }
        do throws(HTTPAuthError) {
            let step = try conversation.scheme.resume(with: outcome.get())
            return record(step, conversation)
        } catch {
            try fallBack(from: conversation, error)
            return nil
        }
    }

    private mutating func record(_ step: AuthenticationStep, _ conversation: Conversation) -> AuthenticationStep {
        var conversation = conversation
        switch step {
        case .send(let value):
            conversation.hasSent = true
            lastSent = value
            strongestSent = conversation.form.joined(with: strongestSent)
            memory.recordUse(
                conversation.form, in: peer.with(realm: conversation.scheme.realm), by: conversation.login)
        case .nothing, .work: break
        }
        current = conversation
        return step
    }

    /// Starts the next scheme if the failure allows it; otherwise throws.
    private mutating func fallBack(
        from conversation: Conversation, _ failure: HTTPAuthError
    ) throws(HTTPAuthError) {
        guard failure.code.allowsNextScheme, !conversation.hasSent else { throw failure }
        failed[conversation.method] = failure
        if offers.indices.contains(conversation.offer) { offers[conversation.offer].outcome = .skipped(failure) }
        untried.removeAll { offers[$0].method == conversation.method && failure.code == .unavailable }
        guard startNext() else { throw error ?? failure }
    }

    private func check(
        _ credential: Credential?, _ scheme: any AuthenticationScheme
    ) throws(HTTPAuthError) {
        guard let credential else {
            if scheme.traits.requiresUserNameAndPassword {
                throw withReasons(HTTPAuthError(.missingUserName, scheme: current?.method.name))
            }
            return
        }
        guard credential.space == self.space else {
            throw withReasons(
                HTTPAuthError(
                    .wrongProtectionSpace, scheme: current?.method.name,
                    detail: "for \(credential.space), needed for \(self.space)"))
        }
        if let objection = objection(to: credential) { throw objection }
    }

    /// Processes a final response to a request that carried `sent`.
    mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError) {
        guard let method = current?.method, acceptance.sent.isCredential(of: method) else { return }
        rounds = 0
        do throws(HTTPAuthError) {
            try current?.scheme.finish(acceptance)
        } catch {
            self.error = error
            throw error
        }
    }

    mutating func disconnected() {
        current?.scheme.disconnected()
        current?.hasSent = false
    }

    /// Makes all further calls fail with an error.
    mutating func invalidate(_ error: HTTPAuthError) {
        self.error = error
    }
}

extension [UInt8] {
    /// Returns whether a field value belongs to the method's scheme.
    fileprivate func isCredential(of method: AuthenticationMethod) -> Bool {
        AuthGrammar.equalsIgnoringCase(prefix { !AuthGrammar.isSpace($0) }, method.name.utf8)
    }
}
