import Foundation
import Peers
import Testing

/// `NetService` and `NetServiceBrowser` with services of Avahi and python-zeroconf on another host, on both engines.
@Suite(.serialized) final class NetServicePeerTests {
    private let network: WiredNamespaces

    init() throws {
        network = try WiredNamespaces()
    }

    deinit { network.remove() }

    /// Avahi on the other host.
    private func avahi(_ services: [Avahi.Service] = []) throws -> Avahi {
        let avahi = Avahi(hostName: "left", services: services, in: network.left)
        try avahi.start()
        return avahi
    }

    private func host(_ engine: DiscoveryHost.Engine) throws -> DiscoveryHost {
        try DiscoveryHost(engine, called: "right", in: network.right)
    }

    /// The values of `moreComing` in the order of the calls.
    private static func flags(_ log: String) -> [Bool] {
        log.split(separator: "\n").filter { $0.hasPrefix("+ ") }.map { $0.hasSuffix(" true") }
    }

    // Parity: SD-036 (Avahi, tshark)
    @Test(
        "SD-036: of fifty services, few calls say that no other follows; the last one does",
        arguments: DiscoveryHost.Engine.allCases)
    func aBurst(_ engine: DiscoveryHost.Engine) async throws {
        let observer = Tshark("udp port 5353", fields: ["dns.flags.response", "dns.resp.type"], in: network.left)
        try observer.start()
        defer { observer.stop() }
        let printers = (1...50).map { Avahi.Service("Printer number \($0)", type: "_ipp._tcp", port: 631) }
        let avahi = try avahi(printers)
        defer { avahi.stop() }
        let right = try host(engine)
        defer { right.stop() }
        if engine == .daemon {
            // The daemon then knows all of them.
            var known = 0
            while known < 50 {
                known = try await #require(right.avahi).browse("_ipp._tcp").count { $0.contains("IPv4") }
            }
        }
        let browser = try right.startNetService("browse", "_ipp._tcp")
        defer { browser.stop() }
        #expect(await browser.logs { Self.flags($0).count >= 50 }, "\(browser.log)")
        let flags = Self.flags(browser.log)
        #expect(flags.count == 50 && flags.last == false, "\(browser.log)")
        // The records of a packet are reported together. Packets are counted for both families.
        let batches = flags.count { !$0 }
        let isFew = await observer.sees { packets in
            let answers = packets.filter { packet in
                ["1", "True"].contains(packet["dns.flags.response"])
                    && packet["dns.resp.type"]?.split(separator: ";").contains("12") == true
            }
            return answers.count >= batches
        }
        #expect(isFew && batches <= 25, "\(batches)\n\(browser.log)")
    }

    /// Publishes Py, with an address of one family; changes with each line of the input.
    private static let script = """
        import socket, sys
        from zeroconf import ServiceInfo, Zeroconf
        zeroconf = Zeroconf(interfaces=["10.77.5.1"])
        addresses = [socket.inet_aton("10.77.5.1")]
        def info(text):
            return ServiceInfo("_ipp._tcp.local.", "Py._ipp._tcp.local.", port=631, addresses=addresses,
                properties={"n": text}, server="py.local.")
        zeroconf.register_service(info("0"))
        print("published", flush=True)
        for line in sys.stdin:
            word = line.strip()
            if word == "IPv6": addresses.append(socket.inet_pton(socket.AF_INET6, "2001:db8::1"))
            zeroconf.update_service(info(word))
            print("updated", word, flush=True)
        """

    private func zeroconf() throws -> LineProgram {
        // Debian's Python, which has Debian's python3-zeroconf.
        let program = LineProgram("/usr/bin/python3", ["-c", Self.script], hasInput: true, in: network.left)
        try program.start()
        return program
    }

