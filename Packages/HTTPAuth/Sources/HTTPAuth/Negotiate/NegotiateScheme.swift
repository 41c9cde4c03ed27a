internal import EventLoops

/// Negotiate (RFC 4559): SPNEGO over HTTP with Kerberos and, if allowed, NTLM.
///
/// Some servers authenticate the connection (Windows, NTLM), others each request (Apache by default), and none
/// announces which. Nothing is sent on an authenticated connection at first. If the server asks again, it authenticates
/// requests, and every later request carries a token.
struct NegotiateScheme: AuthenticationScheme {
    private enum State {
        case idle
        /// A step is running on another thread.
        case working(NegotiateLogin)
        /// A token was sent.
        case sent(NegotiateLogin)
        /// The server's token was received.
        case challenged(NegotiateLogin, [UInt8])
        case authenticated
    }

    private let space: ProtectionSpace
    private let options: NegotiateOptions
    private var state = State.idle
    private var authenticatesEachRequest = false

    init(_ space: ProtectionSpace, _ options: NegotiateOptions) {
        self.space = space
        self.options = options
    }

    var traits: SchemeTraits {
        SchemeTraits(
            isConnectionBound: true, requiresOrderedRequests: true,
            requiresUserNameAndPassword: options.allowsNTLM || options.identity.source == .password,
            requiresAccountDomain: options.allowsNTLM)
    }

    var realm: String? { nil }

    mutating func receive(
        _ challenge: Challenge, answering sent: [UInt8]?
    ) throws(HTTPAuthError) -> ChallengeVerdict {
        let before = state
        state = .idle
        guard sent != nil else {
            if case .authenticated = before { authenticatesEachRequest = true }
            return .fresh
        }
        let token = try TokenField.token(of: challenge)
        switch (before, token) {
        case (.sent, nil):
            return .refused
        case (.sent(let login), let token?):
            if case .reply(let reply) = try SPNEGOToken(token), reply.state == .reject, reply.token == nil {
                return .refused
            }
            state = .challenged(login, token)
            return .continues
        case (.authenticated, nil):
            // The server dropped the login; the token it had accepted did not belong to this request.
            return .fresh
        case (.idle, _), (.working, _), (.challenged, _), (.authenticated, _?):
            throw .negotiate(.outOfOrder)
        }
    }

    mutating func respond(
        to input: AuthenticationInput, with credential: Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep {
        switch state {
        case .authenticated where !authenticatesEachRequest:
            return .nothing
        case .idle, .authenticated:
            guard isAllowed(input) else {
                throw HTTPAuthError(.hostNotAllowed, scheme: "Negotiate", detail: space.host)
            }
            let login = NegotiateLogin(try mechanisms(for: input, credential))
            state = .working(login)
            return .work(BlockingWork { NegotiateScheme.outcome { () throws(HTTPAuthError) in try login.start() } })
        case .challenged(let login, let token):
            state = .working(login)
            return .work(
                BlockingWork { NegotiateScheme.outcome { () throws(HTTPAuthError) in try login.receive(token) } })
        case .working, .sent:
            throw .negotiate(.outOfOrder)
        }
    }

    mutating func resume(with output: BlockingWork.Output) throws(HTTPAuthError) -> AuthenticationStep {
        guard case .working(let login) = state else { throw .negotiate(.outOfOrder) }
        state = .idle
        guard !output.bytes.isEmpty else {
            throw .negotiate(.loginRefused, "the server accepted the login, then asked again")
        }
        state = .sent(login)
        return .send(TokenField.value("Negotiate", output.bytes))
    }

    mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError) {
        guard case .sent(let login) = state else { return }
        state = .idle
        // Without a requested proof there is nothing to check, unless the choice between two mechanisms depends on it.
        if options.mutualAuthentication != .off || options.allowsNTLM {
            if let challenge = acceptance.challenge, let token = try TokenField.token(of: challenge) {
                do {
                    _ = try login.receive(token)
                } catch {
                    throw .negotiate(.serverNotAuthentic, error.detail ?? error.code.text)
                }
            }
        }
        if options.mutualAuthentication == .required, !login.isServerProven {
            throw .negotiate(.serverNotAuthentic, "the response carries no proof")
        }
        state = .authenticated
    }

    mutating func disconnected() {
        state = .idle
    }

    /// Returns whether the options allow a ticket for this host.
    private func isAllowed(_ input: AuthenticationInput) -> Bool {
        switch options.hosts {
        case .all: true
        case .named: input.isNamed
        case .list(let hosts): hosts.contains { ProtectionSpace.normalized(host: $0) == space.host }
        }
    }

    private func mechanisms(
        for input: AuthenticationInput, _ credential: Credential?
    ) throws(HTTPAuthError) -> sending [any SecurityMechanism] {
        let binding = input.channelBinding?.applicationData
        let parameters = KerberosMechanism.Parameters(
            host: space.host, options: options, channelBinding: binding, credential: credential)
        var mechanisms: [any SecurityMechanism] = [KerberosMechanism(parameters)]
        if options.allowsNTLM, let credential {
            let machine = try NTLMMachine(credential, options.ntlm, host: space.host, channelBinding: binding)
            mechanisms.append(
                NTLMMechanism(
                    machine, time: FileTime.of(unixNanoseconds: input.time),
                    random: Array(input.random.prefix(NTLMMachine.randomByteCount))))
        }
        return mechanisms
    }

    private static func outcome(
        _ body: () throws(HTTPAuthError) -> BlockingWork.Output
    ) -> Result<BlockingWork.Output, HTTPAuthError> {
        do {
            return .success(try body())
        } catch {
            return .failure(error)
        }
    }
}

/// One Negotiate login, shared by the copies of its scheme. Its steps run on threads that may block.
///
/// A GSSAPI context may be used by one thread at a time. The lock is held for a whole step. A scheme never has two
/// steps running, unless the previous one was abandoned at its time limit.
private final class NegotiateLogin: @unchecked Sendable {
    // Safe to share: the machine is accessed in `withLock` only, and was passed in as `sending`.
    private let machine: Locked<SPNEGOMachine>

    init(_ mechanisms: sending [any SecurityMechanism]) {
        machine = Locked(SPNEGOMachine(mechanisms))
    }

    /// Returns the first token.
    func start() throws(HTTPAuthError) -> BlockingWork.Output {
        try machine.withLock { machine throws(HTTPAuthError) in
            let token = try machine.start()
            return BlockingWork.Output(bytes: token, isComplete: false)
        }
    }

    /// Processes the server's token and returns the next one; empty if there is none.
    func receive(_ token: [UInt8]) throws(HTTPAuthError) -> BlockingWork.Output {
        try machine.withLock { machine throws(HTTPAuthError) in
            let answer = try machine.receive(token)
            return BlockingWork.Output(bytes: answer ?? [], isComplete: machine.isComplete)
        }
    }

    /// Whether the server has proven its identity.
    var isServerProven: Bool { machine.withLock { $0.isServerProven } }
}
