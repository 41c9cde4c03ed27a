import Foundation
import Peers
import Testing

/// Our engine and python-zeroconf, on two hosts.
@Suite(.serialized) struct ZeroconfTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    private static let publish = """
        import signal, socket
        from zeroconf import ServiceInfo, Zeroconf
        def end(*_): zeroconf.close(); print("closed", flush=True); raise SystemExit
        signal.signal(signal.SIGTERM, end)
        zeroconf = Zeroconf(interfaces=["10.77.5.1"])
        zeroconf.register_service(ServiceInfo("_ipp._tcp.local.", "Py._ipp._tcp.local.", port=631,
            addresses=[socket.inet_aton("10.77.5.1")], properties={"a": "b"}, server="py.local."))
        print("published", flush=True)
        while True: signal.pause()
        """

    private static let browse = """
        import signal
        from zeroconf import ServiceBrowser, Zeroconf
        class Listener:
            def add_service(self, zeroconf, type, name):
                info = zeroconf.get_service_info(type, name, 10000)
                print("+", name, info.port, info.parsed_addresses()[0], info.properties.get(b"k"), flush=True)
            def remove_service(self, zeroconf, type, name): print("-", name, flush=True)
            def update_service(self, zeroconf, type, name): pass
        browser = ServiceBrowser(Zeroconf(interfaces=["10.77.5.1"]), "_http._tcp.local.", Listener())
        while True: signal.pause()
        """

    private func python(_ script: String) throws -> LineProgram {
        // Debian's Python, which has Debian's python3-zeroconf.
        let program = LineProgram("/usr/bin/python3", ["-c", script], in: network.left)
        try program.start()
        return program
    }

    @Test func servicesOfZeroconfAreFound() async throws {
        defer { network.remove() }
        let browser = try Probes.start("browse", "_ipp._tcp", "120", in: network.right)
        defer { browser.stop() }
        let peer = try python(Self.publish)
        defer { peer.stop() }
        #expect(await peer.says("published"), "\(peer.log)")
        #expect(await browser.says("+ Py"), "\(browser.log)")
        let monitor = try Probes.start("monitor", "Py", "_ipp._tcp", "120", in: network.right)
        defer { monitor.stop() }
        #expect(await monitor.says("a=b"))
        peer.stop()
        #expect(await browser.says("- Py"), "\(browser.log)")
    }

    /// SD-021: the records of a peer that was killed expire.
    // Parity: SD-021 (python-zeroconf)
    @Test func recordsOfAKilledPeerExpire() async throws {
        defer { network.remove() }
        let browser = try Probes.start("browse", "_ipp._tcp", "120", in: network.right)
        defer { browser.stop() }
        let peer = try python(
            Self.publish.replacingOccurrences(of: "port=631,", with: "port=631, host_ttl=4, other_ttl=4,"))
        #expect(await peer.says("published"), "\(peer.log)")
        #expect(await browser.says("+ Py"), "\(browser.log)")
        peer.kill()
        #expect(await browser.says("- Py"), "\(browser.log)")
    }

    /// SD-021: the peer hears a goodbye when the program calls `exit` and when it returns from `main`; it would keep the records for
    /// 75 minutes otherwise.
    // Parity: SD-021, SD-110 (python-zeroconf)
    @Test(arguments: [[], ["--return"]])
    func zeroconfFindsOurServices(_ options: [String]) async throws {
        defer { network.remove() }
        let peer = try python(Self.browse)
        defer { peer.stop() }
        let publisher = try Probes.start(
            ["publish", "Büro", "_http._tcp", "8080", "120", "k=v"] + options, in: network.right)
        defer { publisher.stop() }
        #expect(await peer.says("+ Büro._http._tcp.local. 8080 10.77.5.2 b'v'"), "\(peer.log)")
        publisher.stop()
        #expect(await peer.says("- Büro._http._tcp.local."), "\(peer.log)")
    }
}
