import Peers
import Testing

@Suite struct ScriptedNameServerTests {
    static let records: [DNSRecord] = [.a("www.peers.test", "192.0.2.1"), .a("www.peers.test", "192.0.2.2")]

    private func dig(_ server: ScriptedNameServer, _ arguments: String...) async throws -> String {
        let fixed = ["@127.0.0.1", "-p", "\(server.port)", "+tries=1", "+time=1"]
        let result = try await Command(Program("dig", package: "bind9-dnsutils"), fixed + arguments).run()
        return result.text + result.errors
    }

    @Test func encodesEveryType() async throws {
        let all: [DNSRecord] = [
            .a("x.test", "192.0.2.1"), .aaaa("x.test", "2001:db8::1"), .cname("x.test", "y.test"),
            .mx("x.test", 5, "mail.test"), .txt("x.test", "one two", "three"), .ptr(address: "192.0.2.1", "x.test"),
            .srv("x.test", priority: 1, weight: 2, port: 3, "y.test"),
        ]
        let server = try ScriptedNameServer { _ in [.answer(all)] }
        let answer = try await dig(server, "+noall", "+answer", "x.test", "ANY", "+notcp")
        let lines = answer.split(separator: "\n").map {
            $0.split(whereSeparator: \.isWhitespace).dropFirst(3).joined(separator: " ")
        }
        #expect(
            lines == [
                "A 192.0.2.1", "AAAA 2001:db8::1", "CNAME y.test.", "MX 5 mail.test.", "TXT \"one two\" \"three\"",
                "PTR x.test.", "SRV 1 2 3 y.test.",
            ])
    }

    @Test func truncatesAndAnswersOverTCP() async throws {
        let server = try ScriptedNameServer { $0.transport == .udp ? [.truncated] : [.answer(Self.records)] }
        #expect(try await dig(server, "+short", "www.peers.test") == "192.0.2.1\n192.0.2.2\n")
        let queries = try await server.queries(2)
        #expect(queries.map(\.transport) == [.udp, .tcp])
        #expect(queries.allSatisfy { $0.name == "www.peers.test" && $0.type == 1 })
        server.stop()
    }

    @Test(arguments: [(1, "FORMERR"), (2, "SERVFAIL"), (3, "NXDOMAIN"), (5, "REFUSED")])
    func fails(code: Int, name: String) async throws {
        let server = try ScriptedNameServer { _ in [.failure(code)] }
        #expect(try await dig(server, "www.peers.test").contains("status: \(name)"))
    }

    /// dig reports a wrong answer and keeps waiting for the right one.
    @Test(arguments: [
        (ScriptedNameServer.Step.answerWithWrongID(records), "ID mismatch"),
        (.answerToWrongQuestion(records), "Question section mismatch"),
    ])
    func answersWrongly(step: ScriptedNameServer.Step, complaint: String) async throws {
        let server = try ScriptedNameServer { _ in [step] }
        let answer = try await dig(server, "www.peers.test")
        #expect(answer.contains(complaint), "\(answer)")
    }

    /// dig connects its socket, so the kernel drops such an answer; this client sees its source port.
    @Test func answersFromAnotherPort() async throws {
        let server = try ScriptedNameServer { _ in [.answerFromWrongPort(Self.records), .answer(Self.records)] }
        let client = """
            import socket
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.settimeout(10)
            s.sendto(bytes.fromhex("123401000001000000000000037777770000010001"), ("127.0.0.1", \(server.port)))
            answers = [s.recvfrom(512) for _ in range(2)]
            print(answers[0][0] == answers[1][0], [a[1][1] == \(server.port) for a in answers])
            """
        #expect(try await Command("python3", "-c", client).run().text == "True [False, True]\n")
    }

    @Test func answersLateOrNever() async throws {
        let go = Signal()
        let server = try ScriptedNameServer { query in
            query.name == "never.test" ? [] : [.wait(go), .answer(Self.records)]
        }
        #expect(try await dig(server, "never.test").contains("no servers could be reached"))
        let command = Command(
            Program("dig", package: "bind9-dnsutils"),
            ["@127.0.0.1", "-p", "\(server.port)", "+tries=1", "+time=10", "+short", "www.peers.test"])
        async let answer = command.run().text
        try await server.queries(2)
        go.fire()
        #expect(try await answer == "192.0.2.1\n192.0.2.2\n")
    }

    @Test func freesItsPort() async throws {
        let server = try ScriptedNameServer { _ in [] }
        #expect(!PortPool.isFree(server.port))
        server.stop()
        // A child that another test is starting holds copies of this process's descriptors between fork and exec.
        for _ in 0..<100 where !PortPool.isFree(server.port) { _ = try await Command("true").run() }
        #expect(PortPool.isFree(server.port))
    }
}
