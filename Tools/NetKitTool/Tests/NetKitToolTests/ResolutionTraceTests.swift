import DNSWire
import HostResolver
import Peers
import Testing

@testable import netkit

/// The path of `resolve --trace`, without a network.
@Suite struct ResolutionTraceTests {
    typealias Outcome = ResolutionTrace.Outcome

    private static let root = ResolutionTrace.Server(name: name("a.root"), addresses: [IPAddress("192.0.2.1")!])

    static func name(_ text: String) -> DNSName { DNSName(text)! }

    /// A record of a name: `NS`, `A` or `CNAME`.
    static func record(_ owner: String, _ type: DNSRecordType, _ value: String) -> DNSWire.DNSRecord {
        let data: DNSRecordData =
            switch type {
            case .a: .a(IPv4Address(value)!)
            case .cname: .cname(name(value))
            default: .ns(name(value))
            }
        return DNSWire.DNSRecord(name(owner), timeToLive: 60, data)
    }

    private static let start = DNSWire.DNSRecord(
        name("test"), timeToLive: 60,
        .soa(.init(primary: .root, mailbox: .root, serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1)))

    /// A referral to a zone, whose servers are named `ns.` and the zone, with their addresses.
    static func referral(to zone: String, glue: [DNSWire.DNSRecord] = []) -> DNSMessage {
        answer(authorities: [record(zone, .ns, zone == "." ? "ns" : "ns.\(zone)")], additionals: glue)
    }

    static func answer(
        _ answers: [DNSWire.DNSRecord] = [], authorities: [DNSWire.DNSRecord] = [],
        additionals: [DNSWire.DNSRecord] = [], code: UInt8 = 0
    ) -> DNSMessage {
        var header = DNSHeader(id: 1)
        header.isResponse = true
        header.shortResponseCode = code
        return DNSMessage(header: header, answers: answers, authorities: authorities, additionals: additionals)
    }

    private static func trace(_ type: DNSRecordType = .a) -> ResolutionTrace {
        ResolutionTrace(DNSQuestion(name("www.peers.test"), type), rootServers: [root])
    }

    @Test("From the root down to the answer") func referrals() {
        var trace = Self.trace()
        #expect(trace.servers == [Self.root] && trace.zone == .root)
        let glue = Self.record("ns.test", .a, "192.0.2.2")
        #expect(trace.take(Self.referral(to: "TEST", glue: [glue])) == .referral)
        #expect(trace.zone == Self.name("test"))
        #expect(trace.servers == [.init(name: Self.name("ns.test"), addresses: [IPAddress("192.0.2.2")!])])
        #expect(trace.take(Self.referral(to: "peers.test")) == .referral)
        #expect(trace.servers.map(\.addresses) == [[]])
        let address = Self.record("www.peers.test", .a, "192.0.2.3")
        #expect(trace.take(Self.answer([address])) == .answer([address]))
    }

    @Test("An alias is the answer, with the records of its target") func alias() {
        var trace = Self.trace()
        let records = [
            Self.record("WWW.peers.test", .cname, "x.other.test"), Self.record("x.other.test", .a, "192.0.2.3"),
        ]
        #expect(trace.take(Self.answer(records)) == .answer(records))
    }

    @Test func noAnswers() {
        var trace = Self.trace()
        #expect(trace.take(Self.answer(authorities: [Self.start])) == .noData)
        #expect(trace.take(Self.answer(authorities: [Self.start], code: 3)) == .noSuchName)
    }

    @Test("Lame servers: upwards, sideways, in a circle, refused, or about something else")
    func lameServers() {
        var trace = Self.trace()
        _ = trace.take(Self.referral(to: "peers.test"))
        let before = trace.servers
        let useless = [
            Self.referral(to: "test"), Self.referral(to: "."), Self.referral(to: "peers.test"),
            Self.referral(to: "other.peers.test"), Self.referral(to: "a.www.peers.test"),
            Self.referral(to: "www.peers.test.evil"), Self.answer(), Self.answer(code: 2), Self.answer(code: 5),
            Self.answer([Self.record("evil.test", .a, "192.0.2.66")]),
            Self.answer([Self.record("www.peers.test", .ns, "evil.test")]),
        ]
        for message in useless {
            guard case .useless(let reason) = trace.take(message) else {
                Issue.record("taken: \(message)")
                continue
            }
            #expect(!reason.isEmpty)
        }
        // They change nothing.
        #expect(trace.servers == before && trace.zone == Self.name("peers.test"))
    }

