internal import FTPListing
internal import StreamKit

/// What a job consists of, and its data connection.
extension FTPMachine {
    func plan(_ job: FTPJob) throws(FTPError) -> ArraySlice<Step> {
        var steps: [Step] = []
        let isAbsolute = { (path: [UInt8]) in path.first == UInt8(ascii: "/") }
        func begin(_ path: [UInt8]) {
            if isAway, !isAbsolute(path), let home { steps.append(.enter(home)) }
        }
        func set(_ type: UInt8) { if self.type != type { steps.append(.type(type)) } }
        let binary = UInt8(ascii: "I")
        let text = UInt8(ascii: "A")
        switch job {
        case .retrieve(let path, let offset, let asksSize, let isASCII):
            begin(path)
            set(isASCII ? text : binary)
            if asksSize, !isASCII { steps.append(.size(path)) }
            steps.append(login.isPassive ? .extendedPassive : .listen)
            if offset > 0 { steps.append(.restart(offset)) }
            steps.append(.transfer(try FTPCommand("RETR", bytes: path)))
        case .list(let path, let kind):
            begin(path)
            if kind == .facts || (kind == .automatic && features.hasFacts) {
                steps.append(login.isPassive ? .extendedPassive : .listen)
                steps.append(.transfer(try FTPCommand("MLSD", bytes: path)))
            } else {
                // LIST would take a name that begins with a dash for options, and one with blanks for several.
                if !path.isEmpty {
                    if home == nil { steps.append(.home) }
                    steps.append(.enter(path))
                }
                set(text)
                steps.append(login.isPassive ? .extendedPassive : .listen)
                steps.append(.transfer(try FTPCommand(kind == .names ? "NLST" : "LIST")))
            }
        case .store(let path, let writing, let isASCII):
            begin(path)
            set(isASCII ? text : binary)
            steps.append(login.isPassive ? .extendedPassive : .listen)
            if case .resume(let offset) = writing, offset > 0 { steps.append(.restart(offset)) }
            steps.append(.transfer(try FTPCommand(writing == .append ? "APPE" : "STOR", bytes: path)))
        case .commands(let commands):
            begin([])
            for (index, command) in commands.enumerated() {
                steps.append(.command(command, isLast: index == commands.count - 1))
            }
        case .size(let path):
            begin(path)
            set(binary)
            steps.append(.size(path))
        case .raw(let command):
            begin([])
            steps.append(.raw(command))
        }
        return steps[...]
    }

    mutating func advance() throws(FTPError) -> Action {
        guard let next = steps.popFirst() else { return finishJob() }
        step = next
        switch next {
        case .type(let letter): return .send(try FTPCommand("TYPE", bytes: [letter]))
        case .home: return .send(try FTPCommand("PWD"))
        case .enter(let path): return .send(try FTPCommand("CWD", bytes: path))
        case .size(let path): return .send(try FTPCommand("SIZE", bytes: path))
        case .extendedPassive where lacksExtendedPassive && !isIPv6:
            step = .passive
            return .send(try FTPCommand("PASV"))
        case .extendedPassive: return .send(try FTPCommand("EPSV"))
        case .listen: return .listen
        case .restart(let offset): return .send(try FTPCommand("REST", argument: "\(offset)"))
        case .transfer(let command), .command(let command, _): return .send(command)
        case .raw(let command):
            isAltered = isAltered || !command.keepsSession
            return .send(command)
        case .greeting, .proxyUser, .proxyPassword, .auth, .user, .password, .account, .features, .utf8, .facts,
            .bufferSize,
            .protection, .clear, .passive, .extendedActive, .active, .final, .startTLS, .endTLS, .connect, .settle:
            return .awaitReply  // never planned
        }
    }

    mutating func finishJob() -> Action {
        if let finalReply { lastReply = finalReply }
        job = nil
        isAtRest = true
        return .ready
    }

    mutating func sizeAnswered(_ reply: FTPReply) throws(FTPError) -> Action {
        if reply.code == 213, let size = reply.lines.last.map({ $0[...].trimmed.number }) ?? nil { resourceSize = size }
        if case .size = job, resourceSize == nil { throw .refused("SIZE", reply) }
        return try advance()
    }

    /// `150 Opening BINARY mode data connection for a.bin (102400 bytes).`
    mutating func noteSize(in reply: FTPReply) {
        guard resourceSize == nil, case .retrieve(_, let offset, _, false) = job, offset == 0,
            let line = reply.lines.last, let open = line.lastIndex(of: UInt8(ascii: "("))
        else { return }
        let words = line[(open + 1)...].split(separator: 0x20)
        if words.count >= 2, words[1].starts(with: "bytes".utf8) { resourceSize = words[0].number }
    }

    // MARK: Data connections

    mutating func passiveAnswered(_ reply: FTPReply) throws(FTPError) -> Action {
        if reply.isPositive {
            // Some servers answer the one with the other's reply.
            guard let port = PassiveReply.extendedPort(reply) ?? PassiveReply.port(reply) else {
                throw .unexpected("reply to the request for a data connection", reply)
            }
            step = .connect
            return .connect(port)
        }
        // Over IPv6 there is nothing but EPSV.
        guard step == .extendedPassive, !isIPv6, reply.code >= 500 else {
            throw .refused(step == .passive ? "PASV" : "EPSV", reply)
        }
        lacksExtendedPassive = true
        step = .passive
        return .send(try FTPCommand("PASV"))
    }

    mutating func activeAnswered(_ reply: FTPReply) throws(FTPError) -> Action {
        if reply.isPositive { return try advance() }
        // PORT has no form for IPv6.
        guard step == .extendedActive, reply.code >= 500, case .v4(let ip)? = address?.ipAddress,
            let port = address?.port
        else {
            throw .refused(step == .active ? "PORT" : "EPRT", reply)
        }
        lacksExtendedActive = true
        return try sendActive(ip, port)
    }

    mutating func sendActive(_ ip: IPv4Address, _ port: UInt16) throws(FTPError) -> Action {
        step = .active
        let numbers = ip.octets.map { "\($0)" } + ["\(port >> 8)", "\(port & 0xFF)"]
        return .send(try FTPCommand("PORT", argument: numbers.joined(separator: ",")))
    }

    /// A listing of nothing is refused by some: 450, or 550 with words for it.
    mutating func transferRefused(_ command: FTPCommand, _ reply: FTPReply) throws(FTPError) -> Action {
        if case .list = job {
            let text = reply.text.lowercased()
            if reply.code == 450 || (reply.code == 550 && (text.contains("no files") || text.contains("empty"))) {
                return finishJob()
            }
        }
        throw .refused(step == .final ? "the transfer" : command.verb, reply)
    }
}
