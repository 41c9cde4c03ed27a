internal import FTPListing
@_spi(Packages) internal import StreamKit

/// The dialogue on a control connection (RFC 959, 2389, 2428, 3659, 4217): replies go in, one action comes out. No I/O.
///
/// Theory of operation. A session begins with the login (``FTPLoginMachine``) and then runs jobs, one after the other. A job is
/// a list of ``Step`` values, planned when it begins; each step sends a command and handles its reply. The state of the session
/// (features, current directory, commands that the server lacks) is kept for the next job.
///
/// A refused step ends the job, not the session; see ``isUsable``.
struct FTPMachine: Sendable {
    /// What the driver does next.
    enum Action: Sendable, Hashable {
        /// Send the command, then read a reply.
        case send(FTPCommand)
        /// Read a reply.
        case awaitReply
        /// Perform the TLS handshake on the control connection, then call ``FTPMachine/didStartTLS()``.
        case startTLS
        /// End TLS on the control connection, then call ``FTPMachine/didEndTLS()``.
        case endTLS
        /// Begin to connect to this port of the control connection's peer, then call ``FTPMachine/didConnect()`` when the connection
        /// is open, or ``FTPMachine/didFailToConnect()``.
        case connect(UInt16)
        /// Listen at the control connection's local address, then call ``FTPMachine/didListen(at:)``.
        case listen
        /// Transfer the data, then call ``FTPMachine/didTransfer(_:)``.
        case transfer
        /// The login or the job is complete.
        case ready
    }

    /// A step of a job.
    private enum Step: Sendable, Hashable {
        case type(UInt8), home, enter([UInt8]), size([UInt8])
        /// The data connection: EPSV or PASV, then a connection to the server; or a listening socket, then EPRT or PORT.
        case extendedPassive, passive, connect(hasSecondWay: Bool)
        case listen, extendedActive, active
        case restart(UInt64)
        case transfer(FTPCommand), confirmation
        case command(FTPCommand, isLast: Bool), raw(FTPCommand)
    }

    private enum Phase: Sendable, Hashable {
        case login
        case job(Step)
        case resynchronization(repliesLeft: Int, hasSentPWD: Bool)
    }

    private var login: FTPLoginMachine
    private var phase = Phase.login {
        didSet { preliminaryCount = 0 }
    }
    /// The number of preliminary replies in the current phase.
    private var preliminaryCount = 0
    private var steps: ArraySlice<Step> = []
    private var job: FTPJob?

    private var type: UInt8?
    /// Whether PASV is used instead of EPSV: the server lacks EPSV, or its port could not be reached, as behind a firewall that
    /// understands only PASV.
    private var prefersPassive = false
    private var lacksExtendedActive = false
    /// Whether LIST is used although the server offers MLSD, which it has refused as unknown.
    private var lacksFacts = false
    /// Whether the control connection runs over IPv6, where PASV and PORT cannot be used (RFC 2428 §1).
    private var isIPv6 = false
    /// The login directory, once the server has named it.
    private var home: [UInt8]?
    private var hasLeftHome = false
    private var listeningAddress: SocketAddress?
    private var finalReply: FTPReply?
    /// The number of bytes of a transfer that ended without an error on this side.
    private var transferred: UInt64?
    /// A command of the caller may have changed what the next job relies on: user, directory, type, protection, offset.
    private var isAltered = false

    /// The size of the file of this job, if the server has reported it.
    private(set) var resourceSize: UInt64?
    /// The result of the job: the reply to its last command.
    private(set) var lastReply: FTPReply?
    /// The number of NOOPs sent during transfers whose replies have not arrived yet.
    private(set) var unansweredKeepAlives = 0
    /// Whether no job is running and no reply is outstanding, except to NOOPs.
    private(set) var isAtRest = false

    /// Whether the session can run another job: it is at rest, unaltered since the login, and can return to the login directory.
    var isUsable: Bool { isAtRest && !isAltered && (home != nil || !hasLeftHome) }

