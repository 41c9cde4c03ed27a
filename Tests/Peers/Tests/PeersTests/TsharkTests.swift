import Peers
import Testing

@Suite struct TsharkTests {
    @Test func decodesPackets() async throws {
        let namespace = try NetworkNamespace(
            addresses: ["10.77.9.1/24"], setup: ["ip route add 224.0.0.0/4 dev outside"])
        defer { namespace.remove() }
        let observer = Tshark(
            "udp port 5353", fields: ["ip.src", "dns.qry.name", "dns.qry.type"], interface: "far", in: namespace)
        try observer.start()
        defer { observer.stop() }
        let query = ["@224.0.0.251", "-p", "5353", "+time=1", "+tries=1", "PTR", "_http._tcp.local"]
        _ = try await Command(Program("dig", package: "bind9-dnsutils"), query, in: namespace).run()
        let expected = ["ip.src": "10.77.9.1", "dns.qry.name": "_http._tcp.local", "dns.qry.type": "12"]
        #expect(await observer.sees { $0.contains(expected) }, "\(observer.log)")
    }

    @Test func hostsAreConnectedLater() async throws {
        let network = try WiredNamespaces.apart()
        defer { network.remove() }
        let server = Socat(.shell("echo hello"), at: "10.77.5.1", in: network.left)
        try server.start()
        defer { server.stop() }
        let call = Command(
            Program("socat"), ["-u", "TCP4:10.77.5.1:\(server.port),connect-timeout=1", "-"], in: network.right)
        #expect(try await call.run().text.isEmpty)
        try network.connect()
        var answer = ""
        let end = ContinuousClock.now + .seconds(Deadline.ofHangs)
        while answer.isEmpty, ContinuousClock.now < end { answer = try await call.run().text }
        #expect(answer == "hello\n")
    }

    @Test func hostsHaveSeveralLinks() async throws {
        let network = try WiredNamespaces(links: 2)
        defer { network.remove() }
        let server = Socat(.shell("echo hello"), at: "10.77.6.2", in: network.right)
        try server.start()
        defer { server.stop() }
        try network.setLink("eth0", of: network.left, up: false)
        let call = Command(Program("socat"), ["-u", "TCP4:10.77.6.2:\(server.port)", "-"], in: network.left)
        #expect(try await call.run().text == "hello\n")
    }
}
