import Peers
import Testing

@Suite struct AvahiTests {
    @Test func findsServicesOfAnotherHost() async throws {
        let network = try WiredNamespaces()
        defer { network.remove() }
        let service = Avahi.Service("Printer", type: "_ipp._tcp", port: 631, texts: ["a=b"])
        let publisher = Avahi(hostName: "left-host", services: [service], in: network.left)
        try publisher.start()
        defer { publisher.stop() }
        let browser = Avahi(hostName: "right-host", in: network.right)
        try browser.start()
        defer { browser.stop() }
        let end = ContinuousClock.now + .seconds(30)
        var lines: [String] = []
        while lines.isEmpty, ContinuousClock.now < end { lines = try await browser.browse("_ipp._tcp") }
        #expect(lines.contains { $0.contains(";Printer;") && $0.contains(";10.77.5.1;631;\"a=b\"") }, "\(lines)")
        #expect(try await browser.address(of: "left-host.local") == "10.77.5.1")
    }

    @Test func programsReportInLines() async throws {
        let program = LineProgram("/bin/sh", ["-c", "echo one; echo two; sleep 60"])
        try program.start()
        defer { program.stop() }
        #expect(await program.says("two"))
        #expect(await !program.says("three", seconds: 0.1))
        program.kill()
        while program.isRunning, !Task.isCancelled { await Task.yield() }
        #expect(program.log == "one\ntwo\n")
    }
}
