import Peers
import Testing

/// Our engine with itself, on two connected hosts.
@Suite(.serialized) struct EmbeddedEngineTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    // Parity: SD-057 (Linux)
    @Test func aDeadHostIsForgottenAfterReconfirmation() async throws {
        defer { network.remove() }
        let publisher = try Probes.start("publish", "Web", "_http._tcp", "80", "120", in: network.left)
        defer { publisher.stop() }
        #expect(await publisher.says("published Web"))
        let browser = try Probes.start("reconfirm", "Web", "_http._tcp", "120", in: network.right)
        defer { browser.stop() }
        #expect(await browser.says("+ Web"))
        #expect(!browser.log.contains("- Web"))
        publisher.kill()
        // Without reconfirmation it would remain for 75 minutes.
        #expect(await browser.says("- Web"), "\(browser.log)")
    }

    // Parity: SD-115 (Linux)
    @Test func changesOfInterfacesAreFollowed() async throws {
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
        // Services found through a link disappear with it, and return.
        try network.setLink(of: network.right, up: false)
        #expect(await browser.says("- Web"))
        try network.setLink(of: network.right, up: true)
        #expect(await browser.shows("+ Web\n- Web\n+ Web"), "\(browser.log)")
    }

    @Test func aThousandServicesAreFound() async throws {
        defer { network.remove() }
        let publisher = try Probes.start("crowd", "1000", "_http._tcp", "300", in: network.left)
        defer { publisher.stop() }
        let finder = try Probes.start("census", "1000", "_http._tcp", "300", in: network.right)
        defer { finder.stop() }
        #expect(await publisher.says("published 1000"), "\(publisher.log)")
        #expect(await finder.says("resolved 1000"), "\(finder.log)")
    }

    // Parity: SD-115 (Linux)
    @Test func loopbackAloneIsEnough() async throws {
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
