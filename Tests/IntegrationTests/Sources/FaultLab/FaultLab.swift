internal import Foundation
public import Peers

/// A small network in namespaces: this machine (192.0.2.1, 2001:db8:1::1), a router (192.0.2.254, 2001:db8:1::fe), and behind it
/// the servers of `world.py`. Two addresses lead nowhere: 198.51.100.8 is unreachable, .9 a black hole.
public struct FaultLab: Sendable {
    /// The result of diagnosing a network.
    public struct Outcome: Sendable {
        /// The row.
        public var fault: LabFault
        /// The diagnosis: codes, as in ``LabFault/verdict``, or the reason why there is none.
        public var verdict: String
        /// The complete output of the diagnosis.
        public var report: String
        /// Whether the diagnosis names exactly the expected codes.
        public var isRight: Bool { verdict == fault.verdict && (fault.says.isEmpty || report.contains(fault.says)) }
    }

    /// The number of networks to diagnose at the same time. Most of the time they wait for answers that never come.
    private static let width = 8

    private let tool: [String]
    private let authority: CertificateAuthority

    /// Makes a lab.
    ///
    /// - Parameters:
    ///   - tool: the path of `diagnose-here`.
    ///   - byStream: whether to diagnose failed streams instead of URLs.
    public init(tool: String, byStream: Bool = false) throws(PeerError) {
        self.tool = byStream ? [tool, "--stream"] : [tool]
        authority = try CertificateAuthority.shared()
    }

    /// Diagnoses each network and returns the outcomes in the same order.
    public func outcomes(of faults: [LabFault]) async -> [Outcome] {
        await withTaskGroup(of: (Int, Outcome).self) { group in
            var outcomes: [Int: Outcome] = [:]
            for (number, fault) in faults.enumerated() {
                if number >= FaultLab.width, let (number, outcome) = await group.next() { outcomes[number] = outcome }
                group.addTask { (number, await self.outcome(of: fault)) }
            }
            for await (number, outcome) in group { outcomes[number] = outcome }
            return outcomes.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private func outcome(of fault: LabFault) async -> Outcome {
        do throws(PeerError) {
            let namespace = try await network(of: fault)
            defer { namespace.remove() }
            var command = Command(
                Program("env", package: "coreutils"), fault.wrapper + tool + [fault.url], in: namespace)
            command.environment = fault.environment.merging(["SSL_CERT_FILE": authority.root]) { $1 }
            let result = try await command.run()
            let line = result.text.split(separator: "\n").first.map(String.init) ?? ""
            let isFailure = result.status != 0 || line.isEmpty
            return Outcome(
                fault: fault, verdict: isFailure ? "diagnose-here failed" : line, report: result.text + result.errors)
        } catch {
            return Outcome(fault: fault, verdict: "no network", report: "\(error)")
        }
    }

    /// Makes the network, on a thread that may block.
    private func network(of fault: LabFault) async throws(PeerError) -> NetworkNamespace {
        let servers = fault.nameServers.map { "nameserver \($0)\n" }.joined()
        let setup = FaultLab.world(certificates: URL(fileURLWithPath: authority.root).deletingLastPathComponent().path)
        let result: Result<NetworkNamespace, PeerError> = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                do throws(PeerError) {
                    continuation.resume(
                        returning: .success(
                            try NetworkNamespace(
                                addresses: ["192.0.2.1/24", "2001:db8:1::1/64"], setup: setup + fault.commands,
                                files: [
                                    "/etc/resolv.conf": servers + "options timeout:1 attempts:1\n",
                                    "/etc/hosts": "127.0.0.1 localhost\n\(fault.hosts)\n",
                                ])))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// The commands that make the router and the servers behind it. Both end with the process that holds the first namespace.
    private static func world(certificates: String) -> [String] {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("world.py").path
        return [
            "setpriv --pdeathsig KILL unshare --net sleep infinity & router=$!",
            "setpriv --pdeathsig KILL unshare --net sleep infinity & servers=$!",
            "R() { nsenter --target $router --net \"$@\"; }",
            "S() { nsenter --target $servers --net \"$@\"; }",
            "own=$(readlink /proc/self/ns/net)",
            "for made in $router $servers; do",
            "  until [ \"$(readlink /proc/$made/ns/net)\" != \"$own\" ]; do sleep 0.01; done",
            "done",
            "ip link set far netns $router",
            "R ip link add wan type veth peer name isp netns $servers",
            "for link in lo far wan; do R ip link set $link addrgenmode none 2>/dev/null || :; R ip link set $link up; done",
            "for link in lo isp; do S ip link set $link addrgenmode none 2>/dev/null || :; S ip link set $link up; done",
            "R ip address add 192.0.2.254/24 dev far", "R ip address add 2001:db8:1::fe/64 dev far nodad",
            "R ip address add 203.0.113.1/24 dev wan", "R ip address add 2001:db8:3::1/64 dev wan nodad",
            // A router sends neighbour solicitations from its link-local address.
            "R ip address add fe80::fe/64 dev far nodad", "R ip address add fe80::1/64 dev wan nodad",
            "S ip address add fe80::2/64 dev isp nodad", "S ip address add 203.0.113.2/24 dev isp",
            "S ip address add 2001:db8:3::2/64 dev isp nodad",
            "for host in 7 53 54 55 56 57 59 60 66 80 99; do S ip address add 198.51.100.$host/32 dev lo; done",
            "S ip address add 2001:db8:2::7/128 dev lo nodad",
            "S ip route add default via 203.0.113.1", "S ip -6 route add default via 2001:db8:3::1",
            "R ip route add 198.51.100.0/24 via 203.0.113.2", "R ip -6 route add 2001:db8:2::/64 via 2001:db8:3::2",
            "R ip route add unreachable 198.51.100.8/32", "R ip route add blackhole 198.51.100.9/32",
            "R sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'",
            "S setpriv --pdeathsig KILL python3 '\(script)' '\(certificates)' &",
            // The kernel notices a connected cable only after some time.
            "until ip link show outside | grep -q 'state UP'; do sleep 0.01; done",
            "until S ip link show isp | grep -q 'state UP'; do sleep 0.01; done",
            "for link in far wan; do until R ip link show $link | grep -q 'state UP'; do sleep 0.01; done; done",
            "ip route add default via 192.0.2.254", "ip -6 route add default via 2001:db8:1::fe",
            "until S ss -lun | grep -q 198.51.100.60:53; do sleep 0.02; done",
        ]
    }
}
