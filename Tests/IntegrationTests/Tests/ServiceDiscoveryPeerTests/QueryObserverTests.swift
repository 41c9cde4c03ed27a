import Foundation
import Peers
import Testing

/// The queries of our engine (RFC 6762 §5, §7) as tshark decodes them; the services are Avahi's and python-zeroconf's.
@Suite(.serialized) struct QueryObserverTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    /// A packet of multicast DNS.
    private struct Packet {
        let time: Double
        let isOurs: Bool
        let isResponse: Bool
        /// Names and types, as in `_ipp._tcp.local 12`.
        let questions: [String]
        let wantsUnicast: Bool
        /// Names, without those of SRV records, which have another field.
        let records: [Substring]
        let timesToLive: [Int]
        /// Whether a TXT record is among them.
        let hasText: Bool

        init?(_ fields: [String: String]) {
            guard let time = fields["frame.time_epoch"].flatMap(Double.init) else { return nil }
            self.time = time
            isOurs = fields["ip.src"] == "10.77.5.2"
            // As a number or a word, depending on the version.
            isResponse = ["1", "True"].contains(fields["dns.flags.response"])
            let (names, types) = (fields["dns.qry.name"] ?? "", fields["dns.qry.type"] ?? "")
            questions = zip(names.split(separator: ";"), types.split(separator: ";")).map { "\($0) \($1)" }
            wantsUnicast = fields["dns.qry.qu"].map { $0.contains("1") || $0.contains("True") } ?? false
            records = fields["dns.resp.name"]?.split(separator: ";") ?? []
            timesToLive = fields["dns.resp.ttl"]?.split(separator: ";").compactMap { Int($0) } ?? []
            hasText = fields["dns.txt"]?.isEmpty == false
        }

        /// Whether this answers with the TXT record of a service. An answer about its port has its name as well, in newer versions of
        /// python-zeroconf: in the record that says which types there are.
        func isText(of name: Substring) -> Bool { isResponse && hasText && records.contains(name) }

        /// Whether this is a query of the right host.
        func isOurQuery(for question: String) -> Bool { isOurs && !isResponse && questions.contains(question) }
    }

    /// Starts the observer. Each packet is sent over both families, of which it captures one.
    private func observer() throws -> Tshark {
        let fields = [
            "frame.time_epoch", "ip.src", "dns.flags.response", "dns.qry.name", "dns.qry.type", "dns.qry.qu",
            "dns.resp.name", "dns.resp.ttl", "dns.txt",
        ]
        let observer = Tshark("ip and udp port 5353", fields: fields, in: network.left)
        try observer.start()
        return observer
    }

    private func packets(_ observer: Tshark) -> [Packet] { observer.packets.compactMap(Packet.init) }

    private func ourQueries(_ observer: Tshark, _ question: String) -> [Packet] {
        packets(observer).filter { $0.isOurQuery(for: question) }
    }

    // Parity: SD-112 (Avahi, tshark)
    @Test(
        "SD-112: the first query asks for a unicast response; the others come less and less often, with the known answers"
    )
    func queriesBackOff() async throws {
        defer { network.remove() }
        let (list, name): (String, Substring) = ("_ipp._tcp.local 12", "_ipp._tcp.local")
        let observer = try observer()
        defer { observer.stop() }
        let printer = Avahi.Service("Printer", type: "_ipp._tcp", port: 631)
        let avahi = Avahi(hostName: "left", services: [printer], in: network.left)
        try avahi.start()
        defer { avahi.stop() }
        let browser = try Probes.start("browse", "_ipp._tcp", "300", in: network.right)
        defer { browser.stop() }
        #expect(await browser.says("+ Printer"), "\(browser.log)")
        // After 1, 2, 4 and 8 seconds.
        let areSeen = await observer.sees { fields in
            fields.compactMap(Packet.init).count { $0.isOurQuery(for: list) } >= 5
        }
        #expect(areSeen, "\(observer.log.suffix(2000))")
        let queries = ourQueries(observer, list)
        let first = try #require(queries.first)
        #expect(queries.map(\.wantsUnicast) == [true] + Array(repeating: false, count: queries.count - 1))
        let pauses = zip(queries, queries.dropFirst()).map { $1.time - $0.time }
        // A slow machine may delay any of them, but not by three seconds.
        for (short, long) in zip(pauses, pauses.dropFirst(2)) { #expect(long > short, "\(pauses)") }
        // Once Avahi has answered, its answer is listed with the rest of its time to live.
        #expect(first.records.isEmpty)
        let answer = try #require(
            packets(observer).first {
                $0.time > first.time && $0.isResponse && !$0.isOurs && $0.records.contains(name)
            })
        let later = queries.filter { $0.time > answer.time + 0.5 }
        #expect(later.count >= 3, "\(queries)")
        for query in later {
            #expect(query.records == [name] && (4400...4500).contains(query.timesToLive.first ?? 0), "\(query)")
        }
        // So Avahi does not repeat it: it answers another question, and that one not.
        let resolver = try Probes.start("resolve", "Printer", "_ipp._tcp", "300", in: network.right)
        defer { resolver.stop() }
        #expect(await resolver.shows("left.local. 631 "), "\(resolver.log)")
        let last = try #require(queries.last).time
        let isAnswered = await observer.sees { fields in
            fields.compactMap(Packet.init).contains { packet in
                packet.time > last && packet.isResponse && packet.records.contains("Printer._ipp._tcp.local")
            }
        }
        #expect(isAnswered, "\(observer.log.suffix(2000))")
        let answers = packets(observer).filter { !$0.isOurs && $0.isResponse && $0.time > last }
        #expect(!answers.contains { $0.records.contains(name) }, "\(answers)")
    }

    private static let publish = """
        import signal, socket
        from zeroconf import ServiceInfo, Zeroconf
        zeroconf = Zeroconf(interfaces=["10.77.5.1"])
        zeroconf.register_service(ServiceInfo("_ipp._tcp.local.", "Py._ipp._tcp.local.", port=631, host_ttl=20, other_ttl=20,
            addresses=[socket.inet_aton("10.77.5.1")], properties={"a": "b"}, server="py.local."))
        print("published", flush=True)
        while True: signal.pause()
        """

    // Parity: SD-112 (python-zeroconf, tshark)
    @Test("SD-112: a record is queried again at 80, 85, 90 and 95 per cent of its time to live")
    func recordsAreRefreshed() async throws {
        defer { network.remove() }
        let (text, name): (String, Substring) = ("Py._ipp._tcp.local 16", "Py._ipp._tcp.local")
        let observer = try observer()
        defer { observer.stop() }
        // The resolver hears the announcements. The peer's answers to a single host do not claim that its records are unique, so
        // that the queries would not end.
        let resolver = try Probes.start("resolve", "Py", "_ipp._tcp", "300", in: network.right)
        defer { resolver.stop() }
        let hasBegun = await observer.sees { $0.compactMap(Packet.init).contains { $0.isOurQuery(for: text) } }
        #expect(hasBegun, "\(observer.log.suffix(2000))")
        let peer = LineProgram("/usr/bin/python3", ["-c", Self.publish], in: network.left)
        try peer.start()
        defer { peer.stop() }
        #expect(await peer.says("published"), "\(peer.log)")
        #expect(await resolver.shows("py.local. 631 10.77.5.1:631"), "\(resolver.log) \(peer.log)")
        peer.kill()
        let areSeen = await observer.sees { fields in
            let packets = fields.compactMap(Packet.init)
            guard let answer = packets.last(where: { $0.isText(of: name) }) else {
                return false
            }
            return packets.count { $0.isOurQuery(for: text) && $0.time > answer.time } >= 4
        }
        #expect(areSeen, "\(observer.log.suffix(2000))")
        let answer = try #require(packets(observer).last { $0.isText(of: name) })
        let ages = ourQueries(observer, text).map { $0.time - answer.time }.filter { $0 > 0 }
        for (age, percent) in zip(ages, [80.0, 85, 90, 95]) { #expect(age / 20 * 100 >= percent, "\(ages)") }
        // Those after the end of the record are a new search.
        #expect(ages.prefix(3).allSatisfy { $0 < 20 }, "\(ages)")
    }

    /// Sends the same question again and again, as another host that searches.
    private static let ask = """
        import socket, struct, time
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.77.5.1"))
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
        sender.bind(("", 5353))
        name = b"".join(bytes([len(label)]) + label for label in (b"_ipp", b"_tcp", b"local", b""))
        query = struct.pack(">6H", 0, 0, 1, 0, 0, 0) + name + struct.pack(">2H", 12, 1)
        while True: sender.sendto(query, ("224.0.0.251", 5353)); time.sleep(0.1)
        """

    // Parity: SD-112 (python3, tshark)
    @Test("SD-112: a question that another host has just sent is not repeated")
    func duplicateQuestionsAreSuppressed() async throws {
        defer { network.remove() }
        let list = "_ipp._tcp.local 12"
        let observer = try observer()
        defer { observer.stop() }
        let browser = try Probes.start("browse", "_ipp._tcp", "300", in: network.right)
        defer { browser.stop() }
        let hasBegun = await observer.sees { $0.compactMap(Packet.init).contains { $0.isOurQuery(for: list) } }
        #expect(hasBegun, "\(observer.log.suffix(2000))")
        // In the time of a hundred questions, this host would send the second to the fourth.
        let other = LineProgram("/usr/bin/python3", ["-c", Self.ask], in: network.left)
        try other.start()
        defer { other.stop() }
        let areSeen = await observer.sees { $0.compactMap(Packet.init).count { !$0.isOurs } >= 100 }
        #expect(areSeen, "\(observer.log.suffix(2000))")
        let foreign = packets(observer).filter { !$0.isOurs }
        let repeated = ourQueries(observer, list).filter { query in
            foreign.contains { (query.time - 0.5..<query.time).contains($0.time) }
        }
        // On a slow machine, a question may arrive too late for one of them.
        #expect(repeated.count <= 1, "\(repeated)")
        // It has been searching all the time.
        other.stop()
        let publisher = try Probes.start("publish", "Web", "_ipp._tcp", "80", "300", in: network.left)
        defer { publisher.stop() }
        #expect(await browser.says("+ Web"), "\(browser.log)")
    }
}
