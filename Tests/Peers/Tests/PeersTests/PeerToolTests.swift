import Foundation
import Peers
import Testing

@Suite struct PeerToolTests {
    /// SwiftPM puts executables in the folder of the test bundle.
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("peer").path

    private func run(_ arguments: String...) async throws -> Command.Result {
        try await Command(Program("env"), [Self.tool] + arguments).run()
    }

    @Test(arguments: ["nginx", "apache", "python", "tls"])
    func runsACommandAgainstAWebServer(name: String) async throws {
        let script =
            #"curl -sS -o/dev/null -w '%{http_code}' --cacert "$PEER_ROOT" "${PEER_TLS_URL:-$PEER_URL}/cgi/echo""#
        let result = try await run(name, "sh", "-c", script)
        let expected = ["nginx": "404", "apache": "200", "python": "404", "tls": "200"]
        #expect(result.text == expected[name], "\(result)")
    }

    @Test(arguments: ["dnsmasq", "unbound"])
    func runsACommandAgainstANameServer(name: String) async throws {
        let result = try await run(name, "sh", "-c", "dig +short @127.0.0.1 -p $PEER_PORT www.peers.test")
        #expect(result.text == "192.0.2.1\n")
    }

    @Test func passesTheStatusOn() async throws {
        #expect(try await run("echo", "sh", "-c", "exit 7").status == 7)
    }

    @Test func refusesUnknownPeers() async throws {
        let unknown = try await run("gopher")
        #expect(unknown.status == 2 && unknown.errors.contains("unknown peer 'gopher'"))
        #expect(try await run("--help").text.hasPrefix("usage: peer NAME"))
        #expect(try await run().status == 2)
    }

    /// Nothing leaks: the server ends when the process that has started it is killed.
    @Test(
        arguments: [
            "nginx", "apache", "python", "tls", "echo", "dnsmasq", "unbound", "dante", "microsocks", "ssh", "squid",
            "tinyproxy",
            "stunnel",
        ], ["KILL", "TERM"])
    func nothingOutlivesTheToolWhenItIsKilled(name: String, signal: String) async throws {
        let script = """
            exec {output}< <(exec "$0" "$1")
            tool=$!
            read -r _ _ _ _ _ _ _ process _ <&$output
            process=${process%;}
            kill -0 $process || echo "no process"
            kill -s "$2" $tool
            for try in $(seq 500); do
                # Gone, or a zombie until init reaps it. It is not a child of this shell, so this polls.
                grep -q '^State:[[:space:]]*[^ZX]' /proc/$process/status 2>/dev/null || { echo ended; exit; }
                sleep 0.01
            done
            echo "$process is still there"
            """
        let result = try await Command(Program("bash"), ["-c", script, Self.tool, name, signal]).run()
        #expect(result.text == "ended\n", "\(result)")
    }
}
