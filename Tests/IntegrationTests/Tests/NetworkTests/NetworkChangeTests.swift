import Foundation
import Peers
import Testing

/// The notifications of a monitor about real changes, in a separate network namespace.
@Suite struct NetworkChangeTests {
    /// SwiftPM puts executables next to the test bundle.
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("watch-network").path

    /// A command, and the change that the monitor must report.
    private struct Step {
        let command: String
        let output: String

        init(_ command: String, _ output: String) {
            self.command = command
            self.output = output
        }
    }

    private func watch(_ address: String, from start: String, _ steps: Step...) async throws {
        // No IPv6 address yet: the kernel would still report it when the monitor begins.
        let namespace = try NetworkNamespace(addresses: ["192.0.2.1/24"])
        defer { namespace.remove() }
        let arguments = [Self.tool, address] + steps.map(\.command)
        let result = try await Command(Program("env", package: "coreutils"), arguments, in: namespace).run()
        #expect(result.text.split(separator: "\n").map(String.init) == [start] + steps.map(\.output), "\(result)")
    }

    /// A command that returns when the kernel has noticed the change, which it does in the background.
    private func link(_ end: String, _ state: String, until noticed: String) -> String {
        "ip link set \(end) \(state); until ip link show outside | grep -q '\(noticed)'; do :; done"
    }

    // Parity: HR-028 (Linux)
    @Test func anInterfaceGoesDownAndUp() async throws {
        try await watch(
            "192.0.2.9", from: "reachable, direct",
            Step(link("outside", "down", until: "state DOWN"), "links+routes: unreachable"),
            Step(link("outside", "up", until: "state UP"), "links+routes: reachable, direct"))
    }

    @Test func aCableIsUnpluggedAndReplugged() async throws {
        try await watch(
            "192.0.2.9", from: "reachable, direct",
            Step(link("far", "down", until: "state LOWERLAYERDOWN"), "links+routes: unreachable"),
            Step(link("far", "up", until: "state UP"), "links+routes: reachable, direct"))
    }

    @Test func anInterfaceIsRemoved() async throws {
        try await watch(
            "192.0.2.9", from: "reachable, direct",
            Step("ip link delete outside", "links+addresses+routes: unreachable"))
    }

    @Test(arguments: [("198.51.100.1/24", "198.51.100.9"), ("2001:db8::1/64", "2001:db8::9")])
    func anAddressIsAddedAndRemoved(address: String, neighbour: String) async throws {
        try await watch(
            neighbour, from: "unreachable",
            Step("ip address add \(address) dev outside nodad", "addresses+routes: reachable, direct"),
            Step("ip address delete \(address) dev outside", "addresses+routes: unreachable"))
    }

    @Test func aLocalAddressIsAddedAndRemoved() async throws {
        try await watch(
            "192.0.2.77", from: "reachable, direct",
            Step("ip address add 192.0.2.77/24 dev outside", "addresses+routes: reachable, local address, direct"),
            Step("ip address delete 192.0.2.77/24 dev outside", "addresses+routes: reachable, direct"))
    }

    // Parity: HR-016, HR-028 (Linux)
    @Test func aDefaultRouteIsAddedAndRemoved() async throws {
        try await watch(
            "198.51.100.1", from: "unreachable",
            Step("ip route add default via 192.0.2.254", "routes: reachable"),
            Step("ip route add 203.0.113.0/24 via 192.0.2.254", "routes"),
            Step("ip route delete default via 192.0.2.254", "routes: unreachable"))
    }

    @Test func aDefaultRouteOfIPv6IsAddedAndRemoved() async throws {
        try await watch(
            "2001:db8:1::1", from: "unreachable",
            Step("ip address add 2001:db8::1/64 dev outside nodad", "addresses+routes"),
            Step("ip route add default via 2001:db8::fe", "routes: reachable"),
            Step("ip route delete default via 2001:db8::fe", "routes: unreachable"))
    }

    @Test func anUnreachableRouteIsReported() async throws {
        try await watch(
            "192.0.2.9", from: "reachable, direct",
            Step("ip route add unreachable 192.0.2.9/32", "routes: unreachable"),
            Step("ip route delete unreachable 192.0.2.9/32", "routes: reachable, direct"))
    }
}

/// A stream whose local address is removed, in a separate network namespace.
@Suite struct StrandedStreamTests {
    /// SwiftPM puts executables next to the test bundle.
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("stream-probe").path

    // Parity: SK-062 (Linux)
    @Test(
        "SK-062: a stream with failsWhenAddressIsRemoved fails, another one stays open",
        arguments: ["192.0.2.7/32", "2001:db8::7/128"])
    func aStreamWhoseAddressIsRemovedFails(_ network: String) async throws {
        let namespace = try NetworkNamespace(addresses: ["198.51.100.1/24"])
        defer { namespace.remove() }
        let address = try #require(network.split(separator: "/").first)
        let script = """
            ip address add \(network) dev lo nodad
            # The kernel adds the route of an IPv6 address later.
            until ip route get \(address) >/dev/null 2>&1; do sleep 0.02; done
            exec \(Self.tool) stranded \(address) 'ip address delete \(network) dev lo'
            """
        let result = try await Command(Program("sh", package: "dash"), ["-ec", script], in: namespace).run()
        #expect(
            result.text
                == "This machine no longer has the address \(address), which the connection uses.\nerror open\n",
            "\(result)")
    }
}
