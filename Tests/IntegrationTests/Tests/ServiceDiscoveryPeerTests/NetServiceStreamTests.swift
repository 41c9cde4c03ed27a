import Peers
import Testing

/// Streams to services, and services that accept connections, on two hosts.
@Suite(.serialized) struct NetServiceStreamTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    @Test(arguments: DiscoveryHost.Engine.allCases) func connects(_ engine: DiscoveryHost.Engine) async throws {
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

    @Test func hasAServiceDoubtedThatDoesNotAnswer() async throws {
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
