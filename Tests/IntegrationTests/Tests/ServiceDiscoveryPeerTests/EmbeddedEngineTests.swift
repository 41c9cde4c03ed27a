import Peers
import Testing

/// Our engine against itself, on two hosts with a wire between them.
@Suite(.serialized) struct EmbeddedEngineTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    @Test func findsResolvesAndLoses() async throws {
        defer { network.remove() }
        let browser = try Probes.start("browse", "_http._tcp", "120", in: network.right)
        defer { browser.stop() }
        let publisher = try Probes.start(
            "publish", "Büro. 2", "_http._tcp,_printer", "8080", "120", "path=/", in: network.left)
        defer { publisher.stop() }
        #expect(await publisher.says("published Büro. 2"), "\(publisher.log)")
        #expect(await browser.says("+ Büro. 2"), "\(browser.log)")
        let narrow = try Probes.start("browse", "_http._tcp,_printer", "120", in: network.right)
        defer { narrow.stop() }
        #expect(await narrow.says("+ Büro. 2"))
        let types = try Probes.start("types", "120", in: network.right)
        defer { types.stop() }
        #expect(await types.says("+ _http._tcp"))
        let monitor = try Probes.start("monitor", "Büro. 2", "_http._tcp", "120", in: network.right)
        defer { monitor.stop() }
        #expect(await monitor.says("path=/"))
        let resolver = try Probes.start("resolve", "Büro. 2", "_http._tcp", "120", in: network.right)
        defer { resolver.stop() }
        #expect(
            await resolver.shows(" 8080 ", "10.77.5.1:8080", "[fe80::", "%eth0]:8080", " | path=/"), "\(resolver.log)")
        publisher.stop()
        #expect(await browser.says("- Büro. 2"))
        #expect(await narrow.says("- Büro. 2"))
    }

    @Test func takesAnotherNameOrFails() async throws {
        defer { network.remove() }
        let first = try Probes.start("publish", "Web", "_http._tcp", "80", "120", in: network.left)
        defer { first.stop() }
        #expect(await first.says("published Web"))
        let second = try Probes.start("publish", "Web", "_http._tcp", "81", "120", in: network.right)
        defer { second.stop() }
        #expect(await second.says("published Web (2)"), "\(second.log)")
        let third = try Probes.start("publish", "Web", "_http._tcp", "82", "120", "--no-rename", in: network.right)
        defer { third.stop() }
        #expect(
            await third.says("error: the name is taken by another service: Web._http._tcp.local."), "\(third.log)")
        // All three hosts' names were one: the second is on another host.
        let browser = try Probes.start("browse", "_http._tcp", "120", in: network.left)
        defer { browser.stop() }
        #expect(await browser.says("+ Web"))
        #expect(await browser.says("+ Web (2)"))
    }

    @Test func doubtsAHostThatDied() async throws {
        defer { network.remove() }
        let publisher = try Probes.start("publish", "Web", "_http._tcp", "80", "120", in: network.left)
        defer { publisher.stop() }
        #expect(await publisher.says("published Web"))
        let browser = try Probes.start("reconfirm", "Web", "_http._tcp", "120", in: network.right)
        defer { browser.stop() }
        #expect(await browser.says("+ Web"))
        #expect(!browser.log.contains("- Web"))
        publisher.kill()
        // Without doubt it would stay for 75 minutes.
        #expect(await browser.says("- Web"), "\(browser.log)")
    }

    @Test func followsItsInterfaces() async throws {
        defer { network.remove() }
        let publisher = try Probes.start("publish", "Web", "_http._tcp", "80", "120", in: network.left)
        defer { publisher.stop() }
        let browser = try Probes.start("browse", "_http._tcp", "120", in: network.right)
        defer { browser.stop() }
        #expect(await browser.says("+ Web"))
        let resolver = try Probes.start("resolve", "Web", "_http._tcp", "120", in: network.right)
        defer { resolver.stop() }
        try network.addAddress("10.77.5.99/24", to: network.left)
        #expect(await resolver.shows("10.77.5.99:80"), "\(resolver.log)")
        // What was known through a link goes with it, and comes back.
        try network.setLink(of: network.right, up: false)
        #expect(await browser.says("- Web"))
        try network.setLink(of: network.right, up: true)
        #expect(await browser.shows("+ Web\n- Web\n+ Web"), "\(browser.log)")
    }

    @Test func worksOnLoopbackAlone() async throws {
        defer { network.remove() }
        let alone = try NetworkNamespace()
        defer { alone.remove() }
        let publisher = try Probes.start("publish", "Web", "_http._tcp", "80", "120", in: alone)
        defer { publisher.stop() }
        #expect(await publisher.says("published Web"))
        let browser = try Probes.start("browse", "_http._tcp", "120", in: alone)
        defer { browser.stop() }
        #expect(await browser.says("+ Web"))
    }
}
