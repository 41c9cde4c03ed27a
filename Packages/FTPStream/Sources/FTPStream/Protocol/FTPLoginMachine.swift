/// The credentials and modes of a session.
struct FTPLogin: Sendable, Hashable {
    var user: [UInt8]
    var password: [UInt8]
    var account: [UInt8]?
    /// The user name for the login at an FTP proxy, which comes first; `user` is then `user@host`.
    var proxyUser: [UInt8]?
    var proxyPassword: [UInt8]?
    var control = FTPSecurity.Control.off
    var data = FTPSecurity.Data.off
    var clearsControl = false
    var isPassive = true
}

/// The login of a session: TLS, user name and password, features, protection of data connections (RFC 959, 2389, 4217).
///
/// It returns ``FTPMachine/Action/ready`` when the session can run jobs. No I/O.
struct FTPLoginMachine: Sendable {
    /// The command or action that the login waits for.
    private enum Step: Sendable, Hashable {
        case greeting
        case auth, startTLS
        case proxyUser, proxyPassword
        case user, password, account
        case features, utf8, facts
        case bufferSize, protection
        case clear, endTLS
    }

    let options: FTPLogin
    private var step = Step.greeting

    private(set) var features = FTPFeatures()
    /// Whether data connections are encrypted.
    private(set) var protectsData = false
    /// Whether the control connection is encrypted, or was during the login.
    private(set) var isSecure: Bool

    init(_ options: FTPLogin) {
        self.options = options
        isSecure = options.control == .implicit
    }

    /// Whether the login waits for the greeting, before which a server may send preliminary replies.
    var awaitsGreeting: Bool { step == .greeting }

    /// Whether the greeting is outstanding on a connection on which TLS was begun only because the server was silent.
    var supposesTLS: Bool { awaitsGreeting && isSecure && options.control != .implicit }

    /// The reply that the login waits for, for messages.
    var awaitedReply: String {
        switch step {
        case .greeting: "greeting"
        case .proxyUser, .proxyPassword, .user, .password, .account: "reply to the login"
        case .auth, .startTLS, .bufferSize, .protection, .clear, .endTLS: "reply to the TLS commands"
        case .features, .utf8, .facts: "reply to the setup of the transfer"
        }
    }

    mutating func begin() -> FTPMachine.Action {
        step = .greeting
        return .awaitReply
    }

    mutating func didStartTLS() throws(FTPError) -> FTPMachine.Action {
        isSecure = true
        return try logIn()
    }

    /// TLS begins before the greeting, since the server expects it from the first byte.
    mutating func beginsWithTLS() { isSecure = true }

    func didEndTLS() -> FTPMachine.Action { .ready }

    /// Handles a reply that is not preliminary.
    mutating func receive(_ reply: FTPReply) throws(FTPError) -> FTPMachine.Action {
        switch step {
        case .greeting:
            guard reply.isPositive else { throw .refused("the connection", reply) }
            return try secureControl()
        case .auth: return try receiveAuth(reply)
        case .proxyUser, .proxyPassword: return try receiveProxyLogin(reply)
        case .user, .password, .account: return try receiveLogin(reply)
        case .features:
            if reply.isPositive { features = FTPFeatures(reply) }
            guard features.hasUTF8 else { return try requestFacts() }
            step = .utf8
            return .send(try FTPCommand("OPTS", argument: "UTF8 ON"))
        case .utf8: return try requestFacts()
        case .facts: return try protectData()
        case .bufferSize:
            step = .protection
            return .send(try FTPCommand("PROT", argument: options.data == .off ? "C" : "P"))
        case .protection:
            protectsData = reply.isPositive && options.data != .off
            if !protectsData, options.data == .required { throw .notSecure("data connections", reply) }
            return try clearControl()
        case .clear:
            guard reply.isPositive else { throw .refused("CCC", reply) }
            step = .endTLS
            return .endTLS
        case .startTLS, .endTLS: throw .unexpected(awaitedReply, reply)
        }
    }

    /// Starts TLS before anything that identifies a user is sent, to a proxy as to a server.
    private mutating func secureControl() throws(FTPError) -> FTPMachine.Action {
        switch options.control {
        case _ where isSecure: return try logIn()
        case .off, .implicit: return try logIn()
        case .preferred, .required:
            step = .auth
            return .send(try FTPCommand("AUTH", argument: "TLS"))
        }
    }

    private mutating func receiveAuth(_ reply: FTPReply) throws(FTPError) -> FTPMachine.Action {
        if reply.code == 234 {
            step = .startTLS
            return .startTLS
        }
        if options.control == .required { throw .notSecure("the control connection", reply) }
        // Encrypted data connections require an encrypted control connection (RFC 4217 §9): fail before the password is sent.
        if options.data == .required { throw .notSecure("data connections", reply) }
        return try logIn()
    }

    /// Logs in, first at the proxy if it has users of its own.
    private mutating func logIn() throws(FTPError) -> FTPMachine.Action {
        guard let user = options.proxyUser else { return try sendUser() }
        return try sendCredential("USER", user, .proxyUser)
    }

    private mutating func receiveProxyLogin(_ reply: FTPReply) throws(FTPError) -> FTPMachine.Action {
        if reply.isPositive { return try sendUser() }
        guard step == .proxyUser, reply.code == 331 else { throw .loginRefused(reply) }
        return try sendCredential("PASS", options.proxyPassword ?? [], .proxyPassword)
    }

    private mutating func sendUser() throws(FTPError) -> FTPMachine.Action {
        try sendCredential("USER", options.user, .user)
    }

    /// Sends a user name, password or account. No other function does, so that nothing identifies a user without the TLS that
    /// the caller requires.
    private mutating func sendCredential(
        _ verb: String, _ bytes: [UInt8], _ step: Step
    ) throws(FTPError) -> FTPMachine.Action {
        guard isSecure || !options.control.isMandatory else { throw .credentialInClear }
        self.step = step
        return .send(try FTPCommand(verb, bytes: bytes))
    }

    private mutating func receiveLogin(_ reply: FTPReply) throws(FTPError) -> FTPMachine.Action {
        if reply.isPositive {
            step = .features
            return .send(try FTPCommand("FEAT"))
        }
        switch (step, reply.code) {
        case (.user, 331):
            return try sendCredential("PASS", options.password, .password)
        case (.user, 332), (.password, 332):
            guard let account = options.account else { throw .accountNeeded(reply) }
            return try sendCredential("ACCT", account, .account)
        default: throw .loginRefused(reply)
        }
    }

    /// Requests the facts that some servers send only on request.
    private mutating func requestFacts() throws(FTPError) -> FTPMachine.Action {
        guard let facts = features.factsToRequest else { return try protectData() }
        step = .facts
        return .send(try FTPCommand("OPTS", bytes: Array("MLST ".utf8) + facts))
    }

    private mutating func protectData() throws(FTPError) -> FTPMachine.Action {
        guard isSecure else { return .ready }
        step = .bufferSize
        return .send(try FTPCommand("PBSZ", argument: "0"))
    }

    private mutating func clearControl() throws(FTPError) -> FTPMachine.Action {
        guard options.clearsControl else { return .ready }
        step = .clear
        return .send(try FTPCommand("CCC"))
    }
}