    /// Whether data connections are encrypted.
    var protectsData: Bool { login.protectsData }

    init(_ login: FTPLogin) {
        self.login = FTPLoginMachine(login)
    }

    /// The reply that the session waits for, for messages.
    var awaitedReply: String {
        switch phase {
        case .login: return login.awaitedReply
        case .job(.confirmation): return "confirmation of the transfer"
        case .job(.transfer(let command)), .job(.command(let command, _)), .job(.raw(let command)):
            return "reply to \(command.verb)"
        case .job, .resynchronization: return "reply to the setup of the transfer"
        }
    }

    // MARK: Events

    /// The control connection is open. The greeting comes first.
    mutating func begin() -> Action {
        phase = .login
        return login.begin()
    }

    /// Begins a job on a session that is ``isUsable``.
    ///
    /// - Parameters:
    ///   - job: the job.
    ///   - isIPv6: whether the server is reached over IPv6. False if this is unknown because a proxy connects to it.
    mutating func begin(_ job: FTPJob, isIPv6: Bool) throws(FTPError) -> Action {
        self.job = job
        self.isIPv6 = isIPv6
        isAtRest = false
        finalReply = nil
        transferred = nil
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

    /// Whether the login has not ended, or no job has begun since.
    var isInLogin: Bool { phase == .login }

    /// Whether the greeting is outstanding and no TLS has begun.
    var awaitsPlainGreeting: Bool { phase == .login && login.awaitsGreeting && !login.isSecure }

    /// TLS begins before the greeting, since the server expects it from the first byte.
    mutating func beginsWithTLS() { login.beginsWithTLS() }

    /// Whether a handshake failed because the server greets in plaintext, only late: TLS was begun because of its silence, and it
    /// answered with a reply of FTP. The right session is then a new one with AUTH TLS; this one has sent no command.
    ///
    /// - Parameter failure: the failure of the handshake.
    func hasGreetedLate(_ failure: StreamError) -> Bool {
        phase == .login && login.supposesTLS && failure.reason == .foreignReply
    }

    mutating func didStartTLS() throws(FTPError) -> Action { finishLogin(try login.didStartTLS()) }

    mutating func didEndTLS() -> Action { finishLogin(login.didEndTLS()) }

    mutating func didConnect() throws(FTPError) -> Action { try advance() }

    /// Whether there is a second way if the data connection that is being opened fails.
    var hasSecondWay: Bool { phase == .job(.connect(hasSecondWay: true)) }

    /// The data connection could not be opened. The transfer has not been requested.
    ///
    /// - Returns: The second way: after the port of EPSV, that of PASV, which is used for the rest of the session. Nil if there is
    ///   none; the job is over, and the session is at rest.
    mutating func didFailToConnect() throws(FTPError) -> Action? {
        guard hasSecondWay else {
            isAtRest = true
            return nil
        }
        prefersPassive = true
        return try sendPassive()
    }

    /// Whether a data connection that was accepted comes from the server: from the peer of the control connection. Another host may have
    /// guessed the port.
    static func isDataPeer(_ other: IPAddress?, of peer: IPAddress?) -> Bool { other != nil && other == peer }

    mutating func didListen(at address: SocketAddress) throws(FTPError) -> Action {
        guard let ip = address.ipAddress?.unmapped, let port = address.port else {
            throw .badArgument("there is no address to listen on.")
        }
        listeningAddress = .ip(ip, port: port)
        if case .v4(let ip) = ip, lacksExtendedActive { return try sendPort(ip, port) }
        phase = .job(.extendedActive)
        let family = if case .v6 = ip { 2 } else { 1 }
        // A zone index has a meaning only on this machine.
        let text = ip.description.prefix { $0 != "%" }
        return .send(try FTPCommand("EPRT", argument: "|\(family)|\(text)|\(port)|"))
    }

    /// All data was transferred, or the data connection failed. The server's final reply comes next, unless it came before.
    ///
    /// - Parameter count: the number of bytes; nil if the data connection failed.
    /// - Throws: ``FTPError/Code/incomplete`` if the file has more bytes, although the server has confirmed the transfer.
    mutating func didTransfer(_ count: UInt64?) throws(FTPError) -> Action {
        transferred = count
        if finalReply != nil { return try finishTransfer() }
        phase = .job(.confirmation)
        return .awaitReply
    }

    /// Whether the server has confirmed a transfer whose data may still be under way.
    var hasConfirmed: Bool { finalReply != nil }

    /// Handles a reply that arrives while data is transferred, or while the server's data connection is awaited.
    ///
    /// - Returns: `.ready` if the job is over without data, since the directory is empty; nil if the data decides.
    /// - Throws: The server's refusal, which decides: no more data will come.
    mutating func receiveDuringTransfer(_ reply: FTPReply) throws(FTPError) -> Action? {
        if takeKeepAliveReply(reply) { return nil }
        guard reply.isPositive else {
            let action = try receive(reply)
            return action == .awaitReply ? nil : action
        }
        lastReply = reply
        finalReply = reply
        return nil
    }

    /// Forgets the last reply of the login, which is not a reply of the job.
    mutating func forgetLoginReply() { lastReply = nil }

    /// Aborts a transfer whose data connection is closed already.
    ///
    /// A server sends one or two replies to ABOR, before or after it reads the command. A PWD follows, whose reply is
    /// unmistakable. It is sent after the first reply, because pure-ftpd discards commands that arrive together with ABOR.
    mutating func abort() throws(FTPError) -> Action {
        phase = .resynchronization(repliesLeft: FTPMachine.maximumResynchronizationReplies, hasSentPWD: false)
        return .send(try FTPCommand("ABOR"))
    }

    /// Resynchronizes with a server that owes replies to NOOPs. Some may never come: pure-ftpd sends one reply to several.
    mutating func resynchronize() throws(FTPError) -> Action {
        isAtRest = false
        phase = .resynchronization(repliesLeft: FTPMachine.maximumResynchronizationReplies, hasSentPWD: true)
        return .send(try FTPCommand("PWD"))
    }

    /// The most preliminary replies (1xx) to one command. RFC 959 §5.4 allows one; some servers report the progress of a long
    /// command in several.
    static let maximumPreliminaryReplies = 16

    /// The most replies that are discarded during a resynchronization.
    static let maximumResynchronizationReplies = 6

    /// The most NOOPs without a reply: some servers reply to them only after the transfer.
    static let maximumUnansweredKeepAlives = 8

    /// Returns a NOOP for the control connection, which is idle during a transfer and may be dropped by a firewall or NAT; nil if
    /// too many NOOPs have no reply yet.
    mutating func keepAlive() throws(FTPError) -> FTPCommand? {
        guard unansweredKeepAlives < FTPMachine.maximumUnansweredKeepAlives else { return nil }
        unansweredKeepAlives += 1
        return try FTPCommand("NOOP")
    }

    /// Takes a reply if it is one to a NOOP: no server ends a transfer with these codes.
    mutating func takeKeepAliveReply(_ reply: FTPReply) -> Bool {
        guard unansweredKeepAlives > 0, reply.code == 200 || (500...504).contains(reply.code) else { return false }
        unansweredKeepAlives -= 1
        return true
    }

    /// Handles a reply.
    mutating func receive(_ reply: FTPReply) throws(FTPError) -> Action {
        // 421 may come at any time and ends the session (RFC 959 §5.4).
        if reply.code == 421 { throw .sessionEnded(reply) }
        if takeKeepAliveReply(reply) { return .awaitReply }
        lastReply = reply
        do throws(FTPError) {
            return try reply.isPreliminary ? handlePreliminary(reply) : handle(reply)
        } catch {
            // After a refusal the dialogue is still in step; after any other error, during the login, and if the server speaks while
            // the client connects, it is not.
            let isInStep = if case .job(.connect) = phase { false } else { phase != .login }
            if isInStep, error.code == .refused { isAtRest = true }
            throw error
        }
    }

    // MARK: Replies

    private mutating func handlePreliminary(_ reply: FTPReply) throws(FTPError) -> Action {
        switch phase {
        case .job(.transfer):
            noteSize(in: reply)
            phase = .job(.confirmation)
            return .transfer
        case .login where !login.awaitsGreeting: throw .unexpected(awaitedReply, reply)
        case .login, .resynchronization, .job(.confirmation), .job(.raw), .job(.command):
            preliminaryCount += 1
            guard preliminaryCount <= Self.maximumPreliminaryReplies else {
                throw .tooManyPreliminaries(Self.maximumPreliminaryReplies, awaitedReply, reply)
            }
            return .awaitReply
        case .job: throw .unexpected(awaitedReply, reply)
        }
    }

    private mutating func handle(_ reply: FTPReply) throws(FTPError) -> Action {
        switch phase {
        case .login: return finishLogin(try login.receive(reply))
        case .job(let step): return try handle(reply, to: step)
        case .resynchronization(let repliesLeft, let hasSentPWD):
            if hasSentPWD, reply.code == 257 {
                job = nil
                unansweredKeepAlives = 0
                isAtRest = true
                return .ready
            }
            guard repliesLeft > 1 else { throw .unexpected("reply to ABOR", reply) }
            phase = .resynchronization(repliesLeft: repliesLeft - 1, hasSentPWD: true)
            return hasSentPWD ? .awaitReply : .send(try FTPCommand("PWD"))
        }
    }

    private mutating func handle(_ reply: FTPReply, to step: Step) throws(FTPError) -> Action {
        switch step {
        case .type(let letter):
            guard reply.isPositive else { throw .refused("TYPE", reply) }
            type = letter
            return try advance()
        case .home:
            home = reply.isPositive ? reply.quotedPath : nil
            return try advance()
        case .enter(let path):
            guard reply.isPositive else { throw .refused("CWD", reply) }
            hasLeftHome = path != home
            return try advance()
        case .size: return try receiveSize(reply)
        case .extendedPassive, .passive: return try receivePassive(reply, to: step)
        case .extendedActive, .active: return try receiveActive(reply, to: step)
        case .restart:
            guard reply.isIntermediate else { throw .cannotResume(reply) }
            return try advance()
        case .transfer(let command):
            if reply.isPositive {  // no preliminary reply: the data is on its way, or there is no data
                finalReply = reply
                return .transfer
            }
            if case .list(let path, .automatic) = job, command.verb == "MLSD", (500...504).contains(reply.code) {
                return try listWithoutFacts(path, reply)
            }
            // RFC 3659 §5.3: the offset, which REST only noted, is not valid for this file.
            if reply.code == 554, case .retrieve(_, let offset, _, _) = job, offset > 0 { throw .cannotResume(reply) }
            return try refuseTransfer(command.verb, reply)
        case .confirmation:
            guard reply.isPositive else { return try refuseTransfer("the transfer", reply) }
            finalReply = reply
            return try finishTransfer()
        case .command(let command, let isLast):
            guard reply.isPositive || (reply.isIntermediate && !isLast) else { throw .refused(command.verb, reply) }
            return try advance()
        case .raw: return finishJob()
        case .connect where reply.isNegative: throw .refused("the data connection", reply)
        case .connect, .listen: throw .unexpected(awaitedReply, reply)
        }
    }

    private mutating func finishLogin(_ action: Action) -> Action {
        if action == .ready { isAtRest = true }
        return action
    }

    private mutating func finishJob() -> Action {
        if let finalReply { lastReply = finalReply }
        job = nil
        isAtRest = true
        return .ready
    }

    /// The number of bytes that a download must have at least; nil if the server has not stated the size, and in text mode, where
    /// line ends are converted.
    private var expectedCount: UInt64? {
        guard case .retrieve(_, let offset, _, false) = job, let resourceSize else { return nil }
        return resourceSize - min(offset, resourceSize)
    }

    /// Ends a transfer that the server has confirmed.
    private mutating func finishTransfer() throws(FTPError) -> Action {
        let expected = expectedCount
        let action = finishJob()
        if let transferred, let expected, transferred < expected { throw .incomplete(transferred, of: expected) }
        return action
    }

    private mutating func receiveSize(_ reply: FTPReply) throws(FTPError) -> Action {
        if reply.code == 213, let size = reply.lines.last.map({ $0[...].trimmed.number }) ?? nil { resourceSize = size }
        if case .size = job, resourceSize == nil { throw .refused("SIZE", reply) }
        if case .retrieve(_, let offset, _, _) = job, let resourceSize, offset > resourceSize {
            isAtRest = true
            throw .offset(offset, beyond: resourceSize)
        }
        return try advance()
    }

    /// Reads the size from `150 Opening BINARY mode data connection for a.bin (102400 bytes).`
    private mutating func noteSize(in reply: FTPReply) {
        guard resourceSize == nil, case .retrieve(_, let offset, _, false) = job, offset == 0,
            let line = reply.lines.last, let open = line.lastIndex(of: UInt8(ascii: "("))
        else { return }
        let words = line[(open + 1)...].split(separator: 0x20)
        guard words.count >= 2, words[1].map({ $0 | 0x20 }).starts(with: "byte".utf8) else { return }
        resourceSize = words[0].filter { $0 != UInt8(ascii: ",") }[...].number
    }

    /// Lists with LIST after MLSD has been refused as a command or for its argument, although the server offers it.
    private mutating func listWithoutFacts(_ path: [UInt8], _ reply: FTPReply) throws(FTPError) -> Action {
        // 501, 503 and 504 concern this directory.
        lacksFacts = [500, 502].contains(reply.code)
        steps = try plan(.list(path, .list))
        return try advance()
    }

    /// Some servers refuse to list an empty directory, with 450 or 550 and a text that says so. Without the text, the directory may be
    /// busy: a mirror must not take it for empty, and delete.
    private mutating func refuseTransfer(_ what: String, _ reply: FTPReply) throws(FTPError) -> Action {
        if case .list = job {
            let text = reply.text.lowercased()
            if [450, 550].contains(reply.code), text.contains("no files") || text.contains("empty") {
                return finishJob()
            }
        }
        throw .refused(what, reply)
    }

    // MARK: Data connections

    private mutating func receivePassive(_ reply: FTPReply, to step: Step) throws(FTPError) -> Action {
        // Some servers send the reply of the other command.
        if reply.isPositive, let port = reply.extendedPassivePort ?? reply.passivePort {
            phase = .job(.connect(hasSecondWay: step == .extendedPassive && !isIPv6))
            return .connect(port)
        }
        // Whatever the server says instead of a port, PASV is the second way; over IPv6 there is none.
        if step == .extendedPassive, !isIPv6 {
            prefersPassive = true
            return try sendPassive()
        }
        if reply.isPositive { throw .unexpected("reply to the request for a data connection", reply) }
        throw .refused(step == .passive ? "PASV" : "EPSV", reply)
    }

    private mutating func sendPassive() throws(FTPError) -> Action {
        phase = .job(.passive)
        return .send(try FTPCommand("PASV"))
    }

    private mutating func receiveActive(_ reply: FTPReply, to step: Step) throws(FTPError) -> Action {
        if reply.isPositive { return try advance() }
        // PORT cannot carry an IPv6 address.
        guard step == .extendedActive, case .v4(let ip)? = listeningAddress?.ipAddress,
            let port = listeningAddress?.port
        else {
            throw .refused(step == .active ? "PORT" : "EPRT", reply)
        }
        lacksExtendedActive = true
        return try sendPort(ip, port)
    }

    private mutating func sendPort(_ ip: IPv4Address, _ port: UInt16) throws(FTPError) -> Action {
        phase = .job(.active)
        let numbers = ip.octets.map { "\($0)" } + ["\(port >> 8)", "\(port & 0xFF)"]
        return .send(try FTPCommand("PORT", argument: numbers.joined(separator: ",")))
    }

    // MARK: Jobs

    /// The steps of a job in the current state of the session.
    private func plan(_ job: FTPJob) throws(FTPError) -> ArraySlice<Step> {
        var steps: [Step] = []
        func returnHome(for path: [UInt8]) {
            if hasLeftHome, path.first != UInt8(ascii: "/"), let home { steps.append(.enter(home)) }
        }
        func set(_ type: UInt8) { if self.type != type { steps.append(.type(type)) } }
        func openData() { steps.append(login.options.isPassive ? .extendedPassive : .listen) }
        let binary = UInt8(ascii: "I")
        let text = UInt8(ascii: "A")
        switch job {
        case .retrieve(let path, let offset, let asksSize, let isASCII):
            returnHome(for: path)
            set(isASCII ? text : binary)
            if asksSize, !isASCII { steps.append(.size(path)) }
            openData()
            if offset > 0 { steps.append(.restart(offset)) }
            steps.append(.transfer(try FTPCommand("RETR", bytes: path)))
        case .list(let path, let kind):
            returnHome(for: path)
            if kind == .facts || (kind == .automatic && login.features.hasFacts && !lacksFacts) {
                openData()
                steps.append(.transfer(try FTPCommand("MLSD", bytes: path)))
            } else {
                // LIST takes a name that begins with a dash for options, and one with spaces for several names.
                if !path.isEmpty {
                    if home == nil { steps.append(.home) }
                    steps.append(.enter(path))
                }
                set(text)
                openData()
                steps.append(.transfer(try FTPCommand(kind == .names ? "NLST" : "LIST")))
            }
        case .store(let path, let writing, let isASCII):
            returnHome(for: path)
            set(isASCII ? text : binary)
            openData()
            if case .resume(let offset) = writing, offset > 0 { steps.append(.restart(offset)) }
            steps.append(.transfer(try FTPCommand(writing == .append ? "APPE" : "STOR", bytes: path)))
        case .commands(let commands):
            returnHome(for: [])
            for (index, command) in commands.enumerated() {
                steps.append(.command(command, isLast: index == commands.count - 1))
            }
        case .size(let path):
            returnHome(for: path)
            set(binary)
            steps.append(.size(path))
        case .raw(let command):
            returnHome(for: [])
            steps.append(.raw(command))
        }
        return steps[...]
    }

    /// Begins the next step of the job.
    private mutating func advance() throws(FTPError) -> Action {
        guard let next = steps.popFirst() else { return finishJob() }
        phase = .job(next)
        switch next {
        case .type(let letter): return .send(try FTPCommand("TYPE", bytes: [letter]))
        case .home: return .send(try FTPCommand("PWD"))
        case .enter(let path): return .send(try FTPCommand("CWD", bytes: path))
        case .size(let path): return .send(try FTPCommand("SIZE", bytes: path))
        case .extendedPassive where prefersPassive && !isIPv6: return try sendPassive()
        case .extendedPassive: return .send(try FTPCommand("EPSV"))
        case .listen: return .listen
        case .restart(let offset): return .send(try FTPCommand("REST", argument: "\(offset)"))
        case .transfer(let command), .command(let command, _): return .send(command)
        case .raw(let command):
            isAltered = isAltered || !command.keepsSession
            return .send(command)
        case .passive, .connect, .extendedActive, .active, .confirmation: return .awaitReply  // never planned
        }
    }
}
