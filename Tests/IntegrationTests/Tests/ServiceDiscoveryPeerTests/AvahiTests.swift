import Peers
import Testing

/// Our engine and Avahi, on two hosts and on the same host.
@Suite(.serialized) struct AvahiTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    private func avahi() throws -> Avahi {
        let printer = Avahi.Service("Printer", type: "_ipp._tcp", port: 631, texts: ["note=hello", "a=b"])
        let avahi = Avahi(hostName: "avahi-host", services: [printer], in: network.left)
        try avahi.start()
        return avahi
    }

    // Parity: SD-034, SD-035 (Avahi)
    @Test func servicesOfAvahiAreFound() async throws {
        defer { network.remove() }
        let avahi = try avahi()
        defer { avahi.stop() }
        let browser = try Probes.start("browse", "_ipp._tcp", "120", in: network.right)
        defer { browser.stop() }
        #expect(await browser.says("+ Printer"), "\(browser.log)")
        let monitor = try Probes.start("monitor", "Printer", "_ipp._tcp", "120", in: network.right)
        defer { monitor.stop() }
        #expect(await monitor.says("note=hello a=b"), "\(monitor.log)")
        let resolver = try Probes.start("resolve", "Printer", "_ipp._tcp", "120", in: network.right)
        defer { resolver.stop() }
        #expect(await resolver.shows("avahi-host.local. 631 ", "10.77.5.1:631"), "\(resolver.log)")
        // Avahi exits with goodbye packets.
        avahi.stop()
        #expect(await browser.says("- Printer"), "\(browser.log)")
    }

    // Parity: SD-009, SD-020 (Avahi)
    @Test func avahiFindsOurServices() async throws {
        defer { network.remove() }
        let avahi = try avahi()
        defer { avahi.stop() }
        let publisher = try Probes.start("publish", "Büro", "_http._tcp", "8080", "120", "k=v", in: network.right)
        defer { publisher.stop() }
        #expect(await publisher.says("published Büro"))
        let lines = try await avahi.browse("_http._tcp")
        #expect(lines.contains { $0.contains(";10.77.5.2;8080;\"k=v\"") && $0.contains("B\\195\\188ro") }, "\(lines)")
        publisher.stop()
        // After a goodbye, a record remains for a second (RFC 6762 §10.1).
        let end = ContinuousClock.now + .seconds(30)
        var left = lines
        while !left.isEmpty, ContinuousClock.now < end { left = try await avahi.browse("_http._tcp") }
        #expect(left.isEmpty, "\(left)")
    }

    // Parity: SD-013 (Avahi)
    @Test func aNameOfAvahiIsNotTaken() async throws {
        defer { network.remove() }
        let avahi = try avahi()
        defer { avahi.stop() }
        let publisher = try Probes.start("publish", "Printer", "_ipp._tcp", "1", "120", in: network.right)
        defer { publisher.stop() }
        #expect(await publisher.says("published Printer (2)"), "\(publisher.log)")
    }

    @Test func bothRespondersOnOneHost() async throws {
        defer { network.remove() }
        let avahi = try avahi()
        defer { avahi.stop() }
        // All on the daemon's host, on one port.
        let publisher = try Probes.start("publish", "Beside", "_http._tcp", "8080", "120", in: network.left)
        defer { publisher.stop() }
        #expect(await publisher.says("published Beside"))
        let browser = try Probes.start("browse", "_ipp._tcp", "120", in: network.left)
        defer { browser.stop() }
        #expect(await browser.says("+ Printer"), "\(browser.log)")
        let far = try Probes.start("browse", "_http._tcp", "120", in: network.right)
        defer { far.stop() }
        #expect(await far.says("+ Beside"))
        #expect(try await avahi.browse("_http._tcp").contains { $0.contains(";Beside;") })
        // Neither mistook the other for a host with a conflicting name.
        #expect(try await avahi.address(of: "avahi-host.local") == "10.77.5.1")
        #expect(!avahi.log.contains("conflict"), "\(avahi.log)")
    }
}
