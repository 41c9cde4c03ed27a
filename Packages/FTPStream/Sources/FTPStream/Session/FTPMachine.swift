internal import FTPListing
internal import StreamKit

/// The dialogue on a control connection (RFC 959, 2389, 2428, 3659, 4217): replies in, one action out. No I/O.
///
/// Theory of operation. A session begins with the log-in, and then does jobs, one after the other. A job is a list of
/// ``Step``s that are made when it begins; each step sends at most one command and judges its reply. What the session has learned
/// (features, the directory it is in, which commands the server lacks) stays for the next job.
///
/// A refused step ends the job, not the session: ``isUsable`` tells.
struct FTPMachine: Sendable {
    /// What to do next.
    enum Action: Sendable, Hashable {
        /// Send this, then read a reply.
        case send(FTPCommand)
        /// Read a reply.
        case awaitReply
        /// Shake hands for TLS on the control connection, then call ``FTPMachine/didStartTLS()``.
        case startTLS
        /// End TLS on the control connection, then call ``FTPMachine/didEndTLS()``.
        case endTLS
        /// Begin to connect to this port of the control connection's peer, then call ``FTPMachine/didConnect()``.
        case connect(UInt16)
        /// Listen at the control connection's own address, then call ``FTPMachine/didListen(at:)``.
        case listen
        /// Move the data, then call ``FTPMachine/didTransfer()``.
        case transfer
        /// Logged in, or done with the job.
        case ready
    }

    struct Login: Sendable, Hashable {
        var user: [UInt8]
        var password: [UInt8]
        var account: [UInt8]?
        /// Logs in at a proxy first, which is then told `user@host`.
        var proxyUser: [UInt8]?
        var proxyPassword: [UInt8]?
        var control = FTPSecurity.Control.off
        var data = FTPSecurity.Data.off
        var clearsControl = false
        var isPassive = true
    }

    enum Step: Sendable, Hashable {
        case greeting, proxyUser, proxyPassword, auth, user, password, account, features, utf8, facts, bufferSize,
            protection, clear
        case type(UInt8), home, enter([UInt8]), size([UInt8]), extendedPassive, passive, extendedActive, active
        case restart(UInt64), transfer(FTPCommand), final, command(FTPCommand, isLast: Bool), raw(FTPCommand)
        case startTLS, endTLS, connect, listen
        case settle(left: Int, hasAsked: Bool)
    }

    let login: Login
    var step = Step.greeting {
        didSet { preliminaryCount = 0 }
    }
    /// The preliminary replies of the current step.
    var preliminaryCount = 0
    var steps: ArraySlice<Step> = []
    var job: FTPJob?
    var type: UInt8?
    var lacksExtendedPassive = false
    var lacksExtendedActive = false
    /// The control connection runs over IPv6, where PASV has no meaning (RFC 2428 §1).
    var isIPv6 = false
    /// The directory of the log-in, once it was asked for.
    var home: [UInt8]?
    var isAway = false
    var address: SocketAddress?
    var finalReply: FTPReply?

    var features = FTPFeatures()
    var isLoggedIn = false
    /// The control connection is encrypted, or was during the log-in.
    var isSecure = false
    /// Data connections are encrypted.
    var protectsData = false
    /// The size of the file of this job, as far as the server told.
    var resourceSize: UInt64?
    /// The reply that counts: to the last command.
    var lastReply: FTPReply?
    /// NOOPs that were sent during a transfer and are not answered yet.
    var unansweredSigns = 0
    /// No job is under way, and the dialogue is in step.
    var isAtRest = false
    /// A command of the caller's may have changed what the next job relies on: user, directory, type, protection, offset.
    var isAltered = false

    /// Whether the session can do another job: it is at rest, as the log-in left it, and knows the way back to the directory of the
    /// log-in.
    var isUsable: Bool { isAtRest && !isAltered && (home != nil || !isAway) }

    init(_ login: Login) {
        self.login = login
        isSecure = login.control == .implicit
    }

    /// The reply that the session waits for, for messages.
    var awaitedReply: String {
        switch step {
        case .greeting: "greeting"
        case .proxyUser, .proxyPassword, .user, .password, .account: "reply to the login"
        case .auth, .startTLS, .bufferSize, .protection, .clear, .endTLS: "reply to the TLS commands"
        case .final: "confirmation of the transfer"
        case .transfer(let command), .command(let command, _), .raw(let command): "reply to \(command.verb)"
        default: "reply to the setup of the transfer"
        }
    }

