import Peers
import Testing

/// Streams to a service, given only by its name, that Avahi publishes on another host.
@Suite(.serialized) struct ServiceStreamTests {
    private static let probe = Probes.path(of: "stream-probe")

    @Test("SK-012: host, port and addresses are found at open")
    func connects() async throws {
        let network = try WiredNamespaces()
        defer { network.remove() }
        let avahi = Avahi(
            hostName: "avahi-host", services: [Avahi.Service("Greeter", type: "_greet._tcp", port: 7007)],
            in: network.left)
        try avahi.start()
        defer { avahi.stop() }
        let server = try Probes.start("answer", "7007", "hello", program: Self.probe, in: network.left)
        defer { server.stop() }
        #expect(await server.says("ready"), "\(server.log)")
        let client = try Probes.start(
            "service", "Greeter", "_greet._tcp", "120", program: Self.probe, in: network.right)
        defer { client.stop() }
        #expect(await client.says("hello"), "\(client.log)")
        #expect(await client.shows("lookup Greeter._greet._tcp.local", "address"), "\(client.log)")
        #expect(await client.shows("connect ", ":7007", "connected"), "\(client.log)")
    }

    @Test("SK-012: the search for a service that does not exist ends at the limit")
    func missing() async throws {
        let network = try WiredNamespaces()
        defer { network.remove() }
        let client = try Probes.start("service", "Missing", "_greet._tcp", "1", program: Self.probe, in: network.right)
        defer { client.stop() }
        #expect(await client.shows("error: ", "Opening timed out", "Missing"), "\(client.log)")
    }
}
