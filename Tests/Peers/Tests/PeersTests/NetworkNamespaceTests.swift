import Peers
import Testing

@Suite struct NetworkNamespaceTests {
    @Test func hasItsOwnLoopbackAndAddresses() async throws {
        let namespace = try NetworkNamespace(addresses: ["10.77.9.1/24"], setup: ["ip route add default via 10.77.9.2"])
        defer { namespace.remove() }
        let addresses = try await Command(Program("ip", package: "iproute2"), ["-br", "address"], in: namespace).run()
        #expect(addresses.text.contains("127.0.0.1/8") && addresses.text.contains("10.77.9.1/24"))
        let routes = try await Command(Program("ip", package: "iproute2"), ["route"], in: namespace).run()
        #expect(routes.text.contains("default via 10.77.9.2"))
    }

    @Test func coversFilesOfTheMachineForItsOwnOnly() async throws {
        let namespace = try NetworkNamespace(files: ["/etc/hosts": "192.0.2.9 covered.test\n"])
        defer { namespace.remove() }
        #expect(
            try await Command(Program("cat"), ["/etc/hosts"], in: namespace).run().text == "192.0.2.9 covered.test\n")
        #expect(try await !Command("cat", "/etc/hosts").run().text.contains("covered.test"))
    }

    @Test func keepsPeersToItself() async throws {
        let namespace = try NetworkNamespace()
        defer { namespace.remove() }
        let server = PythonHTTPServer(in: namespace)
        try server.start()
        defer { server.stop() }
        let fetch = ["-sS", "-o/dev/null", "-w%{http_code}", server.url()]
        #expect(try await Command(Program("curl"), fetch, in: namespace).run().text == "200")
        #expect(try await Command(Program("curl"), fetch).run().errors.contains("curl: (7)"))
    }

    @Test func reportsErrorsOfTheSetup() throws {
        let error = #expect(throws: PeerError.self) { try NetworkNamespace(setup: ["no-such-command"]) }
        #expect(error?.code == .refused)
        #expect(error?.description.contains("no-such-command") == true)
    }
}