    @Test("Glue of another zone is ignored, and servers whose addresses are known come first")
    func glue() {
        var trace = Self.trace()
        _ = trace.take(Self.referral(to: "test"))
        let message = Self.answer(
            authorities: ["ns.evil", "a.peers.test", "b.peers.test"].map { Self.record("peers.test", .ns, $0) },
            additionals: [
                Self.record("ns.evil", .a, "192.0.2.66"), Self.record("b.peers.test", .a, "192.0.2.2"),
                Self.record("c.peers.test", .a, "192.0.2.67"),
            ])
        #expect(trace.take(message) == .referral)
        #expect(trace.servers.map { "\($0.name)" } == ["b.peers.test.", "ns.evil.", "a.peers.test."])
        #expect(trace.servers.map(\.addresses.count) == [1, 0, 0])
    }

    @Test func limits() {
        var trace = Self.trace()
        let names = (0..<99).map { "ns\($0).test" }
        let glue = names.flatMap { name in (1...9).map { Self.record(name, .a, "192.0.2.\($0)") } }
        let message = Self.answer(
            authorities: names.map { Self.record("test", .ns, $0) }, additionals: glue)
        #expect(trace.take(message) == .referral)
        #expect(trace.servers.count == ResolutionTrace.maximumServers)
        #expect(trace.servers.allSatisfy { $0.addresses.count == ResolutionTrace.maximumAddresses })
    }
}

/// `resolve --trace` with a scripted server, which has the part of the root and of all zones.
@Suite struct ResolveTracerTests {
    typealias Records = ResolutionTraceTests

    /// A server: its first query is that for the root servers, and the script answers the others.
    private static func server(
        _ script: @escaping @Sendable (_ number: Int, _ query: DNSQuery) -> DNSMessage?
    ) throws -> ScriptedNameServer {
        try ScriptedNameServer { query in
            guard var message = try? DNSMessage(wire: query.bytes) else { return [] }
            let isRoot = query.name.isEmpty && query.type == 2
            let answer =
                isRoot
                ? Records.answer(
                    [Records.record(".", .ns, "ns.root")], additionals: [Records.record("ns.root", .a, "127.0.0.1")])
                : script(query.number, query)
            guard let answer else { return [] }
            message.header.isResponse = true
            message.header.offersRecursion = true
            message.header.isTruncated = answer.header.isTruncated && query.transport == .udp
            message.header.shortResponseCode = answer.header.shortResponseCode
            (message.answers, message.authorities) = (answer.answers, answer.authorities)
            message.additionals = answer.additionals
            return (try? message.wireForm()).map { [.bytes($0)] } ?? []
        }
    }

    private static func zone(_ zone: String) -> DNSMessage {
        Records.referral(to: zone, glue: [Records.record("ns.\(zone)", .a, "127.0.0.1")])
    }

    private static let address = Records.answer([Records.record("www.peers.test", .a, "192.0.2.3")])

    /// Runs a trace of www.peers.test.
    private static func trace(
        _ server: ScriptedNameServer, seconds: Double = 600, tcp: Bool = false
    ) async throws -> (hops: [ResolveTracer.Hop], failure: ResolverError?) {
        var tracer = ResolveTracer(
            configuration: try ResolverConfiguration(askingOnly: "127.0.0.1:\(server.port)"), usesTCPOnly: tcp,
            deadline: .now + .seconds(seconds))
        tracer.port = UInt16(server.port)
        tracer.serverTimeout = .seconds(seconds)
        var hops: [ResolveTracer.Hop] = []
        do throws(ResolverError) {
            try await tracer.run(DNSQuestion(Records.name("www.peers.test"), .a)) { hops.append($0) }
        } catch {
            return (hops, error)
        }
        return (hops, nil)
    }

    @Test("Each referral and the answer are reported; only the first query is recursive", arguments: [false, true])
    func path(_ tcp: Bool) async throws {
        let server = try Self.server { number, _ in
            switch number {
            case 1: Self.zone("test")
            case 2: Self.zone("peers.test")
            default: Self.address
            }
        }
        let (hops, failure) = try await Self.trace(server, tcp: tcp)
        #expect(failure == nil, "\(String(describing: failure)) \(failure?.servers ?? [])")
        try #require(hops.map { "\($0.zone)" } == [".", "test.", "peers.test."])
        #expect(hops.map(\.outcome) == [.referral, .referral, .answer(Self.address.answers)])
        #expect(hops.map(\.serverName) == ["ns.root.", "ns.test.", "ns.peers.test."])
        #expect(server.queries.map(\.transport) == Array(repeating: tcp ? .tcp : .udp, count: 4))
        #expect(server.queries.map { $0.bytes[2] & 1 } == [1, 0, 0, 0])
        #expect(hops[0].lines.first?.text == "test.  NS ns.test.")
        #expect(hops[2].lines.first?.text == "www.peers.test.  A 192.0.2.3  TTL 60")
    }

