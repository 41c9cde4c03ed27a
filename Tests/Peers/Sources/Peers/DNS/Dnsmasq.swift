/// dnsmasq: a DNS server with given records, over UDP and TCP.
///
/// ```swift
/// let server = Dnsmasq(records: [.a("www.peers.test", "192.0.2.1")])
/// try server.start()      // 127.0.0.1, server.port
/// ```
///
/// Unknown names under `test` do not exist (NXDOMAIN); queries for other unknown names are refused (REFUSED). An answer that is
/// too long for UDP is truncated, and complete over TCP. An alias must point to the name of another record.
public final class Dnsmasq: Peer {
    /// `dnsmasq`, from the package that installs no service.
    public static let program = Program("dnsmasq", package: "dnsmasq-base")
    /// The process of the server.
    public let process: PeerProcess
    /// The served records.
    public let records: [DNSRecord]

    /// Creates a server that is not started yet. In a namespace it uses port 53, which the C library queries.
    public init(records: [DNSRecord], in namespace: NetworkNamespace? = nil) {
        self.records = records
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when it answers.
    public func start() throws(PeerError) {
        let fixed = process.namespace == nil ? nil : [53]
        try process.start(Self.program, ports: 1, fixed: fixed) { scratch, ports throws(PeerError) in
            let lines =
                [
                    "port=\(ports[0])", "listen-address=127.0.0.1", "bind-interfaces", "no-resolv", "no-hosts",
                    "log-queries", "local=/test/",
                    "cache-size=0", "local-ttl=300",
                ] + records.map(\.dnsmasqLine)
            let file = try scratch.write("dnsmasq.conf", lines.joined(separator: "\n") + "\n")
            // Not as a daemon, it neither forks nor drops its privileges, which a user namespace would not permit.
            return PeerProcess.Launch(
                arguments: ["--no-daemon", "--conf-file=\(file)"], sockets: ListeningSocket.dns(ports[0]))
        }
    }
}
