import DNSWire
import Testing

@testable import HostResolver

@Suite struct DNSAnswerMachineTests {
    private let question = DNSQuestion(DNSName("www.example.org")!, .a)

    private func message(
        _ answers: [DNSRecord], code: UInt8 = 0, soa: (zone: String, time: UInt32, minimum: UInt32)? = nil
    ) -> DNSMessage {
        var message = DNSMessage(header: DNSHeader(id: 1, bits: 0x80A0 | UInt16(code)), answers: answers)
        if let soa {
            let data = DNSStartOfAuthority(
                primary: .root, mailbox: .root, serial: 0, refresh: 0, retry: 0, expire: 0, minimum: soa.minimum)
            message.authorities = [DNSRecord(DNSName(soa.zone)!, timeToLive: soa.time, .soa(data))]
        }
        return message
    }

    private func alias(_ name: String, _ target: String, _ time: UInt32 = 60) -> DNSRecord {
        DNSRecord(DNSName(name)!, timeToLive: time, .cname(DNSName(target)!))
    }

    private func address(_ name: String, _ time: UInt32 = 60) -> DNSRecord {
        DNSRecord(DNSName(name)!, timeToLive: time, .a(.loopback))
    }

    @Test func followsAliasesInOneMessage() throws {
        var machine = DNSAnswerMachine(question, trustsAuthenticatedData: false)
        let answers = [
            address("c.example", 50), alias("b.example", "c.example", 40), alias("WWW.example.org", "b.example", 90),
        ]
        guard case .found(let answer) = machine.received(message(answers), servers: []) else {
            Issue.record("not found")
            return
        }
        #expect(answer.records == [address("c.example", 50)])
        #expect(answer.aliases == [DNSName("www.example.org")!, DNSName("b.example")!])
        #expect(answer.canonicalName == DNSName("c.example")! && answer.timeToLive == 40)
        #expect(!answer.isAuthenticated)
    }

    @Test func queriesTheEndOfAnIncompleteChain() {
        var machine = DNSAnswerMachine(question, trustsAuthenticatedData: true)
        let step = machine.received(message([alias("www.example.org", "b.example")]), servers: [])
        #expect(step == .ask(DNSQuestion(DNSName("b.example")!, .a)))
        guard case .found(let answer) = machine.received(message([address("b.example")]), servers: []) else {
            Issue.record("not found")
            return
        }
        #expect(answer.aliases == [DNSName("www.example.org")!] && answer.isAuthenticated)
    }

    /// CVE-2025-40778 of BIND: unsolicited records.
    @Test func ignoresUnsolicitedRecords() {
        var machine = DNSAnswerMachine(question, trustsAuthenticatedData: false)
        var foreignClass = address("www.example.org")
        foreignClass.recordClass = 3
        let step = machine.received(
            message([address("evil.example"), foreignClass], soa: ("example.org", 60, 30)), servers: [])
        #expect(step == .nothing(ResolverError(.noData, name: "www.example.org."), negativeTime: 30))
    }

    @Test func loopsAndLongChainsFail() {
        for answers in [
            [alias("www.example.org", "www.example.org")],
            [alias("www.example.org", "b.example"), alias("b.example", "www.example.org")],
            [alias("www.example.org", "n0.example")] + (0..<30).map { alias("n\($0).example", "n\($0 + 1).example") },
        ] {
            var machine = DNSAnswerMachine(question, trustsAuthenticatedData: false)
            guard case .failed(let error) = machine.received(message(answers), servers: []) else {
                Issue.record("not refused")
                continue
            }
            #expect(error.code == .malformedAnswer)
        }
    }

    @Test func boundsChainsOverManyMessages() {
        var machine = DNSAnswerMachine(question, trustsAuthenticatedData: false)
        var name = question.name
        for index in 0..<100 {
            let target = DNSName("n\(index).example")!
            let step = machine.received(message([DNSRecord(name, timeToLive: 1, .cname(target))]), servers: [])
            if case .failed(let error) = step {
                #expect(error.code == .malformedAnswer && index == DNSAliasChain.longest)
                return
            }
            #expect(step == .ask(DNSQuestion(target, .a)))
            name = target
        }
        Issue.record("never refused")
    }

    @Test func detectsALoopOverSeveralMessages() {
        var machine = DNSAnswerMachine(question, trustsAuthenticatedData: false)
        _ = machine.received(message([alias("www.example.org", "b.example")]), servers: [])
        guard case .failed = machine.received(message([alias("b.example", "www.example.org")]), servers: []) else {
            Issue.record("not refused")
            return
        }
    }

    @Test func negativeAnswersHaveACacheTime() {
        for (soa, time) in [
            (("example.org", 60, 30), 30), (("example.org", 20, 30), 20), (("other.example", 20, 30), nil), (nil, nil),
        ] as [((zone: String, time: UInt32, minimum: UInt32)?, UInt32?)] {
            var machine = DNSAnswerMachine(question, trustsAuthenticatedData: false)
            let step = machine.received(message([], code: 3, soa: soa), servers: [])
            #expect(step == .nothing(ResolverError(.hostNotFound, name: "www.example.org."), negativeTime: time))
        }
    }
}
