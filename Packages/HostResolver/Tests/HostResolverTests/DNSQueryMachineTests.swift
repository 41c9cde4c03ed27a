import DNSWire
import Testing

@_spi(Packages) @testable import HostResolver

@Suite struct DNSQueryMachineTests {
    private static let question = DNSQuestion(DNSName("www.example.org")!, .a)
    private static let servers = [SocketAddress("192.0.2.1:53")!, SocketAddress("[2001:db8::1]:53")!]

    /// A machine with a clock and a random source.
    fileprivate final class Rig {
        var machine: DNSQueryMachine
        var random = SeededRandom(seed: 6)
        var now = ContinuousClock.now

        init(
            _ change: (inout ResolverConfiguration) -> Void = { _ in }, firstServer: Int = 0,
            withoutEDNS known: Set<SocketAddress> = [], folding: Set<SocketAddress> = []
        ) {
            var configuration = ResolverConfiguration(servers: DNSQueryMachineTests.servers)
            configuration.timeout = .seconds(4)
            change(&configuration)
            machine = DNSQueryMachine(
                DNSQueryMachineTests.question, configuration: configuration, firstServer: firstServer,
                withoutEDNS: known, folding: folding)
        }

        func copy() -> Rig {
            let copy = Rig()
            (copy.machine, copy.random, copy.now) = (machine, random, now)
            return copy
        }

        func next() -> DNSQueryMachine.Action { machine.next(now: now, using: &random) }

        /// The next action, if it is a transmission; otherwise nil.
        func sent() -> DNSQueryMachine.Transmission? {
            if case .send(let transmission) = next() { transmission } else { nil }
        }

        /// Advances the time to the end of the machine's wait, and returns its length; nil if the next action is not a
        /// wait.
        func passTime() -> Duration? {
            guard case .wait(let time) = next() else { return nil }
            defer { now = time }
            return now.duration(to: time)
        }

        func error() -> ResolverError? {
            if case .finish(.failure(let error)) = next() { error } else { nil }
        }

        var isFinished: Bool {
            var machine = machine
            var random = random
            if case .finish = machine.next(now: now, using: &random) { return true }
            return false
        }

        func receive(
            _ transmission: DNSQueryMachine.Transmission, from source: SocketAddress? = nil,
            _ change: (inout DNSMessage) -> Void = { _ in }
        ) {
            let bytes = DNSQueryMachineTests.reply(to: transmission, change)
            machine.received(bytes, for: transmission.number, from: source, now: now)
        }
    }

    /// The bytes of a correct answer after `change`.
    private static func reply(
        to transmission: DNSQueryMachine.Transmission, _ change: (inout DNSMessage) -> Void
    ) -> [UInt8] {
        guard var message = try? DNSMessage(wire: transmission.bytes) else { return [] }
        message.header.isResponse = true
        message.header.offersRecursion = true
        message.answers = [DNSRecord(message.questions[0].name, timeToLive: 60, .a(.loopback))]
        change(&message)
        return (try? message.wireForm()) ?? []
    }

