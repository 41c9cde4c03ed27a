/// The client side of SPNEGO (RFC 4178): negotiates a mechanism and carries its tokens.
///
/// The client lists its mechanisms in order of preference and sends a token of the first one, expecting the server to
/// accept it. If the server chooses another mechanism, an attacker may have shortened the list. Both sides must then
/// sign it (`mechListMIC`, section 5) with keys of the chosen mechanism. A signature is checked even if it was not
/// required.
struct SPNEGOMachine {
    private enum State {
        case idle
        /// The initial token was sent.
        case initialSent
        /// The server chose a mechanism; tokens are exchanged.
        case chosen
        case complete
        case failed
    }

    /// The maximum number of rounds; no mechanism needs as many.
    static let maximumRounds = 10

    private var mechanisms: [any SecurityMechanism]
    private var selected: any SecurityMechanism
    private var state = State.idle
    private var rounds = 0
    private var mustSign = false
    private var hasSigned = false
    private var hasChecked = false

    /// Creates a negotiation over at least one mechanism, in order of preference.
    init(_ mechanisms: [any SecurityMechanism]) {
        precondition(!mechanisms.isEmpty)
        self.mechanisms = mechanisms
        selected = mechanisms[0]
    }

    private var list: [UInt8] { SPNEGOInitialToken.signedList(mechanisms.map(\.identifier)) }

    /// Whether this side needs no further token.
    var isComplete: Bool { if case .complete = state { true } else { false } }

    /// Whether the mechanism has verified the server.
    var isServerProven: Bool { selected.isServerProven }

    /// The mechanism in use.
    var mechanism: MechanismIdentifier { selected.identifier }

    /// Returns the first token. Mechanisms that cannot start are removed from the list.
    ///
    /// - Throws: The error of the preferred mechanism, if none can start.
    mutating func start() throws(HTTPAuthError) -> [UInt8] {
        guard case .idle = state else { throw .negotiate(.outOfOrder) }
        state = .failed
        var first: HTTPAuthError?
        while let mechanism = mechanisms.first {
            do throws(HTTPAuthError) {
                let token = try mechanism.step(nil)
                selected = mechanism
                state = .initialSent
                return SPNEGOInitialToken(mechanisms: mechanisms.map(\.identifier), token: token).bytes
            } catch {
                first = first ?? error
                mechanisms.removeFirst()
            }
        }
        throw first ?? .negotiate(.noUsableScheme)
    }

    /// Processes the server's token and returns the next one; nil if the server needs none.
    mutating func receive(_ bytes: [UInt8]) throws(HTTPAuthError) -> [UInt8]? {
        let before = state
        state = .failed
        rounds += 1
        guard rounds <= SPNEGOMachine.maximumRounds else { throw .negotiate(.tooManyRounds) }
        guard case .reply(let reply) = try SPNEGOToken(bytes) else {
            throw .spnego("an initial token instead of a reply")
        }
        switch before {
        case .idle, .complete, .failed: throw .negotiate(.outOfOrder)
        case .initialSent: try select(reply)
        case .chosen:
            if let mechanism = reply.mechanism, !mechanism.isEquivalent(to: selected.identifier) {
                throw .spnego("the server changed the mechanism")
            }
        }
        if reply.state == .reject { throw rejection(reply) }
        if reply.state == .requestSignature { mustSign = true }
        let token = try step(reply)
        try checkSignature(reply)
        var signature: [UInt8]?
        if selected.isComplete, !hasSigned, mustSign || selected.alwaysSigns || hasChecked,
            reply.state != .acceptCompleted
        {
            signature = try selected.signature(of: list)
            hasSigned = true
        }
        if reply.state == .acceptCompleted {
            guard token == nil else { throw .spnego("the server finished before the mechanism did") }
            guard hasChecked || !mustSign else {
                throw .negotiate(.serverNotAuthentic, "the mechanism list is not signed")
            }
            state = .complete
            return nil
        }
        state = .chosen
        guard token != nil || signature != nil else {
            throw .spnego("the server expects a token, and the mechanism has none")
        }
        return SPNEGOReplyToken(state: .acceptIncomplete, token: token, signature: signature).bytes
    }

    /// Section 4.2.2: the first reply names the mechanism. A server that names none chose the first.
    private mutating func select(_ reply: SPNEGOReplyToken) throws(HTTPAuthError) {
        guard let mechanism = reply.mechanism else { return }
        guard let choice = mechanisms.first(where: { $0.identifier.isEquivalent(to: mechanism) }) else {
            if reply.state == .reject { return }
            throw .negotiate(.loginRefused, "the server chose \(mechanism), which was not offered")
        }
        if choice !== selected {
            selected = choice
            mustSign = true
            guard reply.token == nil else { throw .spnego("a token for a mechanism that has not started") }
        }
    }

    /// Performs a step of the mechanism, unless it is complete.
    private func step(_ reply: SPNEGOReplyToken) throws(HTTPAuthError) -> [UInt8]? {
        if selected.isComplete {
            guard reply.token == nil else { throw .spnego("a token for a mechanism that has finished") }
            return nil
        }
        // The server finished without a proof. The caller decides whether that is acceptable.
        if reply.token == nil && reply.state == .acceptCompleted { return nil }
        return try selected.step(reply.token)
    }

    private mutating func checkSignature(_ reply: SPNEGOReplyToken) throws(HTTPAuthError) {
        guard let signature = reply.signature else { return }
        guard selected.isComplete else { throw .spnego("a signature before the mechanism finished") }
        try selected.check(signature, of: list)
        hasChecked = true
    }

    /// Returns the error for a rejection. A mechanism token in it gives the reason: the clock, the ticket, the key.
    private func rejection(_ reply: SPNEGOReplyToken) -> HTTPAuthError {
        guard let token = reply.token, !selected.isComplete else { return .negotiate(.loginRefused) }
        do throws(HTTPAuthError) {
            _ = try selected.step(token)
            return .negotiate(.loginRefused)
        } catch {
            let saysWhy = error.code != .mechanismFailed && error.code != .malformedToken
            return saysWhy ? error : .negotiate(.loginRefused, error.detail)
        }
    }
}
