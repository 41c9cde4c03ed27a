import Testing

@_spi(Packages) @testable import FTPStream

/// The dialogues of the folder Conversations, with whole replies and with pieces of them.
struct FTPMachineTests {
    // Parity: FT-051, FT-054
    @Test(arguments: Conversation.names)
    func conversation(_ name: String) throws {
        let conversation = try Conversation(name)
        for size in [Int.max, 1, 2, 3, 7] { try conversation.play(inPiecesOf: size) }
    }

    // Parity: FT-050
    @Test func thereAreConversations() {
        #expect(Conversation.names.count >= 14)
        // FT-050: dialogues with real servers.
        #expect(Conversation.names.filter { $0.hasPrefix("recorded-") }.count == 4)
    }

    /// FT-035: sizes beyond 32 bits, in the reply to SIZE and in the text of a 150 reply.
    // Parity: FT-035
    @Test(arguments: [true, false])
    func largeSizes(_ isAsked: Bool) throws {
        var machine = FTPMachine(FTPLogin(user: [0x61], password: []))
        _ = machine.begin()
        for (code, text) in [(220, ""), (230, ""), (500, "")] {
            _ = try machine.receive(FTPReply(code: code, lines: [Array(text.utf8)]))
        }
        _ = try machine.begin(.retrieve([0x78], offset: 0, asksSize: isAsked, isASCII: false), isIPv6: false)
        _ = try machine.receive(FTPReply(code: 200, lines: [[]]))
        if isAsked { _ = try machine.receive(FTPReply(code: 213, lines: [Array("8589934592".utf8)])) }
        _ = try machine.receive(FTPReply(code: 229, lines: [Array("(|||1|)".utf8)]))
        _ = try machine.didConnect()
        let words = "Opening BINARY mode data connection for x (8589934592 bytes)."
        #expect(try machine.receive(FTPReply(code: 150, lines: [Array(words.utf8)])) == .transfer)
        #expect(machine.resourceSize == 8_589_934_592)
    }

    private static func reply(_ code: Int) -> FTPReply { FTPReply(code: code, lines: [[]]) }

    /// Machines in each step that accepts preliminary replies.
    private static func waiting() throws -> [(step: String, machine: FTPMachine)] {
        var greeted = FTPMachine(FTPLogin(user: [0x61], password: []))
        _ = greeted.begin()
        var idle = greeted
        for code in [220, 230, 500] { _ = try idle.receive(reply(code)) }
        var (command, raw, transfer) = (idle, idle, idle)
        _ = try command.begin(.commands([FTPCommand("MKD", argument: "x")]), isIPv6: false)
        _ = try raw.begin(.raw(FTPCommand("STAT")), isIPv6: false)
        _ = try transfer.begin(.list([], .names), isIPv6: false)
        _ = try transfer.receive(reply(200))
        _ = try transfer.receive(FTPReply(code: 229, lines: [Array("(|||1|)".utf8)]))
        _ = try transfer.didConnect()
        _ = try transfer.receive(reply(150))
        var settling = transfer
        _ = try transfer.didTransfer(nil)
        _ = try settling.abort()
        return [
            ("greeting", greeted), ("command", command), ("raw", raw), ("final", transfer), ("settle", settling),
        ]
    }

    /// Replies to NOOPs differ from those to a transfer in their codes.
    @Test func onlyRepliesToNOOPsAreTaken() throws {
        var machine = FTPMachine(FTPLogin(user: [0x61], password: []))
        func taken(_ codes: [Int]) -> [Int] { codes.filter { machine.takeKeepAliveReply(Self.reply($0)) } }
        #expect(taken([200, 500]).isEmpty)
        let verb = try machine.keepAlive()?.verb
        #expect(verb == "NOOP" && machine.unansweredKeepAlives == 1)
        #expect(taken([226, 250, 425, 426, 451, 550, 552]).isEmpty)
        #expect(taken([500, 200]) == [500] && machine.unansweredKeepAlives == 0)
        for _ in 0..<FTPMachine.maximumUnansweredKeepAlives { _ = try machine.keepAlive() }
        let next = try machine.keepAlive()
        #expect(next == nil && machine.unansweredKeepAlives == FTPMachine.maximumUnansweredKeepAlives)
    }

