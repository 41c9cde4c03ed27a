import Peers
import Testing

/// Streams to a service, given only by its name, that Avahi publishes on another host.
@Suite(.serialized) struct ServiceStreamTests {
    private static let probe = Probes.path(of: "stream-probe")

    // Parity: SK-012, SD-050 (Avahi)
    @Test("SK-012: host, port and addresses are found at open")
    func aStreamToAServiceOfAvahi() async throws {
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

    // Parity: SK-012 (Linux)
    @Test("SK-012: the search for a service that does not exist ends at the limit")
    func aMissingServiceIsATimeout() async throws {
        let network = try WiredNamespaces()
        defer { network.remove() }
        let client = try Probes.start("service", "Missing", "_greet._tcp", "1", program: Self.probe, in: network.right)
        defer { client.stop() }
        #expect(await client.shows("error: ", "Opening timed out", "Missing"), "\(client.log)")
    }
}

/// Streams to services, and services that accept connections, on two hosts.
@Suite(.serialized) struct NetServiceStreamTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    // Parity: SD-050 (Avahi)
    @Test(arguments: DiscoveryHost.Engine.allCases)
    func streamsToAService(_ engine: DiscoveryHost.Engine) async throws {
        defer { network.remove() }
        let left = try DiscoveryHost(engine, called: "left", in: network.left)
        defer { left.stop() }
        let right = try DiscoveryHost(engine, called: "right", in: network.right)
        defer { right.stop() }
        let finder = try right.startStreams("find", "_echo._tcp")
        defer { finder.stop() }
        let server = try left.startStreams("serve", "Echo. 1", "_echo._tcp")
        defer { server.stop() }
        #expect(await server.says("published Echo. 1 true"), "\(server.log)")
        #expect(await finder.shows("+ Echo. 1\nEcho. 1 at ", ".local. true"), "\(finder.log)")
        let call = try right.startStreams("call", "Echo. 1", "_echo._tcp", "hello")
        defer { call.stop() }
        #expect(await call.says("heard hello"), "\(call.log)")
        let stream = try right.startStreams("stream", "Echo. 1", "_echo._tcp", "there")
        defer { stream.stop() }
        #expect(await stream.shows("heard there from ", ".local true"), "\(stream.log)")
        if engine == .daemon {
            // A daemon notices the end of a program.
            server.kill()
            #expect(await finder.says("- Echo. 1 of 1"), "\(finder.log)")
        }
    }

    @Test func anUnreachableServiceIsReconfirmed() async throws {
        defer { network.remove() }
        let left = try DiscoveryHost(.embedded, called: "", in: network.left)
        let right = try DiscoveryHost(.embedded, called: "", in: network.right)
        // The port has no listener.
        let publisher = try left.start("publish", "Web", "_http._tcp", "9", "120")
        defer { publisher.stop() }
        let caller = try right.startStreams("insist", "Web", "_http._tcp")
        defer { caller.stop() }
        #expect(await caller.says("+ Web"), "\(caller.log)")
        #expect(await caller.shows("failed: ", "refused"), "\(caller.log)")
        publisher.kill()
        // Without reconfirmation it would remain for 75 minutes.
        #expect(await caller.says("- Web"), "\(caller.log)")
    }
}
