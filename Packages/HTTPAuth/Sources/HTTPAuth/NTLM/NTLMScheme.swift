/// The options of NTLM. The defaults work unless the domain restricts accounts to certain workstations, or knows the
/// service by another name than `HTTP/` and its host.
///
/// ```swift
/// policy.methods = [.ntlm(NTLMOptions(workstation: "PC-17"))]
/// ```
public struct NTLMOptions: Hashable, Sendable {
    /// The name of this machine, as sent to the server; empty by default. Some domains restrict an account to a list of
    /// workstations.
    public var workstation: String

    /// The name of the service to log in to (its SPN), which the server may check; nil means `HTTP/` followed by the
    /// URL's host.
    public var serviceName: String?

    /// Creates options.
    public init(workstation: String = "", serviceName: String? = nil) {
        self.workstation = workstation
        self.serviceName = serviceName
    }
}

extension AuthenticationMethod {
    /// NTLM version 2, with an integrity code, channel binding over TLS, and the name of the target service.
    ///
    /// NTLMv1 responses, LM responses and anonymous logins are never sent. The password may be an NT hash; see
    /// ``Credential/Proof/ntHash(hexadecimal:)``.
    ///
    /// Replaces `kCFHTTPAuthenticationSchemeNTLM`.
    public static let ntlm = AuthenticationMethod.ntlm(NTLMOptions())

    /// Returns NTLM with custom options.
    public static func ntlm(_ options: NTLMOptions) -> AuthenticationMethod {
        AuthenticationMethod("NTLM") { space in
            NTLMScheme(space, options)
        } form: { _, peer in
            AuthenticationForm(peer.isEncrypted ? .negotiate : .ntlm)
        }
    }
}

/// NTLM over HTTP (MS-NTHT): three messages in two rounds, which authenticate the connection rather than the request.
struct NTLMScheme: AuthenticationScheme {
    private enum State {
        /// No message was sent on this connection.
        case idle
        /// The first message was sent.
        case negotiating(NTLMMachine)
        /// The server's challenge was received.
        case challenged(NTLMMachine, [UInt8])
        /// The third message was sent.
        case answered
        /// The connection is authenticated.
        case authenticated
    }

    private let space: ProtectionSpace
    private let options: NTLMOptions
    private var state = State.idle

    init(_ space: ProtectionSpace, _ options: NTLMOptions) {
        self.space = space
        self.options = options
    }

    var traits: SchemeTraits {
        var traits = SchemeTraits(isConnectionBound: true, requiresOrderedRequests: true, requiresAccountDomain: true)
        if case .negotiating = state { traits.expectsAnotherChallenge = true }
        return traits
    }

    var realm: String? { nil }

    mutating func receive(
        _ challenge: Challenge, answering sent: [UInt8]?
    ) throws(HTTPAuthError) -> ChallengeVerdict {
        let before = state
        state = .idle
        guard sent != nil else { return .fresh }
        let token = try TokenField.token(of: challenge)
        switch (before, token) {
        case (.negotiating(let machine), let token?):
            state = .challenged(machine, token)
            return .continues
        case (.negotiating, nil):
            throw .ntlmUnsupported("the server sent no challenge after the first message")
        case (.answered, nil):
            return .refused
        case (.idle, _), (.challenged, _), (.answered, _?), (.authenticated, _):
            throw .ntlmOutOfOrder
        }
    }

    mutating func respond(
        to input: AuthenticationInput, with credential: Credential?
    ) throws(HTTPAuthError) -> AuthenticationStep {
        switch state {
        case .idle:
            guard let credential else { throw HTTPAuthError(.missingUserName, scheme: "NTLM") }
            var machine = try NTLMMachine(
                credential, options, host: space.host, channelBinding: input.channelBinding?.applicationData)
            let token = machine.start()
            state = .negotiating(machine)
            return .send(TokenField.value("NTLM", token))
        case .challenged(var machine, let token):
            state = .idle
            var random = Array(input.random.prefix(NTLMMachine.randomByteCount))
            defer { random.wipe() }
            let answer = try machine.answer(token, time: FileTime.of(unixNanoseconds: input.time), random: random)
            state = .answered
            return .send(TokenField.value("NTLM", answer))
        case .authenticated:
            return .nothing
        case .negotiating, .answered:
            throw .ntlmOutOfOrder
        }
    }

    mutating func finish(_ acceptance: Acceptance) throws(HTTPAuthError) {
        // Whatever the status, the server processed the request without another challenge.
        if case .answered = state { state = .authenticated }
    }

    mutating func disconnected() {
        state = .idle
    }
}