    @Test func preliminaryRepliesToOneCommandAreCounted() throws {
        for (step, machine) in try Self.waiting() {
            var machine = machine
            for _ in 0..<FTPMachine.maximumPreliminaryReplies {
                #expect(try machine.receive(Self.reply(120)) == .awaitReply, "\(step)")
            }
            let error = #expect(throws: FTPError.self, "\(step)") { try machine.receive(Self.reply(120)) }
            #expect(error?.code == .unexpectedReply && error?.reply?.code == 120, "\(step)")
            #expect(!machine.isUsable, "\(step)")
        }
    }

    @Test func repliesDuringAResynchronizationAreCounted() throws {
        var machine = try #require(Self.waiting().first { $0.step == "settle" }).machine
        for _ in 1..<FTPMachine.maximumResynchronizationReplies { _ = try machine.receive(Self.reply(226)) }
        let error = #expect(throws: FTPError.self) { try machine.receive(Self.reply(226)) }
        #expect(error?.code == .unexpectedReply && !machine.isUsable)
    }

    @Test func unansweredNOOPsAreCounted() throws {
        var machine = try #require(Self.waiting().first { $0.step == "final" }).machine
        for _ in 0..<FTPMachine.maximumUnansweredKeepAlives { #expect(try machine.keepAlive()?.verb == "NOOP") }
        #expect(try machine.keepAlive() == nil)
        _ = try machine.receive(Self.reply(200))
        #expect(try machine.keepAlive()?.verb == "NOOP")
    }

    /// The error contains the server's reply, which gives the reason.
    @Test func requiredTLSThatIsRefusedEndsTheLogin() throws {
        var login = FTPLogin(user: [0x61], password: [])
        login.control = .required
        var machine = FTPMachine(login)
        _ = machine.begin()
        #expect(try machine.receive(Self.reply(220)) == .send(FTPCommand("AUTH", argument: "TLS")))
        let error = #expect(throws: FTPError.self) { try machine.receive(Self.reply(502)) }
        #expect(error?.code == .notSecure && error?.reply?.code == 502 && !machine.isUsable)
    }

    /// A silent server on a port for AUTH TLS: TLS comes first, then the greeting and the login, without AUTH.
    @Test func beginsWithTLS() throws {
        var login = FTPLogin(user: [0x61], password: [])
        login.control = .required
        login.data = .required
        var machine = FTPMachine(login)
        _ = machine.begin()
        #expect(machine.awaitsPlainGreeting)
        machine.beginsWithTLS()
        // Not again, even if the server stays silent.
        #expect(!machine.awaitsPlainGreeting)
        #expect(try machine.receive(Self.reply(220)) == .send(FTPCommand("USER", argument: "a")))
        #expect(try machine.receive(Self.reply(230)) == .send(FTPCommand("FEAT")))
        #expect(try machine.receive(Self.reply(500)) == .send(FTPCommand("PBSZ", argument: "0")))
        #expect(try machine.receive(Self.reply(200)) == .send(FTPCommand("PROT", argument: "P")))
    }

    @Test func onlyTheServerMayConnect() {
        let (server, other) = (IPAddress.v4(IPv4Address(10, 0, 0, 1)), IPAddress.v4(IPv4Address(10, 0, 0, 2)))
        #expect(FTPMachine.isDataPeer(server, of: server))
        #expect(!FTPMachine.isDataPeer(other, of: server))
        #expect(!FTPMachine.isDataPeer(nil, of: server) && !FTPMachine.isDataPeer(nil, of: nil))
    }

    /// Only a reply to a handshake that silence began is a late greeting.
    @Test(arguments: [(StreamErrorReason?.some(.foreignReply), true), (.foreignProtocol, false), (nil, false)])
    func aLateGreeting(_ reason: StreamErrorReason?, _ isGreeting: Bool) throws {
        let failure = StreamError(domain: .ssl, code: -9800, sentence: Sentence("a", "b"), reason: reason)
        for control in [FTPSecurity.Control.off, .required, .implicit] {
            var login = FTPLogin(user: [0x61], password: [])
            login.control = control
            var machine = FTPMachine(login)
            _ = machine.begin()
            #expect(!machine.hasGreetedLate(failure))
            guard control == .required else { continue }
            machine.beginsWithTLS()
            #expect(machine.hasGreetedLate(failure) == isGreeting)
            _ = try machine.receive(Self.reply(220))
            #expect(!machine.hasGreetedLate(failure))
        }
    }

    /// A server that has greeted does not expect TLS from the first byte, and neither does one whose login has begun.
    @Test func aGreetingEndsTheWaitForTLS() throws {
        for control in [FTPSecurity.Control.off, .required, .implicit] {
            var login = FTPLogin(user: [0x61], password: [])
            login.control = control
            var machine = FTPMachine(login)
            _ = machine.begin()
            if control == .implicit {
                #expect(!machine.awaitsPlainGreeting)
            } else {
                _ = try machine.receive(Self.reply(120))
                _ = try machine.receive(Self.reply(220))
                #expect(!machine.awaitsPlainGreeting)
            }
        }
    }

    @Test func eachCommandHasItsOwnPreliminaryReplies() throws {
        var machine = FTPMachine(FTPLogin(user: [0x61], password: []))
        _ = machine.begin()
        for _ in 0..<FTPMachine.maximumPreliminaryReplies { _ = try machine.receive(Self.reply(120)) }
        for code in [220, 230, 500] { _ = try machine.receive(Self.reply(code)) }
        for _ in 0..<3 {
            _ = try machine.begin(.raw(FTPCommand("STAT")), isIPv6: false)
            for _ in 0..<FTPMachine.maximumPreliminaryReplies { _ = try machine.receive(Self.reply(120)) }
            #expect(try machine.receive(Self.reply(211)) == .ready)
        }
    }

    /// While data is transferred, a refusal decides, and a confirmation does not: data may still be under way.
    @Test func repliesDuringATransfer() throws {
        func transferring() throws -> FTPMachine {
            var machine = FTPMachine(FTPLogin(user: [0x61], password: []))
            _ = machine.begin()
            for code in [220, 230, 500] { _ = try machine.receive(Self.reply(code)) }
            _ = try machine.begin(.list([], .names), isIPv6: false)
            _ = try machine.receive(Self.reply(200))
            _ = try machine.receive(FTPReply(code: 229, lines: [Array("(|||1|)".utf8)]))
            _ = try machine.didConnect()
            _ = try machine.receive(Self.reply(150))
            return machine
        }
        var confirmed = try transferring()
        #expect(try confirmed.receiveDuringTransfer(Self.reply(226)) == nil && confirmed.hasConfirmed)
        #expect(try confirmed.didTransfer(0) == .ready && confirmed.isUsable)
        var refused = try transferring()
        let error = #expect(throws: FTPError.self) { try refused.receiveDuringTransfer(Self.reply(425)) }
        #expect(error?.code == .refused && refused.isUsable)
        var ended = try transferring()
        let end = #expect(throws: FTPError.self) { try ended.receiveDuringTransfer(Self.reply(421)) }
        #expect(end?.code == .connectionLost && !ended.isUsable)
        var empty = try transferring()
        let noFiles = FTPReply(code: 450, lines: [Array("No files found".utf8)])
        #expect(try empty.receiveDuringTransfer(noFiles) == .ready && empty.isUsable)
        // A mirror that took a busy directory for empty would delete.
        var busy = try transferring()
        let refusal = #expect(throws: FTPError.self) { try busy.receiveDuringTransfer(Self.reply(450)) }
        #expect(refusal?.code == .refused && busy.isUsable)
        var alive = try transferring()
        _ = try alive.keepAlive()
        #expect(try alive.receiveDuringTransfer(Self.reply(200)) == nil && !alive.hasConfirmed)
    }

    /// A server that speaks while the client connects is not in step with it.
    @Test(arguments: [425, 226, 150])
    func aReplyWhileConnecting(_ code: Int) throws {
        var machine = FTPMachine(FTPLogin(user: [0x61], password: []))
        _ = machine.begin()
        for code in [220, 230, 500] { _ = try machine.receive(Self.reply(code)) }
        _ = try machine.begin(.list([], .names), isIPv6: false)
        _ = try machine.receive(Self.reply(200))
        _ = try machine.receive(FTPReply(code: 229, lines: [Array("(|||1|)".utf8)]))
        let error = #expect(throws: FTPError.self) { try machine.receive(Self.reply(code)) }
        #expect(error?.code == (code == 425 ? .refused : .unexpectedReply) && !machine.isUsable)
    }

    /// For any replies in any order, the machine continues or throws, and never traps. If TLS is required, nothing that
    /// identifies a user is sent before it.
    @Test func everyReplyAtEveryStep() throws {
        let codes =
            [110, 120, 125, 150, 200, 202, 211, 213, 220, 226, 227, 229, 230, 234, 250, 257, 331, 332, 350, 421, 425]
            + [426, 450, 451, 452, 500, 502, 522, 530, 536, 550, 553]
        let texts = ["", "(|||1|)", "(1,2,3,4,5,6)", "(|||99999|)", "\"", "\"a", "-1", "99999999999999999999999"]
        var state: UInt64 = 1
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for round in 0..<5000 {
            var login = FTPLogin(user: [0x61], password: [0x62])
            login.control = [.off, .preferred, .required, .implicit][random(4)]
            login.data = [.off, .preferred, .required][random(3)]
            login.clearsControl = round % 5 == 0
            login.isPassive = round % 3 != 0
            login.account = random(2) == 0 ? nil : [0x63]
            login.proxyUser = random(2) == 0 ? nil : [0x64]
            let isIPv6 = random(2) == 0
            var isEncrypted = login.control == .implicit
            var machine = FTPMachine(login)
            var action = machine.begin()
            do throws(FTPError) {
                for _ in 0..<40 {
                    if case .send(let command) = action, ["USER", "PASS", "ACCT"].contains(command.verb) {
                        #expect(isEncrypted || login.control == .off || login.control == .preferred)
                    }
                    switch action {
                    case .send, .awaitReply:
                        // Mostly replies with which it continues.
                        let code =
                            random(3) > 0
                            ? [220, 230, 234, 200, 150, 226, 350, 331][random(8)] : codes[random(codes.count)]
                        let text = Array(texts[random(texts.count)].utf8)
                        action = try machine.receive(FTPReply(code: code, lines: [text]))
                    case .startTLS:
                        isEncrypted = true
                        action = try machine.didStartTLS()
                    case .endTLS: action = machine.didEndTLS()
                    case .connect where random(3) == 0:
                        guard let next = try machine.didFailToConnect() else { break }
                        action = next
                    case .connect: action = try machine.didConnect()
                    case .listen:
                        action = try machine.didListen(at: .ip(isIPv6 ? .v6(.loopback) : .v4(.loopback), port: 1))
                    case .transfer where random(2) == 0:
                        let code = codes[random(codes.count)]
                        action = try machine.receiveDuringTransfer(FTPReply(code: code, lines: [[]])) ?? .transfer
                    case .transfer: action = try machine.didTransfer(random(2) == 0 ? UInt64(random(9)) : nil)
                    case .ready:
                        guard machine.isUsable else { break }
                        let path = Array("x".utf8)
                        let jobs: [FTPJob] = [
                            .retrieve(
                                path, offset: UInt64(random(2)), asksSize: random(2) == 0, isASCII: random(2) == 0),
                            .list(random(2) == 0 ? path : [], .automatic), .store(path, .append, isASCII: false),
                            .size(path),
                            .commands([try FTPCommand("RNFR", bytes: path), try FTPCommand("RNTO", bytes: path)]),
                            .raw(try FTPCommand("NOOP")),
                        ]
                        action = try machine.begin(jobs[random(jobs.count)], isIPv6: isIPv6)
                    }
                }
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }
}
