/// The client's side of SPNEGO, RFC 4178: finds the mechanism that both sides can, and carries its tokens.
///
/// Theory. The client lists its mechanisms, best first, and sends the first one's token along in the hope that the server
/// takes it. If the server takes another one, somebody in between may have shortened the list to get there: then both
/// sides must sign it (`mechListMIC`, section 5), with keys that the mechanism has just made. A signature that came is
/// checked even if none was needed.
struct SPNEGOMachine {
    private enum State {
        case idle
        /// Our opening is on its way.
        case opened
        /// The server chose; tokens go to and fro.
        case chosen
        case complete
        case failed
    }

    /// More rounds than any mechanism has.
    static let mostRounds = 10

    private var mechanisms: [any SecurityMechanism]
    private var selected: any SecurityMechanism
    private var state = State.idle
    private var rounds = 0
    private var mustSign = false
    private var hasSigned = false
    private var hasChecked = false

    /// Prepares a negotiation over these mechanisms, at least one, the best first.
    init(_ mechanisms: [any SecurityMechanism]) {
        precondition(!mechanisms.isEmpty)
        self.mechanisms = mechanisms
        selected = mechanisms[0]
    }

    private var list: [UInt8] { SPNEGOInitialToken.signedList(mechanisms.map(\.identifier)) }

    /// Whether this side needs no further token.
    var isComplete: Bool { if case .complete = state { true } else { false } }

    /// Whether the mechanism has proven the server.
    var isServerProven: Bool { selected.isServerProven }

    /// The mechanism in use.
    var mechanism: MechanismIdentifier { selected.identifier }

    /// The first token. A mechanism that cannot begin is left out, and the next one is the best.
    ///
    /// - Throws: What the best one threw, if none can begin.
    mutating func start() throws(HTTPAuthError) -> [UInt8] {
        guard case .idle = state else { throw .negotiate(.outOfOrder) }
        state = .failed
        var first: HTTPAuthError?
        while let mechanism = mechanisms.first {
            do throws(HTTPAuthError) {
                let token = try mechanism.step(nil)
                selected = mechanism
                state = .opened
                return SPNEGOInitialToken(mechanisms: mechanisms.map(\.identifier), token: token).bytes
            } catch {
                first = first ?? error
                mechanisms.removeFirst()
            }
        }
        throw first ?? .negotiate(.noUsableScheme)
    }

    /// Takes the server's token and gives the next one; nil if the server needs none.
    mutating func receive(_ bytes: [UInt8]) throws(HTTPAuthError) -> [UInt8]? {
        let before = state
        state = .failed
        rounds += 1
        guard rounds <= SPNEGOMachine.mostRounds else { throw .negotiate(.tooManyRounds) }
        guard case .reply(let reply) = try SPNEGOToken(bytes) else {
            throw .spnego("an initial token instead of a reply")
        }
        switch before {
        case .idle, .complete, .failed: throw .negotiate(.outOfOrder)
        case .opened: try select(reply)
        case .chosen:
            if let mechanism = reply.mechanism, !mechanism.means(selected.identifier) {
                throw .spnego("the server changed the mechanism")
            }
        }
        if reply.state == .reject { throw rejection(reply) }
        if reply.state == .requestSignature { mustSign = true }
        let token = try exchange(reply)
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

    /// Section 4.2.2: the first reply names the mechanism. A server that names none takes the first.
    private mutating func select(_ reply: SPNEGOReplyToken) throws(HTTPAuthError) {
        guard let mechanism = reply.mechanism else { return }
        guard let choice = mechanisms.first(where: { $0.identifier.means(mechanism) }) else {
            if reply.state == .reject { return }
            throw .negotiate(.exchangeRefused, "the server chose \(mechanism), which was not offered")
        }
        if choice !== selected {
            selected = choice
            mustSign = true
            guard reply.token == nil else { throw .spnego("a token for a mechanism that has not started") }
        }
    }

    /// One step of the mechanism, if it is not done.
    private func exchange(_ reply: SPNEGOReplyToken) throws(HTTPAuthError) -> [UInt8]? {
        if selected.isComplete {
            guard reply.token == nil else { throw .spnego("a token for a mechanism that has finished") }
            return nil
        }
        // A server that is done and proves nothing: whether that will do is for who asked for proof to say.
        if reply.token == nil && reply.state == .acceptCompleted { return nil }
        return try selected.step(reply.token)
    }

    private mutating func checkSignature(_ reply: SPNEGOReplyToken) throws(HTTPAuthError) {
        guard let signature = reply.signature else { return }
        guard selected.isComplete else { throw .spnego("a signature before the mechanism finished") }
        try selected.check(signature, of: list)
        hasChecked = true
    }

    /// A mechanism's token in a refusal tells the reason: the clock, the ticket, the key.
    private func rejection(_ reply: SPNEGOReplyToken) -> HTTPAuthError {
        guard let token = reply.token, !selected.isComplete else { return .negotiate(.exchangeRefused) }
        do throws(HTTPAuthError) {
            _ = try selected.step(token)
            return .negotiate(.exchangeRefused)
        } catch {
            let saysWhy = error.code != .mechanismFailed && error.code != .malformedToken
            return saysWhy ? error : .negotiate(.exchangeRefused, error.detail)
        }
    }
}
