import Foundation
import Peers

/// A small world in network namespaces: this machine (192.0.2.1, default route), a router (192.0.2.254), and behind it a web
/// server (198.51.100.7), a host that a router calls unreachable (.8) and one that swallows everything (.9).
struct FaultLab {
    /// SwiftPM puts executables beside the bundle of tests.
    private static let tool = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("diagnose-here").path

    /// Runs a command where the router is.
    private static func onRouter(_ command: String) -> String { "nsenter --target $router --net \(command)" }

    /// What makes the router and everything behind it.
    private static let router = [
        // It ends with whoever holds this namespace.
        "setpriv --pdeathsig KILL unshare --net sleep infinity & router=$!",
        "until [ \"$(readlink /proc/$router/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do :; done",
        "ip link set far netns $router",
        onRouter("ip link set lo up"), onRouter("ip link set far up"),
        onRouter("ip address add 192.0.2.254/24 dev far"), onRouter("ip address add 198.51.100.7/32 dev lo"),
        onRouter("ip route add unreachable 198.51.100.8/32"), onRouter("ip route add blackhole 198.51.100.9/32"),
        onRouter("sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'"),
        onRouter("setpriv --pdeathsig KILL python3 -m http.server --bind 198.51.100.7 --directory /srv 80 &"),
        "until ip link show outside | grep -q 'state UP'; do :; done",
        "ip route add default via 192.0.2.254",
        "until \(onRouter("ss -ltn")) | grep -q 198.51.100.7:80; do :; done",
    ]

    /// Brings a fault into the world, and says what the diagnosis of `url` names: the cause, then the warnings.
    static func diagnose(
        _ url: String, fault: [String], nameServers: [String] = ["127.0.0.1"], hosts: String = ""
    ) async throws -> String {
        let servers = nameServers.map { "nameserver \($0)\n" }.joined()
        let namespace = try NetworkNamespace(
            addresses: ["192.0.2.1/24"], setup: router + fault,
            files: [
                "/etc/resolv.conf": servers + "options timeout:1 attempts:1\n",
                "/etc/hosts": "127.0.0.1 localhost\n\(hosts)\n",
            ])
        defer { namespace.remove() }
        let dns = Dnsmasq(records: [.a("www.lab.test", "198.51.100.7")], in: namespace)
        try dns.start()
        defer { dns.stop() }
        let result = try await Command(Program("env", package: "coreutils"), [tool, url], in: namespace).run()
        let line = result.text.split(separator: "\n").first.map(String.init) ?? ""
        if result.status != 0 || line.isEmpty { throw PeerError(.refused, "diagnose-here failed: \(result)") }
        return line
    }
}
