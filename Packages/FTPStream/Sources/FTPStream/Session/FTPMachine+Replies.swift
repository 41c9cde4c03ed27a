internal import FTPListing
internal import StreamKit

/// Judging replies, and the log-in.
extension FTPMachine {
    mutating func judge(_ reply: FTPReply) throws(FTPError) -> Action {
        lastReply = reply
        if reply.isPreliminary {
            switch step {
            case .transfer:
                noteSize(in: reply)
                step = .final
                return .transfer
            case .greeting, .final, .settle, .raw, .command:
                preliminaryCount += 1
                guard preliminaryCount <= Self.preliminaryLimit else {
                    throw .tooManyPreliminaries(Self.preliminaryLimit, awaitedReply, reply)
                }
                return .awaitReply
            default: throw .unexpected(awaitedReply, reply)
            }
        }
        switch step {
        case .greeting:
            guard reply.isPositive else { throw .refused("the connection", reply) }
            return try secure()
        case .proxyUser, .proxyPassword: return try proxyAnswered(reply)
        case .auth: return try authAnswered(reply)
        case .user, .password, .account: return try loginAnswered(reply)
        case .features:
            if reply.isPositive { features = FTPFeatures(reply) }
            if features.hasUTF8 {
                step = .utf8
                return .send(try FTPCommand("OPTS", argument: "UTF8 ON"))
            }
            return try askFacts()
        case .utf8: return try askFacts()
        case .facts: return try protect()
        case .bufferSize:
            step = .protection
            return .send(try FTPCommand("PROT", argument: login.data == .off ? "C" : "P"))
        case .protection:
            protectsData = reply.isPositive && login.data != .off
            if !protectsData, login.data == .required { throw .notSecure("data connections", reply) }
            return try clear()
        case .clear:
            guard reply.isPositive else { throw .refused("CCC", reply) }
            step = .endTLS
            return .endTLS
        case .type(let letter):
            guard reply.isPositive else { throw .refused("TYPE", reply) }
            type = letter
            return try advance()
        case .home:
            home = reply.isPositive ? DirectoryReply.path(reply) : nil
            return try advance()
        case .enter(let path):
            guard reply.isPositive else { throw .refused("CWD", reply) }
            isAway = path != home
            return try advance()
        case .size: return try sizeAnswered(reply)
        case .extendedPassive, .passive: return try passiveAnswered(reply)
        case .extendedActive, .active: return try activeAnswered(reply)
        case .restart:
            guard reply.isIntermediate else { throw .cannotResume(reply) }
            return try advance()
        case .transfer(let command):
            if reply.isPositive {  // nothing to say before, and the data is on its way or there is none
                finalReply = reply
                return .transfer
            }
            return try transferRefused(command, reply)
        case .final:
            if reply.isPositive {
                finalReply = reply
                return finishJob()
            }
            return try transferRefused(try FTPCommand("NOOP"), reply)
        case .command(let command, let isLast):
            guard reply.isPositive || (reply.isIntermediate && !isLast) else { throw .refused(command.verb, reply) }
            return try advance()
        case .raw: return finishJob()
        case .settle(let left, let hasAsked):
            if hasAsked, reply.code == 257 {
                job = nil
                unansweredSigns = 0
                isAtRest = true
                return .ready
            }
            guard left > 1 else { throw .unexpected("reply to ABOR", reply) }
            step = .settle(left: left - 1, hasAsked: true)
            return hasAsked ? .awaitReply : .send(try FTPCommand("PWD"))
        case .startTLS, .endTLS, .connect, .listen: throw .unexpected(awaitedReply, reply)
        }
    }

    // MARK: Logging in

    /// Begins TLS before anything that identifies a user is sent, to a proxy as to a server.
    mutating func secure() throws(FTPError) -> Action {
        switch login.control {
        case .off, .implicit: return try logIn()
        case .preferred, .required:
            step = .auth
            return .send(try FTPCommand("AUTH", argument: "TLS"))
        }
    }

    mutating func authAnswered(_ reply: FTPReply) throws(FTPError) -> Action {
        if reply.code == 234 {
            step = .startTLS
            return .startTLS
        }
        if login.control == .required { throw .notSecure("the control connection", reply) }
        // Encrypted data needs an encrypted control connection (RFC 4217 §9): known before the password is sent.
        if login.data == .required { throw .notSecure("data connections", reply) }
        return try logIn()
    }

    /// Logs in: at the proxy first, if that has users of its own.
    mutating func logIn() throws(FTPError) -> Action {
        guard let user = login.proxyUser else { return try sendUser() }
        return try sendCredential("USER", user, .proxyUser)
    }

    mutating func proxyAnswered(_ reply: FTPReply) throws(FTPError) -> Action {
        if reply.isPositive { return try sendUser() }
        guard step == .proxyUser, reply.code == 331 else { throw .loginRefused(reply) }
        return try sendCredential("PASS", login.proxyPassword ?? [], .proxyPassword)
    }

    mutating func sendUser() throws(FTPError) -> Action {
        try sendCredential("USER", login.user, .user)
    }

    /// Sends a user name, password or account: the only function that does, so that none leaves without the TLS that the caller
    /// requires.
    private mutating func sendCredential(
        _ verb: String, _ bytes: [UInt8], _ step: Step
    ) throws(FTPError) -> Action {
        guard isSecure || !login.control.isMandatory else { throw .credentialInClear }
        self.step = step
        return .send(try FTPCommand(verb, bytes: bytes))
    }

    mutating func loginAnswered(_ reply: FTPReply) throws(FTPError) -> Action {
        if reply.isPositive {
            isLoggedIn = true
            step = .features
            return .send(try FTPCommand("FEAT"))
        }
        switch (step, reply.code) {
        case (.user, 331):
            return try sendCredential("PASS", login.password, .password)
        case (.user, 332), (.password, 332):
            guard let account = login.account else { throw .accountNeeded(reply) }
            return try sendCredential("ACCT", account, .account)
        default: throw .loginRefused(reply)
        }
    }

    /// Some servers leave facts out unless asked for them.
    mutating func askFacts() throws(FTPError) -> Action {
        guard let facts = features.factsToAsk else { return try protect() }
        step = .facts
        return .send(try FTPCommand("OPTS", bytes: Array("MLST ".utf8) + facts))
    }

    mutating func protect() throws(FTPError) -> Action {
        guard isSecure else { return finishLogin() }
        step = .bufferSize
        return .send(try FTPCommand("PBSZ", argument: "0"))
    }

    mutating func clear() throws(FTPError) -> Action {
        guard login.clearsControl else { return finishLogin() }
        step = .clear
        return .send(try FTPCommand("CCC"))
    }

    mutating func finishLogin() -> Action {
        isAtRest = true
        return .ready
    }
}