    @Test func queriesAndAcceptsTheAnswer() throws {
        let rig = Rig()
        let sent = try #require(rig.sent())
        #expect(sent.server == Self.servers[0] && sent.transport == .udp)
        let query = try DNSMessage(wire: sent.bytes)
        #expect(query.questions == [Self.question] && query.header.wantsRecursion && !query.header.isResponse)
        #expect(query.extensionRecord?.recordClass == DNSQueryMachine.payloadSize)
        #expect(rig.passTime() == .seconds(2))
        rig.now -= .seconds(1)
        rig.receive(sent, from: Self.servers[0])
        guard case .finish(.success(let message)) = rig.next() else {
            Issue.record("no answer")
            return
        }
        #expect(message.answers.count == 1)
        #expect(
            rig.machine.outcomes == [ServerOutcome(server: Self.servers[0], result: .answered, elapsed: .seconds(1))])
    }

    /// Compressed names that point into the question have the case of the original question, not the random case of the
    /// query.
    @Test(arguments: [false, true]) func hidesItsRandomCase(usesTCP: Bool) throws {
        let rig = Rig { $0.usesTCPOnly = usesTCP }
        let sent = try #require(rig.sent())
        let asked = try DNSMessage(wire: sent.bytes).questions[0].name
        #expect(asked.wireForm != Self.question.name.wireForm, "the seed changes at least one letter")
        rig.receive(sent) { message in
            let mail = DNSName(labels: [Array("mAil".utf8)] + asked.labels.dropFirst())!
            message.answers.append(DNSRecord(asked, timeToLive: 60, .cname(mail)))
        }
        guard case .finish(.success(let message)) = rig.next() else {
            Issue.record("no answer")
            return
        }
        #expect(message.answers.map(\.name.description) == ["www.example.org.", "www.example.org."])
        guard case .cname(let target) = message.answers[1].data else { return }
        #expect(target.description == "mAil.example.org.")
    }

    /// The attempts of an off-path attacker (RFC 5452; ldns 2026, FreeBSD fc0c7763) are ignored, and the true answer is
    /// accepted afterwards.
    @Test(arguments: [
        "wrong id", "wrong server", "wrong port", "wrong question", "wrong type", "wrong class", "two questions",
        "no question",
        "a query", "another opcode", "garbage", "nothing", "unknown number",
    ])
    func ignoresForgeries(kind: String) throws {
        let rig = Rig()
        let sent = try #require(rig.sent())
        let before = rig.next()
        switch kind {
        case "wrong id": rig.receive(sent) { $0.header.id ^= 1 }
        case "wrong server": rig.receive(sent, from: Self.servers[1])
        case "wrong port": rig.receive(sent, from: SocketAddress("192.0.2.1:54")!)
        case "wrong question": rig.receive(sent) { $0.questions[0].name = DNSName("evil.example")! }
        case "wrong type": rig.receive(sent) { $0.questions[0].type = .aaaa }
        case "wrong class": rig.receive(sent) { $0.questions[0].recordClass = 3 }
        case "two questions": rig.receive(sent) { $0.questions += $0.questions }
        case "no question": rig.receive(sent) { $0.questions = [] }
        case "a query": rig.receive(sent) { $0.header.isResponse = false }
        case "another opcode": rig.receive(sent) { $0.header.bits |= 2 << 11 }
        case "garbage": rig.machine.received([1, 2, 3], for: sent.number, from: nil, now: rig.now)
        case "nothing": rig.machine.received([], for: sent.number, from: nil, now: rig.now)
        default: rig.machine.received(Self.reply(to: sent) { _ in }, for: 7, from: nil, now: rig.now)
        }
        #expect(rig.next() == before)
        #expect(rig.machine.outcomes.isEmpty)
        rig.receive(sent)
        #expect(rig.isFinished)
    }

    @Test func eachTransmissionHasANewIDAndCase() throws {
        let rig = Rig { $0.attempts = 5 }
        var seen: Set<[UInt8]> = []
        for _ in 0..<10 {
            let sent = try #require(rig.sent())
            seen.insert(sent.bytes)
            _ = rig.passTime()
        }
        #expect(seen.count == 10)
        #expect(Set(seen.map { $0[..<2] }).count == 10)
        #expect(Set(seen.map { $0[12..<29] }).count == 10)
    }

    @Test func aChangedCaseIsVerifiedOverTCP() throws {
        let rig = Rig()
        let sent = try #require(rig.sent())
        let folded = DNSName(wire: Self.question.name.wireForm.map { (65...90).contains($0) ? $0 | 32 : $0 })
        rig.receive(sent) { $0.questions[0].name = folded }
        let overTCP = try #require(rig.sent())
        #expect(overTCP.transport == .tcp && overTCP.server == sent.server)
        // A second forgery does not cause another transmission.
        rig.receive(sent) { $0.questions[0].name = folded }
        #expect(rig.sent() == nil)
        // Over TCP, the answer of a server that folds the case is accepted.
        rig.receive(overTCP) { $0.questions[0].name = folded }
        #expect(rig.isFinished)
    }

    private static let folded = DNSName(wire: question.name.wireForm.map { (65...90).contains($0) ? $0 | 32 : $0 })

    /// A rig whose server has answered by UDP with another case, and does not answer over TCP: the next query is by UDP.
    private func rigWithoutTCP(_ failure: ServerOutcome.Result?) throws -> Rig {
        let rig = Rig()
        let sent = try #require(rig.sent())
        rig.receive(sent) { $0.questions[0].name = Self.folded }
        let overTCP = try #require(rig.sent())
        #expect(overTCP.transport == .tcp)
        if let failure {
            rig.machine.failed(overTCP.number, failure, now: rig.now)
        } else {
            #expect(rig.passTime() == .seconds(2))
        }
        return rig
    }

    /// Its second answer must agree with the first one. The order of the records and their times may change.
    @Test(arguments: [.unreachable, .connectionFailed, nil] as [ServerOutcome.Result?])
    func aServerThatFoldsTheCaseWithoutTCPIsAskedTwice(_ failure: ServerOutcome.Result?) throws {
        let rig = try rigWithoutTCP(failure)
        let again = try #require(rig.sent())
        #expect(again.transport == .udp && again.server == Self.servers[0] && again.hasEDNS)
        #expect(again.question.name.wireForm == Self.folded.wireForm)
        rig.receive(again) { $0.answers[0].timeToLive = 7 }
        #expect(rig.isFinished && rig.machine.outcomes.map(\.result) == [.answered])
        #expect(rig.machine.foldingServer == Self.servers[0])
    }

    @Test func anAnswerThatDisagreesIsRefused() throws {
        let rig = try rigWithoutTCP(.unreachable)
        rig.receive(try #require(rig.sent())) { message in
            message.answers = [DNSRecord(message.questions[0].name, timeToLive: 60, .a(IPv4Address(192, 0, 2, 66)))]
        }
        #expect(rig.machine.outcomes.map(\.result) == [.malformed] && rig.machine.foldingServer == nil)
        let next = try #require(rig.sent())
        #expect(next.server == Self.servers[1] && next.question.name.wireForm != Self.folded.wireForm)
    }

    @Test func aServerThatIsKnownToFoldTheCaseIsAskedOnce() throws {
        let rig = Rig(folding: [Self.servers[0]])
        let sent = try #require(rig.sent())
        #expect(sent.transport == .udp && sent.question.name.wireForm == Self.folded.wireForm)
        rig.receive(sent)
        #expect(rig.isFinished && rig.machine.foldingServer == nil)
    }

    @Test func serversThatFoldTheCaseAreForgotten() {
        var memory = FoldingServers()
        let start = ContinuousClock.now
        let end = start + ServersWithoutEDNS.time
        memory.note(Self.servers[0], now: start)
        #expect(memory.servers(now: end - .seconds(1)) == [Self.servers[0]] && memory.servers(now: end).isEmpty)
        for port in 1...UInt16(2 * ServersWithoutEDNS.maximumCount) {
            memory.note(.ip(.v4(.loopback), port: port), now: start)
        }
        #expect(memory.servers(now: start).count == ServersWithoutEDNS.maximumCount)
    }

    /// A record that cannot be read costs the answer only if it may be all of it.
    @Test(
        arguments: [
            ([.other(.a, [1, 2, 3]), .a(.loopback)], true), ([.a(.loopback), .other(.txt, [9, 1])], true),
            ([.other(.txt, [9, 1])], true), ([.other(.a, [1, 2, 3])], false),
            ([.other(.cname, [3]), .a(.loopback)], false),
        ] as [([DNSRecordData], Bool)])
    func anUnreadableRecordIsSkipped(_ data: [DNSRecordData], isAnswer: Bool) throws {
        let rig = Rig { $0.usesEDNS = false }
        let name = Self.question.name
        rig.receive(try #require(rig.sent())) { $0.answers = data.map { DNSRecord(name, timeToLive: 60, $0) } }
        #expect(rig.machine.outcomes.map(\.result) == [isAnswer ? .answered : .malformed])
    }

    /// Only the first pseudo-record counts, in every section that may have one (RFC 6891 §6.1.1 speaks of queries).
    @Test func aSecondPseudoRecordIsSkipped() throws {
        let rig = Rig()
        let record = { DNSRecord(.root, type: .opt, recordClass: 512, timeToLive: $0 << 24, .other(.opt, [])) }
        rig.receive(try #require(rig.sent())) { $0.additionals = [record(0), record(1), record(2)] }
        guard case .finish(.success(let message)) = rig.next() else {
            Issue.record("no answer")
            return
        }
        #expect(message.additionals == [record(0)])
    }

    @Test func aTruncatedAnswerIsFetchedOverTCP() throws {
        let rig = Rig()
        let sent = try #require(rig.sent())
        rig.receive(sent) { $0.header.isTruncated = true }
        let overTCP = try #require(rig.sent())
        #expect(overTCP.transport == .tcp && overTCP.server == sent.server && overTCP.number == 1)
        rig.machine.failed(overTCP.number, .connectionFailed, now: rig.now)
        // Without EDNS, the answer may fit into a datagram.
        let plain = try #require(rig.sent())
        #expect(plain.transport == .udp && plain.server == sent.server && !plain.hasEDNS)
        rig.receive(plain) { $0.header.isTruncated = true }
        let plainOverTCP = try #require(rig.sent())
        #expect(plainOverTCP.transport == .tcp && plainOverTCP.server == sent.server && !plainOverTCP.hasEDNS)
        rig.machine.failed(plainOverTCP.number, .connectionFailed, now: rig.now)
        #expect(rig.machine.outcomes.map(\.result) == [.connectionFailed])
        #expect(try #require(rig.sent()).server == Self.servers[1])
    }

    private static func addresses(_ count: UInt8) -> (inout DNSMessage) -> Void {
        { message in
            message.header.isTruncated = true
            message.answers = (0..<count).map {
                DNSRecord(message.questions[0].name, timeToLive: 60, .a(IPv4Address(192, 0, 2, $0)))
            }
        }
    }

    /// The records of the answer; nil if the query has not succeeded. All answers of these tests are truncated.
    private static func truncatedCount(_ rig: Rig) -> Int? {
        guard case .finish(.success(let message)) = rig.next(), message.header.isTruncated else { return nil }
        return message.answers.count
    }

    /// Once each server has failed, the records that have arrived are the answer, however TCP has failed. There is no second round.
    @Test(arguments: [.unreachable, .connectionFailed, nil] as [ServerOutcome.Result?])
    func aTruncatedAnswerIsTheLastResort(_ failure: ServerOutcome.Result?) throws {
        let rig = Rig { $0.usesEDNS = false }
        rig.receive(try #require(rig.sent()), Self.addresses(2))
        let overTCP = try #require(rig.sent())
        #expect(overTCP.transport == .tcp)
        if let failure {
            rig.machine.failed(overTCP.number, failure, now: rig.now)
        } else {
            #expect(rig.passTime() == .seconds(4))
        }
        let next = try #require(rig.sent())
        #expect(next.server == Self.servers[1] && next.transport == .udp)
        rig.receive(next) { $0.header.shortResponseCode = 2 }
        #expect(Self.truncatedCount(rig) == 2)
        #expect(rig.machine.outcomes.map(\.result) == [failure ?? .timedOut, .serverFailure])
    }

    @Test func theWholeAnswerOfAnotherServerIsTaken() throws {
        let rig = Rig { $0.usesEDNS = false }
        rig.receive(try #require(rig.sent()), Self.addresses(2))
        rig.machine.failed(try #require(rig.sent()).number, .unreachable, now: rig.now)
        rig.receive(try #require(rig.sent()))
        #expect(rig.isFinished && Self.truncatedCount(rig) == nil)
    }

    /// The query without EDNS has a smaller answer, and an answer that comes late counts as well.
    @Test func theTruncatedAnswerWithTheMostRecordsCounts() throws {
        let rig = Rig { $0.servers = [Self.servers[0]] }
        let sent = try #require(rig.sent())
        rig.receive(sent, Self.addresses(3))
        rig.machine.failed(try #require(rig.sent()).number, .connectionFailed, now: rig.now)
        let plain = try #require(rig.sent())
        rig.receive(plain, Self.addresses(1))
        let late = rig.copy()
        late.receive(sent, Self.addresses(4))
        for (rig, count) in [(rig, 3), (late, 4)] {
            rig.machine.failed(try #require(rig.sent()).number, .connectionFailed, now: rig.now)
            #expect(Self.truncatedCount(rig) == count)
        }
    }

    /// A truncated answer without records of the type, with an error, or with another case of the question is no answer.
    @Test(arguments: ["none", "another type", "SERVFAIL", "another case", "misplaced EDNS"])
    func aTruncatedAnswerThatCannotBeUsedIsNotTaken(_ kind: String) throws {
        let rig = Rig { $0.servers = [Self.servers[0]] }
        while let sent = rig.sent() {
            guard sent.transport == .udp else {
                rig.machine.failed(sent.number, .unreachable, now: rig.now)
                continue
            }
            rig.receive(sent) { message in
                Self.addresses(2)(&message)
                switch kind {
                case "none": message.answers = []
                case "another type":
                    message.answers = [DNSRecord(message.questions[0].name, timeToLive: 60, .txt([[1]]))]
                case "SERVFAIL": message.header.shortResponseCode = 2
                case "another case": message.questions[0].name = Self.folded
                default: message.answers.append(message.additionals.removeLast())
                }
            }
        }
        #expect(rig.error()?.code == .temporaryFailure)
        #expect(rig.machine.outcomes.map(\.result) == [.unreachable, .unreachable])
    }

    /// Two answers without a random case must agree as a whole.
    @Test func aTruncatedAnswerConfirmsNoOther() throws {
        let rig = try rigWithoutTCP(.unreachable)
        rig.receive(try #require(rig.sent()), Self.addresses(2))
        while let sent = rig.sent() { rig.machine.failed(sent.number, .unreachable, now: rig.now) }
        #expect(rig.error()?.code == .temporaryFailure)
    }

    /// A way in which a server, or a box in front of it, breaks EDNS.
    enum Breakage: CaseIterable {
        case silence, formatError, notImplemented, badVersion, serverFailure, refused, unknownCode, noRecursion
        case pseudoRecordInAnswer, pseudoRecordInAuthority, cutOff, connectionLost

        /// What it shows about EDNS, once the server answers without it.
        var sign: EDNSSign.Kind? {
            switch self {
            case .silence: .silence
            case .formatError, .notImplemented, .badVersion, .pseudoRecordInAnswer, .pseudoRecordInAuthority: .rejection
            case .serverFailure, .refused, .unknownCode, .noRecursion, .cutOff, .connectionLost: nil
            }
        }

        /// The failure of a server that breaks the query without EDNS as well.
        var outcome: ServerOutcome.Result {
            switch self {
            case .silence: .timedOut
            case .formatError, .notImplemented, .badVersion, .unknownCode: .notUnderstood
            case .serverFailure: .serverFailure
            case .refused, .noRecursion: .refused
            case .pseudoRecordInAnswer, .pseudoRecordInAuthority: .answered
            case .cutOff: .malformed
            case .connectionLost: .connectionFailed
            }
        }

        fileprivate func happen(to sent: DNSQueryMachine.Transmission, in rig: Rig) {
            let pseudoRecord = DNSRecord(.root, type: .opt, recordClass: 512, timeToLive: 0, .other(.opt, []))
            func fail(_ code: UInt8) {
                rig.receive(sent) { message in
                    message.header.shortResponseCode = code
                    message.answers = []
                    message.additionals = []
                }
            }
            switch self {
            case .silence: _ = rig.passTime()
            case .formatError: fail(1)
            case .notImplemented: fail(4)
            case .badVersion:
                rig.receive(sent) { message in
                    message.answers = []
                    message.additionals = [
                        DNSRecord(.root, type: .opt, recordClass: 512, timeToLive: 1 << 24, .other(.opt, []))
                    ]
                }
            case .serverFailure: fail(2)
            case .refused: fail(5)
            case .unknownCode: fail(9)
            case .noRecursion:
                rig.receive(sent) { message in
                    message.header.offersRecursion = false
                    message.answers = []
                }
            case .pseudoRecordInAnswer:
                rig.receive(sent) { message in
                    message.additionals = message.answers
                    message.answers = [pseudoRecord]
                }
            case .pseudoRecordInAuthority:
                rig.receive(sent) { message in
                    message.authorities = [pseudoRecord]
                    message.additionals = []
                }
            case .cutOff:
                let bytes = DNSQueryMachineTests.reply(to: sent) { _ in }
                rig.machine.received(Array(bytes.dropLast()), for: sent.number, from: nil, now: rig.now)
            case .connectionLost: rig.machine.failed(sent.number, .connectionFailed, now: rig.now)
            }
        }
    }

    /// Each way in which EDNS is broken leads to one query of the same server without it, whose answer counts.
    @Test(arguments: Breakage.allCases) func aServerThatBreaksEDNSIsQueriedWithoutIt(_ breakage: Breakage) throws {
        let rig = Rig()
        let sent = try #require(rig.sent())
        #expect(sent.hasEDNS)
        breakage.happen(to: sent, in: rig)
        let plain = try #require(rig.sent())
        #expect(plain.server == sent.server && plain.transport == .udp && !plain.hasEDNS)
        #expect(try DNSMessage(wire: plain.bytes).additionals.isEmpty)
        #expect(rig.machine.ednsSign == nil)
        rig.receive(plain)
        #expect(rig.isFinished && rig.machine.outcomes.map(\.result) == [.answered])
        #expect(rig.machine.ednsSign == breakage.sign.map { EDNSSign(server: sent.server, kind: $0) })
    }

    /// EDNS was not the reason if the query without it fails as well: the next server follows, and is queried with EDNS.
    @Test(arguments: Breakage.allCases) func aServerThatFailsWithoutEDNSHasFailed(_ breakage: Breakage) throws {
        let rig = Rig { $0.attempts = 1 }
        let sent = try #require(rig.sent())
        breakage.happen(to: sent, in: rig)
        breakage.happen(to: try #require(rig.sent()), in: rig)
        #expect(rig.machine.ednsSign == nil || breakage.outcome == .answered)
        if breakage.outcome == .answered { return }
        let next = try #require(rig.sent())
        #expect(rig.machine.outcomes.map(\.result) == [breakage.outcome])
        #expect(next.server == Self.servers[1] && next.hasEDNS)
    }

    /// The two queries share the server's time, and a late answer to the first one counts.
    @Test func silenceCostsHalfOfTheServersTime() throws {
        let rig = Rig { $0.attempts = 2 }
        let sent = try #require(rig.sent())
        #expect(rig.passTime() == .seconds(2))
        #expect(try #require(rig.sent()).server == sent.server)
        #expect(rig.passTime() == .seconds(2))
        #expect(try #require(rig.sent()).server == Self.servers[1])
        #expect(rig.machine.outcomes == [ServerOutcome(server: sent.server, result: .timedOut, elapsed: .seconds(4))])
        #expect(rig.passTime() == .seconds(2))
        _ = try #require(rig.sent())
        #expect(rig.passTime() == .seconds(2))
        // In the second round, no time is divided.
        let again = try #require(rig.sent())
        #expect(again.server == sent.server && !again.hasEDNS)
        #expect(rig.passTime() == .seconds(4))
        rig.receive(sent)
        #expect(rig.isFinished)
        #expect(rig.machine.ednsSign == EDNSSign(server: sent.server, kind: .support))
    }

    @Test func aServerThatIsKnownToBreakEDNSIsNotQueriedWithIt() throws {
        let rig = Rig(withoutEDNS: [Self.servers[0]])
        let sent = try #require(rig.sent())
        #expect(sent.server == Self.servers[0] && !sent.hasEDNS)
        #expect(rig.passTime() == .seconds(4))
        #expect(try #require(rig.sent()).hasEDNS)
        rig.receive(sent)
        #expect(rig.isFinished && rig.machine.ednsSign == nil)
    }

    /// What happens in this order, for one server, and whether it then breaks EDNS.
    @Test(
        arguments: [
            ([("a", .rejection)], true), ([("a", .silence)], false), ([("a", .silence), ("A", .silence)], false),
            ([("a", .silence), ("b", .silence)], true), ([("a", .silence), ("a", .rejection)], true),
            ([("a", .rejection), ("b", .support)], false), ([("a", .rejection), ("b", .silence)], true),
            ([("a", .silence), ("b", .support), ("c", .silence)], false),
            ([("a", .silence), ("b", .silence), ("c", .silence)], true),
        ] as [([(String, EDNSSign.Kind)], Bool)])
    func whatShowsThatAServerBreaksEDNS(_ signs: [(String, EDNSSign.Kind)], _ expected: Bool) throws {
        var memory = ServersWithoutEDNS()
        let now = ContinuousClock.now
        for (name, kind) in signs {
            memory.note(EDNSSign(server: Self.servers[0], kind: kind), of: DNSName(name)!, now: now)
        }
        #expect(memory.servers(now: now) == (expected ? [Self.servers[0]] : []))
    }

    @Test func serversThatBreakEDNSAreForgotten() throws {
        var memory = ServersWithoutEDNS()
        func insert(_ server: SocketAddress, _ now: ContinuousClock.Instant) {
            memory.note(EDNSSign(server: server, kind: .rejection), of: .root, now: now)
        }
        let start = ContinuousClock.now
        let end = start + ServersWithoutEDNS.time
        #expect(memory.servers(now: start).isEmpty)
        insert(Self.servers[0], start)
        insert(Self.servers[0], end - .seconds(1))
        insert(Self.servers[1], end - .seconds(1))
        #expect(memory.servers(now: end - .seconds(1)) == Set(Self.servers))
        #expect(memory.servers(now: end) == [Self.servers[1]])
        for port in 1...UInt16(2 * ServersWithoutEDNS.maximumCount) {
            insert(.ip(.v4(.loopback), port: port), end)
        }
        #expect(memory.servers(now: end).count == ServersWithoutEDNS.maximumCount)
    }

    @Test func serversWithoutEDNSAreQueriedWithoutIt() throws {
        for code: UInt8 in [1, 4] {
            for hasQuestion in [true, false] {
                let rig = Rig()
                let sent = try #require(rig.sent())
                rig.receive(sent) { message in
                    message.header.shortResponseCode = code
                    message.answers = []
                    message.additionals = []
                    if !hasQuestion { message.questions = [] }
                }
                let plain = try #require(rig.sent())
                #expect(plain.server == sent.server && plain.transport == .udp)
                #expect(try DNSMessage(wire: plain.bytes).additionals.isEmpty)
                // Without EDNS, the same response code rejects the query itself.
                rig.receive(plain) { $0.header.shortResponseCode = code }
                #expect(rig.machine.outcomes.map(\.result) == [.notUnderstood])
            }
        }
    }

    @Test(
        arguments: [
            (2, ServerOutcome.Result.serverFailure), (5, .refused), (4, .notUnderstood), (9, .notUnderstood),
            (0, .refused),
        ] as [(UInt8, ServerOutcome.Result)])
    func failuresLeadToTheNextServer(code: UInt8, outcome: ServerOutcome.Result) throws {
        let rig = Rig { $0.usesEDNS = false }
        let sent = try #require(rig.sent())
        rig.receive(sent) { message in
            message.header.shortResponseCode = code
            message.header.offersRecursion = false
            message.answers = []
        }
        #expect(rig.machine.outcomes.map(\.result) == [outcome])
        #expect(try #require(rig.sent()).server == Self.servers[1])
    }

    @Test func aNegativeAnswerIsAnAnswer() throws {
        for code: UInt8 in [0, 3] {
            let rig = Rig()
            let sent = try #require(rig.sent())
            rig.receive(sent) { message in
                message.header.shortResponseCode = code
                message.answers = []
            }
            #expect(rig.isFinished && rig.machine.outcomes.map(\.result) == [.answered])
        }
    }

    @Test func aMalformedAnswerLeadsToTheNextServer() throws {
        let rig = Rig { $0.usesEDNS = false }
        let sent = try #require(rig.sent())
        let bytes = Self.reply(to: sent) { _ in }
        rig.machine.received(Array(bytes.dropLast()), for: sent.number, from: nil, now: rig.now)
        #expect(rig.machine.outcomes.map(\.result) == [.malformed])
    }

    @Test func survivesEveryTruncation() throws {
        let rig = Rig()
        let sent = try #require(rig.sent())
        let bytes = Self.reply(to: sent) { _ in }
        for length in 0..<bytes.count {
            let copy = rig.copy()
            copy.machine.received(Array(bytes.prefix(length)), for: sent.number, from: nil, now: rig.now)
            #expect(copy.machine.outcomes.allSatisfy { $0.result == .malformed })
            #expect(!copy.isFinished)
        }
    }

    @Test func triesAllServersAndGivesUp() throws {
        let rig = Rig { configuration in
            configuration.attempts = 3
            configuration.usesEDNS = false
        }
        var waits: [Duration] = []
        var servers: [SocketAddress] = []
        while let sent = rig.sent() {
            servers.append(sent.server)
            waits.append(try #require(rig.passTime()))
        }
        #expect(servers == Self.servers + Self.servers + Self.servers)
        #expect(waits == [.seconds(4), .seconds(4), .seconds(4), .seconds(4), .seconds(8), .seconds(8)])
        let error = try #require(rig.error())
        #expect(error.code == .timedOut)
        #expect(error.servers.map(\.result) == Array(repeating: .timedOut, count: 6))
        #expect(error.servers[0].elapsed == .seconds(4))
    }

    @Test func aLateAnswerIsAccepted() throws {
        let rig = Rig { $0.usesEDNS = false }
        let first = try #require(rig.sent())
        _ = rig.passTime()
        let second = try #require(rig.sent())
        #expect(second.server == Self.servers[1])
        // The first server's late failure is ignored; its late answer ends the query.
        rig.receive(first) { $0.header.shortResponseCode = 2 }
        #expect(rig.machine.outcomes.map(\.result) == [.timedOut])
        rig.receive(first)
        #expect(rig.isFinished)
        #expect(rig.machine.outcomes.map(\.server) == [Self.servers[0], Self.servers[0]])
        #expect(rig.machine.outcomes.map(\.result) == [.timedOut, .answered])
    }

    @Test func reportedFailuresTakePrecedenceOverTimeouts() throws {
        let rig = Rig { configuration in
            configuration.attempts = 1
            configuration.usesEDNS = false
        }
        rig.receive(try #require(rig.sent())) { $0.header.shortResponseCode = 2 }
        _ = try #require(rig.sent())
        _ = rig.passTime()
        let error = try #require(rig.error())
        #expect(error.code == .serverFailed)
        #expect(error.servers.map(\.result) == [.serverFailure, .timedOut])
        #expect(error.description.contains("192.0.2.1:53 SERVFAIL, [2001:db8::1]:53 timed out"))
    }

    @Test func doesNotWaitForUnreachableServers() throws {
        let rig = Rig { $0.attempts = 1 }
        while let sent = rig.sent() { rig.machine.failed(sent.number, .unreachable, now: rig.now) }
        #expect(try #require(rig.error()).code == .temporaryFailure)
    }

    @Test func rotatesIfConfigured() throws {
        for first in 0..<4 {
            let rotating = Rig({ $0.rotatesServers = true }, firstServer: first)
            #expect(try #require(rotating.sent()).server == Self.servers[first % 2])
            let fixed = Rig(firstServer: first)
            #expect(try #require(fixed.sent()).server == Self.servers[0])
        }
    }

    @Test func usesTCPOnlyIfConfigured() throws {
        let rig = Rig { $0.usesTCPOnly = true }
        #expect(try #require(rig.sent()).transport == .tcp)
    }

    @Test func failsWithoutServers() {
        let rig = Rig { $0.servers = [] }
        #expect(rig.error()?.code == .noServers)
    }

    @Test func survivesRandomAnswers() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<300 {
            let rig = Rig()
            for _ in 0..<40 {
                switch rig.next() {
                case .finish: break
                case .wait(let time): rig.now = time
                case .send(let sent):
                    var bytes = Self.reply(to: sent) { _ in }
                    for _ in 0..<Int.random(in: 0...4, using: &random) {
                        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                            in: 0...255, using: &random)
                    }
                    rig.machine.received(bytes, for: sent.number, from: nil, now: rig.now)
                }
            }
            #expect(rig.isFinished)
        }
    }

    /// Forged datagrams, however many, are dropped on receipt and leave room for the true answer.
    @Test func forgedDatagramsDoNotDisplaceTheAnswer() throws {
        let rig = Rig()
        let sent = try #require(rig.sent())
        let mailbox = TransmissionDriver.makeMailbox()
        let driver = TransmissionDriver(transmission: sent, mailbox: mailbox)
        let genuine = Self.reply(to: sent) { _ in }
        let other = DNSQuestion(DNSName("evil.example.org")!, .a)
        let forged = [
            Self.reply(to: sent) { $0.header.id ^= 1 }, Self.reply(to: sent) { $0.header.isResponse = false },
            Self.reply(to: sent) { $0.questions = [other] }, Self.reply(to: sent) { $0.questions = [] },
            Self.reply(to: sent) { $0.questions.append(other) }, Array(genuine.prefix(11)), [],
        ]
        for _ in 0...TransmissionDriver.maximumWaitingEvents {
            for bytes in forged { #expect(!driver.deliver(bytes)) }
        }
        #expect(driver.deliver(genuine))
        let events = mailbox.takeAll()
        try #require(events.count == 1)
        guard case .received(genuine, number: sent.number) = events[0] else {
            Issue.record("\(events)")
            return
        }
    }

    /// A server that repeats its answer fills the mailbox, which still accepts the failure of a transmission.
    @Test func failuresReachAFullMailbox() throws {
        let sent = try #require(Rig().sent())
        let driver = TransmissionDriver(transmission: sent, mailbox: TransmissionDriver.makeMailbox())
        let genuine = Self.reply(to: sent) { _ in }
        for _ in 0..<2 * TransmissionDriver.maximumWaitingEvents { #expect(driver.deliver(genuine)) }
        driver.fail(.unreachable)
        let events = driver.mailbox.takeAll()
        #expect(events.count == TransmissionDriver.maximumWaitingEvents + 1)
        guard case .failed(.unreachable, number: sent.number) = events.last else {
            Issue.record("\(events)")
            return
        }
    }

    /// The kernel watches no more descriptors, or the event loop ends. Reading again at once would never end.
    /// A failure of this machine is not the server's.
    @Test(
        arguments: [
            (.failed(28), ["local 28"]), (.failed(24), ["local 24"]), (.busy, ["unreachable"]), (.closed, []),
            (.cancelled, []),
        ] as [(Wake, [String])])
    func aFailedWaitEndsTheTransmission(_ wake: Wake, _ expected: [String]) throws {
        let sent = try #require(Rig().sent())
        let driver = TransmissionDriver(transmission: sent, mailbox: TransmissionDriver.makeMailbox())
        #expect(!driver.heed(wake))
        let events = driver.mailbox.takeAll().map { event in
            switch event {
            case .received: "received"
            case .failed(let result, _): result.rawValue
            case .localFailure(let number): "local \(number)"
            }
        }
        #expect(events == expected)
    }
}