    @Test func truncatedAnswers() async throws {
        let server = try Self.server { _, _ in
            var answer = Self.address
            answer.header.isTruncated = true
            return answer
        }
        let (hops, failure) = try await Self.trace(server)
        #expect(failure == nil && hops.count == 1)
        #expect(server.queries.map(\.transport) == [.udp, .udp, .tcp])
    }

    @Test("The address of a server without glue is looked up") func lookup() async throws {
        let server = try Self.server { number, query in
            if query.name.lowercased() == "ns.elsewhere.example" {  // the resolver varies the case
                return query.type == 1
                    ? Records.answer([Records.record("ns.elsewhere.example", .a, "127.0.0.1")]) : Records.answer()
            }
            if number > 1 { return Self.address }
            return Records.answer(authorities: [Records.record("test", .ns, "ns.elsewhere.example")])
        }
        let (hops, failure) = try await Self.trace(server)
        #expect(failure == nil, "\(String(describing: failure)) \(server.queries)")
        #expect(hops.last?.serverName == "ns.elsewhere.example.")
    }

    @Test("A zone of lame servers is an error, after each of them is reported") func lame() async throws {
        let server = try Self.server { number, _ in number == 1 ? Self.zone("test") : Self.zone("test") }
        let (hops, failure) = try await Self.trace(server)
        #expect(hops.count == 2 && hops.last?.zone == Records.name("test"))
        #expect(hops.last?.lines.first?.text == "a referral to test., which does not lead to the name")
        #expect(failure?.code == .serverFailed && failure?.description.contains("no server of test.") == true)
    }

    @Test(arguments: [(UInt8(3), ResolverError.Code.hostNotFound), (0, .noData)])
    func noRecords(_ code: UInt8, _ expected: ResolverError.Code) async throws {
        let start = DNSWire.DNSRecord(
            Records.name("test"), timeToLive: 60,
            .soa(.init(primary: .root, mailbox: .root, serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1)))
        let server = try Self.server { _, _ in Records.answer(authorities: [start], code: code) }
        let (hops, failure) = try await Self.trace(server)
        #expect(hops.count == 1 && failure?.code == expected)
    }

    @Test("A silent server ends the trace at its deadline") func silence() async throws {
        let server = try Self.server { _, _ in nil }
        let (hops, failure) = try await Self.trace(server, seconds: 0.3)
        // On a busy machine, the time may be over before the root servers are known.
        #expect(hops.allSatisfy { $0.outcome == .useless("no answer") } && failure?.code == .timedOut)
    }

    @Test("The name has more labels than referrals are followed") func depth() async throws {
        let labels = Array(repeating: "x", count: ResolutionTrace.maximumReferrals + 8)
        let server = try Self.server { number, _ in
            Self.zone(labels.suffix(number).joined(separator: "."))
        }
        var tracer = ResolveTracer(
            configuration: try ResolverConfiguration(askingOnly: "127.0.0.1:\(server.port)"), usesTCPOnly: false,
            deadline: .now + .seconds(600))
        tracer.port = UInt16(server.port)
        tracer.serverTimeout = .seconds(600)
        var count = 0
        let question = DNSQuestion(Records.name(labels.joined(separator: ".")), .a)
        let failure = await #expect(throws: ResolverError.self) { try await tracer.run(question) { _ in count += 1 } }
        #expect(count == ResolutionTrace.maximumReferrals && failure?.detail == "too many referrals")
    }

    @Test(arguments: [
        (["--trace", "--short", "x.test"], "cannot be combined"), (["--trace", "192.0.2.1"], "--trace takes names"),
    ])
    func commandLine(_ arguments: [String], _ words: String) async throws {
        let run = try await Tool.run(["resolve"] + arguments)
        #expect(run.status == 64 && run.text.contains(words), "\(run.text)")
    }

    @Test("A failure has the answers before it, also in JSON") func json() async throws {
        let server = try Self.server { _, _ in nil }
        let run = try await Tool.run(
            ["resolve", "--trace", "--json", "--server", "127.0.0.1:\(server.port)", "--timeout", "1", "x.test"])
        #expect(
            run.status != 0 && run.output.contains(#""trace":["#) && run.output.contains(#""error":{"#), "\(run.text)")
    }
}