    // MARK: What happens

    /// The control connection is there: its greeting comes first.
    mutating func begin() -> Action {
        step = .greeting
        return .awaitReply
    }

    /// Begins a job on a session that is ``isUsable``.
    ///
    /// - Parameters:
    ///   - job: the job.
    ///   - isIPv6: whether the server is reached over IPv6. False if that is not known because a proxy connects to it.
    mutating func begin(_ job: FTPJob, isIPv6: Bool) throws(FTPError) -> Action {
        self.job = job
        self.isIPv6 = isIPv6
        isAtRest = false
        finalReply = nil
        resourceSize = nil
        lastReply = nil
        do throws(FTPError) {
            steps = try plan(job)
            return try advance()
        } catch {
            isAtRest = true
            throw error
        }
    }

    mutating func didStartTLS() throws(FTPError) -> Action {
        isSecure = true
        return try logIn()
    }

    mutating func didEndTLS() -> Action { finishLogin() }

    mutating func didConnect() throws(FTPError) -> Action { try advance() }

    mutating func didListen(at address: SocketAddress) throws(FTPError) -> Action {
        guard let ip = address.ipAddress?.unmapped, let port = address.port else {
            throw .badArgument("there is no address to listen on.")
        }
        self.address = .ip(ip, port: port)
        if case .v4(let ip) = ip, lacksExtendedActive { return try sendActive(ip, port) }
        step = .extendedActive
        let family = if case .v6 = ip { 2 } else { 1 }
        // A zone is known on this machine only.
        let text = ip.description.prefix { $0 != "%" }
        return .send(try FTPCommand("EPRT", argument: "|\(family)|\(text)|\(port)|"))
    }

    /// All data has been moved, or the data connection has failed: the server's last word is next.
    mutating func didTransfer() -> Action {
        if finalReply != nil { return finishJob() }
        step = .final
        return .awaitReply
    }

    /// The log-in is over: its replies are not the job's.
    mutating func forgetReply() { lastReply = nil }

    /// Ends a transfer before its end; the data connection is closed already.
    ///
    /// ABOR may be answered once or twice, before or after it was read, so a PWD follows whose answer cannot be mistaken. It
    /// follows the first answer, because pure-ftpd throws away whatever comes along with ABOR.
    mutating func abort() throws(FTPError) -> Action {
        step = .settle(left: FTPMachine.settlingLimit, hasAsked: false)
        return .send(try FTPCommand("ABOR"))
    }

    /// Gets back into step when signs of life were not answered, some of which may never be: pure-ftpd answers once for several.
    mutating func settle() throws(FTPError) -> Action {
        isAtRest = false
        step = .settle(left: FTPMachine.settlingLimit, hasAsked: true)
        return .send(try FTPCommand("PWD"))
    }

    /// The most preliminary replies (1xx) to one command. RFC 959 §5.4 gives none more than one; some servers send a few to tell
    /// how far a long command has come.
    static let preliminaryLimit = 16

    /// The most replies that are passed over to get back into step.
    static let settlingLimit = 6

    /// The most signs of life that may be unanswered: some servers answer them only when the transfer is over.
    static let signLimit = 8

    /// A sign of life on the control connection, which rests during a transfer and may be forgotten by who is on the way; nil if
    /// enough of them are unanswered.
    mutating func signOfLife() throws(FTPError) -> FTPCommand? {
        guard unansweredSigns < FTPMachine.signLimit else { return nil }
        unansweredSigns += 1
        return try FTPCommand("NOOP")
    }

    /// Whether a reply is one to a sign of life: no transfer ends with these codes.
    func answersSign(_ reply: FTPReply) -> Bool {
        unansweredSigns > 0 && (reply.code == 200 || (500...504).contains(reply.code))
    }

    mutating func noteAnsweredSign() { unansweredSigns -= 1 }

    /// A reply has come.
    mutating func receive(_ reply: FTPReply) throws(FTPError) -> Action {
        // 421 may come at any time, and ends the session (RFC 959 §5.4).
        if reply.code == 421 { throw .sessionEnded(reply) }
        if answersSign(reply) {
            noteAnsweredSign()
            return .awaitReply
        }
        do throws(FTPError) {
            return try judge(reply)
        } catch {
            // A refusal is in step with what was asked; all else is not, and a log-in cannot be continued.
            if isLoggedIn, error.code == .refused { isAtRest = true }
            throw error
        }
    }
}