    // Parity: SD-054, SD-055 (Avahi, python-zeroconf)
    @Test(
        "SD-055: each new address is reported, and the host name with the first",
        arguments: DiscoveryHost.Engine.allCases)
    func addressesArriveOneAfterTheOther(_ engine: DiscoveryHost.Engine) async throws {
        let peer = try zeroconf()
        defer { peer.stop() }
        #expect(await peer.says("published"), "\(peer.log)")
        let right = try host(engine)
        defer { right.stop() }
        let resolver = try right.startNetService("resolve", "Py", "_ipp._tcp", "local.", "0")
        defer { resolver.stop() }
        #expect(await resolver.says("py.local. 631 v4"), "\(resolver.log) \(peer.log)")
        #expect(resolver.log.hasPrefix("resolving\npy.local. 631 v4\n"), "\(resolver.log)")
        try peer.tell("IPv6")
        #expect(await resolver.says("py.local. 631 v4 v6"), "\(resolver.log) \(peer.log)")
    }

    // Parity: SD-056 (Avahi)
    @Test("SD-056: the time limit is an error only if nothing was found", arguments: DiscoveryHost.Engine.allCases)
    func theTimeLimit(_ engine: DiscoveryHost.Engine) async throws {
        let avahi = try avahi([Avahi.Service("Printer", type: "_ipp._tcp", port: 631)])
        defer { avahi.stop() }
        let right = try host(engine)
        defer { right.stop() }
        let absent = try right.startNetService("resolve", "Absent", "_ipp._tcp", "local.", "1")
        defer { absent.stop() }
        #expect(await absent.says("failed -72007"), "\(absent.log)")
        #expect(absent.log == "resolving\nfailed -72007\n")
        let present = try right.startNetService("resolve", "Printer", "_ipp._tcp", "local.", "10")
        defer { present.stop() }
        #expect(await present.says("stopped"), "\(present.log)")
        #expect(
            present.log.hasPrefix("resolving\nleft.local. 631 ") && !present.log.contains("failed"), "\(present.log)")
    }

    // Parity: SD-059 (Avahi, socat)
    @Test("SD-059: name, type and domain find the service after its port has changed")
    func theSavedNameIsEnough() async throws {
        var ports: [Int] = []
        for text in ["first", "second"] {
            let greeter = Socat(.shell("read line; printf '\(text)'"), at: "10.77.5.1", in: network.left)
            try greeter.start()
            defer { greeter.stop() }
            ports.append(greeter.port)
            let avahi = try avahi([Avahi.Service("Greeter. 1", type: "_greet._tcp", port: greeter.port)])
            defer { avahi.stop() }
            let call = try host(.embedded).startStreams("call", "Greeter. 1", "_greet._tcp", "hello\n")
            defer { call.stop() }
            #expect(await call.says("heard \(text)"), "\(call.log)")
        }
        #expect(Set(ports).count == 2)
    }

    // Parity: SD-069 (Avahi, python-zeroconf)
    @Test("SD-069: the record, and each of three changes", arguments: DiscoveryHost.Engine.allCases)
    func eachChangeIsReported(_ engine: DiscoveryHost.Engine) async throws {
        let peer = try zeroconf()
        defer { peer.stop() }
        #expect(await peer.says("published"), "\(peer.log)")
        let right = try host(engine)
        defer { right.stop() }
        let monitor = try right.startNetService("monitor", "Py", "_ipp._tcp")
        defer { monitor.stop() }
        #expect(await monitor.says("text n=0"), "\(monitor.log) \(peer.log)")
        for number in 1...3 {
            try peer.tell("\(number)")
            #expect(await monitor.says("text n=\(number)"), "\(monitor.log) \(peer.log)")
        }
        #expect(monitor.log == "text n=0\ntext n=1\ntext n=2\ntext n=3\n")
    }

    /// Opens 50 connections over each family, all of them open at the same time.
    private static let callers = """
        import socket, sys
        port = int(sys.argv[1])
        calls = [socket.create_connection((address, port)) for _ in range(50) for address in ("10.77.5.2", "2001:db8::2")]
        for number, call in enumerate(calls): call.sendall(b"%d\\n" % number)
        echoed = 0
        for number, call in enumerate(calls):
            if call.makefile().readline() == "%d\\n" % number: echoed += 1
        print("echoed", echoed, flush=True)
        sys.stdin.readline()
        for address in "10.77.5.2", "2001:db8::2":
            try: socket.create_connection((address, port)); print("accepted", flush=True)
            except ConnectionRefusedError: print("refused", flush=True)
        """

    // Parity: SD-008, SD-017, SD-018, SD-040, SD-075 (Avahi, python3)
    @Test(
        "SD-008, SD-040, SD-075: a service that listens accepts connections over both families on a port of the system's choice"
    )
    func connectionsAreAccepted() async throws {
        try network.addAddress("2001:db8::1/64", to: network.left)
        try network.addAddress("2001:db8::2/64", to: network.right)
        let avahi = try avahi()
        defer { avahi.stop() }
        let right = try host(.embedded)
        let wrong = try right.startNetService("listen", "Echo", "_echo._udp", "0")
        defer { wrong.stop() }
        #expect(await wrong.says("failed -72004"), "\(wrong.log)")
        let server = try right.startNetService("listen", "Echo", "_echo._tcp", "0")
        defer { server.stop() }
        #expect(await server.shows("published Echo at ", " in local.\n"), "\(server.log)")
        #expect(server.log.hasPrefix("publishing\npublished Echo at "), "\(server.log)")
        let port = try #require(server.log.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first)
        #expect(try await avahi.browse("_echo._tcp").contains { $0.contains(";Echo;") && $0.contains(";\(port);") })
        let callers = LineProgram(
            "/usr/bin/python3", ["-c", Self.callers, "\(port)"], hasInput: true, in: network.left)
        try callers.start()
        defer { callers.stop() }
        #expect(await callers.says("echoed 100"), "\(callers.log) \(server.log)")
        #expect(server.log.contains("accepted 100\n") && !server.log.contains("accepted 101"))
        // The end of the service closes the sockets that listen, and is announced.
        try server.tell("stop")
        #expect(await server.says("stopped"), "\(server.log)")
        try callers.tell("again")
        #expect(await callers.says("refused", times: 2), "\(callers.log)")
        var left = ["unknown"]
        let end = ContinuousClock.now + .seconds(Deadline.ofHangs)
        // A service that goes while avahi-browse asks for its addresses can make that program wait beyond its limit.
        while !left.isEmpty, ContinuousClock.now < end { left = (try? await avahi.browse("_echo._tcp")) ?? left }
        #expect(left.isEmpty, "\(left)")
    }

    // Parity: SD-051 (socat, unbound)
    @Test("SD-051: the host name, with its final dot, can be connected to by name")
    func theHostNameIsOneForAnyConnection() async throws {
        let namespace = try NetworkNamespace(
            addresses: ["192.0.2.1/24"], files: ["/etc/resolv.conf": "nameserver 127.0.0.1\n"])
        defer { namespace.remove() }
        let echo = Socat(.echo, at: "192.0.2.1", in: namespace)
        try echo.start()
        defer { echo.stop() }
        let name = "Web._http._tcp.peers.test"
        let server = Unbound(
            records: [
                .srv(name, priority: 0, weight: 0, port: echo.port, "h.peers.test"), .txt(name, "a=b"),
                .a("h.peers.test", "192.0.2.1"),
            ], in: namespace)
        try server.start()
        defer { server.stop() }
        let client = LineProgram(
            Probes.path(of: "net-service"), ["connect", "Web", "_http._tcp", "peers.test.", "hello"], in: namespace)
        try client.start()
        defer { client.stop() }
        #expect(await client.says("h.peers.test. \(echo.port) v4"), "\(client.log)")
        #expect(await client.says("heard hello"), "\(client.log)")
        // An independent client, with the same name and port.
        let other = try await Command(
            Program("socat"), ["-", "TCP4:h.peers.test.:\(echo.port)"], input: Array("there".utf8), in: namespace
        ).run()
        #expect(other.text == "there", "\(other.errors)")
    }
}
