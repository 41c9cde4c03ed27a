import Peers
import Testing

/// Hosts whose link loses a quarter of the packets, duplicates a quarter, and delivers a quarter late.
@Suite(.serialized) struct UnreliableWireTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces(faults: WireFaults(lost: 25, doubled: 25, late: 25, delay: 700))
    }

    private func hosts(_ pair: DiscoveryHost.Pair) throws -> (DiscoveryHost, DiscoveryHost) {
        (
            try DiscoveryHost(pair.left, called: "left", in: network.left),
            try DiscoveryHost(pair.right, called: "right", in: network.right)
        )
    }

    @Test(arguments: DiscoveryHost.Pair.all)
    func servicesAreFoundAndFollowed(_ pair: DiscoveryHost.Pair) async throws {
        defer { network.remove() }
        let (left, right) = try hosts(pair)
        defer { for host in [left, right] { host.stop() } }
        let browser = try right.start("browse", "_http._tcp", "120")
        defer { browser.stop() }
        let publishers = try (1...4).map { number in
            try left.start("publish", "Web \(number)", "_http._tcp", "80", "120", "n=\(number)", "--then=new")
        }
        defer { for publisher in publishers { publisher.stop() } }
        for (number, publisher) in zip(1..., publishers) {
            // No duplicate or late packet was mistaken for a conflict.
            #expect(await publisher.says("published Web \(number)"), "\(publisher.log)")
        }
        for number in 1...4 { #expect(await browser.says("+ Web \(number)"), "\(browser.log)") }
        let resolver = try right.start("resolve", "Web 1", "_http._tcp", "120")
        defer { resolver.stop() }
        #expect(await resolver.shows(" 80 ", "10.77.5.1:80", "[fe80::", "%eth0]:80"), "\(resolver.log)")
        let monitor = try right.start("monitor", "Web 2", "_http._tcp", "120")
        defer { monitor.stop() }
        // Avahi may keep a late record, which arrived after its replacement.
        let record = right.engine == .embedded ? "n=2 then=new" : "n=2"
        #expect(await monitor.shows(record), "\(monitor.log)")
        for fault in ["lost", "doubled", "late"] { #expect(network.faults.contains(fault)) }
    }

    @Test func aNameConflictIsResolved() async throws {
        defer { network.remove() }
        let (left, right) = try hosts(.init(left: .embedded, right: .embedded))
        let first = try left.start("publish", "Web", "_http._tcp", "80", "120")
        defer { first.stop() }
        #expect(await first.says("published Web"), "\(first.log)")
        let second = try right.start("publish", "Web", "_http._tcp", "81", "120")
        defer { second.stop() }
        // The host that had to yield.
        let browser = try left.start("browse", "_http._tcp", "120")
        defer { browser.stop() }
        #expect(await browser.says("+ Web (2)"), "\(first.log) \(second.log)")
        #expect(await browser.says("+ Web"), "\(browser.log)")
    }

    @Test func aDeadServiceIsRemovedAfterReconfirmation() async throws {
        defer { network.remove() }
        let (left, right) = try hosts(.init(left: .embedded, right: .embedded))
        let publisher = try left.start("publish", "Web", "_http._tcp", "80", "120")
        defer { publisher.stop() }
        let browser = try right.start("reconfirm", "Web", "_http._tcp", "120")
        defer { browser.stop() }
        #expect(await browser.says("+ Web"), "\(browser.log)")
        publisher.kill()
        #expect(await browser.says("- Web"), "\(browser.log)")
    }
}
