import Peers
import Testing

@Suite struct SocatTests {
    /// Sends `hello` with socat as the client, and returns the answer.
    private func talk(to address: String) async throws -> String {
        let command = Command(Program("socat"), ["-t5", "-", address], input: Array("hello\n".utf8))
        let result = try await command.run()
        return result.text + result.errors
    }

    @Test func echoes() async throws {
        let tcp = Socat(.echo)
        try tcp.start()
        #expect(try await talk(to: "TCP4:127.0.0.1:\(tcp.port)") == "hello\n")
        let relay = Socat(.relay(to: tcp.port))
        try relay.start()
        #expect(try await talk(to: "TCP4:127.0.0.1:\(relay.port)") == "hello\n")
        let unix = Socat(.echoUnix)
        try unix.start()
        #expect(try await talk(to: "UNIX:\(try unix.path)") == "hello\n")
        let shell = Socat(.shell("read line; echo one; echo \"got $line\""))
        try shell.start()
        #expect(try await talk(to: "TCP4:127.0.0.1:\(shell.port)") == "one\ngot hello\n")

        let ports = [tcp, relay, shell].map(\.port)
        for peer in [tcp, relay, unix, shell] { peer.stop() }
        #expect(ports.allSatisfy { PortPool.isFree($0) })
    }

    @Test func echoesDatagrams() async throws {
        let peer = Socat(.echoDatagrams)
        try peer.start()
        defer { peer.stop() }
        let command = Command(
            Program("socat"), ["-t0.3", "-", "UDP4:127.0.0.1:\(peer.port)"], input: Array("hello\n".utf8))
        #expect(try await command.run().text == "hello\n")
    }
}
