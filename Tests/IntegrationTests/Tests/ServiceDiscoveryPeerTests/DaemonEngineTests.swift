import Peers
import Testing

/// The engine for the daemon, and the choice of the default engine.
@Suite(.serialized) struct DaemonEngineTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    // Parity: SD-038 (Avahi)
    @Test func aMissingDaemonIsAnError() async throws {
        defer { network.remove() }
        let host = try DiscoveryHost(.embedded, called: "", in: network.left)
        let browser = LineProgram(
            "DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere", [Probes.path, "--daemon", "browse", "_http._tcp", "120"],
            in: network.left)
        try browser.start()
        defer { browser.stop() }
        // No other output: Avahi's library prints warnings unless they are suppressed.
        #expect(await browser.says("error: the discovery daemon is not running"))
        #expect(browser.log == "error: the discovery daemon is not running\n")
        // As in a container: the default engine works without the daemon.
        let publisher = try host.startByDefault("publish", "Web", "_http._tcp", "80", "120")
        defer { publisher.stop() }
        #expect(await publisher.says("published Web"), "\(publisher.log)")
        let finder = try host.startByDefault("browse", "_http._tcp", "120")
        defer { finder.stop() }
        #expect(await finder.says("+ Web"), "\(finder.log)")
    }

    @Test func theDaemonIsUsedByDefault() async throws {
        defer { network.remove() }
        let left = try DiscoveryHost(.daemon, called: "avahi-host", in: network.left)
        defer { left.stop() }
        let right = try DiscoveryHost(.embedded, called: "", in: network.right)
        let publisher = try left.startByDefault("publish", "Web", "_http._tcp", "80", "120")
        defer { publisher.stop() }
        #expect(await publisher.says("published Web"), "\(publisher.log)")
        // The daemon's host name, not ours.
        let resolver = try right.start("resolve", "Web", "_http._tcp", "120")
        defer { resolver.stop() }
        #expect(await resolver.shows("avahi-host.local. 80 ", "10.77.5.1:80"), "\(resolver.log)")
        let finder = try left.startByDefault("browse", "_http._tcp", "120")
        defer { finder.stop() }
        #expect(await finder.says("+ Web"), "\(finder.log)")
        #expect(publisher.log + finder.log == "published Web\n+ Web\n")
    }

    /// SD-058: Avahi's library cannot reconfirm records. The default engine queries the network itself, and so makes the daemon drop
    /// them.
    // Parity: SD-058 (Avahi)
    @Test func aDeadHostIsForgottenByTheDaemon() async throws {
        defer { network.remove() }
        let left = try DiscoveryHost(.embedded, called: "", in: network.left)
        let right = try DiscoveryHost(.daemon, called: "right", in: network.right)
        defer { right.stop() }
        let publishers = try ["Dead", "Alive"].map { try left.start("publish", $0, "_http._tcp", "80", "120") }
        defer { for publisher in publishers { publisher.stop() } }
        let browser = try right.startByDefault("browse", "_http._tcp", "120")
        defer { browser.stop() }
        #expect(await browser.shows("+ Dead", "+ Alive"), "\(browser.log)")
        publishers[0].kill()
        let doubters = try ["Dead", "Alive"].map { try right.startByDefault("doubt", $0, "_http._tcp", "120") }
        defer { for doubter in doubters { doubter.stop() } }
        // Without reconfirmation it would remain for 75 minutes.
        #expect(await browser.says("- Dead"), "\(browser.log)")
        #expect(!browser.log.contains("- Alive"))
        let other = try right.start("doubt", "Alive", "_http._tcp", "120")
        defer { other.stop() }
        #expect(
            await other.shows("error: the discovery engine does not support this", "Avahi's library cannot reconfirm"),
            "\(other.log)")
    }

    @Test func operationsEndWithTheDaemon() async throws {
        defer { network.remove() }
        let left = try DiscoveryHost(.daemon, called: "left", in: network.left)
        defer { left.stop() }
        let browser = try left.start("browse", "_http._tcp", "120")
        defer { browser.stop() }
        let publisher = try left.start("publish", "Web", "_http._tcp", "80", "120")
        defer { publisher.stop() }
        #expect(await browser.says("+ Web"), "\(browser.log)")
        left.stop()
        #expect(await browser.shows("error: the discovery daemon is not running"), "\(browser.log)")
        #expect(await publisher.shows("error: the discovery daemon is not running"), "\(publisher.log)")
    }

    // Parity: SD-021 (Avahi)
    @Test func servicesOfAKilledProgramAreRemoved() async throws {
        defer { network.remove() }
        let left = try DiscoveryHost(.daemon, called: "left", in: network.left)
        defer { left.stop() }
        let right = try DiscoveryHost(.embedded, called: "", in: network.right)
        let publisher = try left.start("publish", "Web", "_http._tcp", "80", "120")
        defer { publisher.stop() }
        let browser = try right.start("browse", "_http._tcp", "120")
        defer { browser.stop() }
        #expect(await browser.says("+ Web"), "\(browser.log)")
        publisher.kill()
        #expect(await browser.says("- Web"), "\(browser.log)")
    }
}
