/// dnsmasq: a DNS server with these records, over UDP and TCP.
///
/// ```swift
/// let server = Dnsmasq(records: [.a("www.peers.test", "192.0.2.1")])
/// try server.start()      // 127.0.0.1, server.port
/// ```
///
/// Names under `test` that it does not know do not exist (NXDOMAIN); all others it refuses (REFUSED). An answer that does
/// not fit is truncated, and whole over TCP. An alias must lead to a name of another record.
public final class Dnsmasq: Peer {
    /// `dnsmasq`, of the package that brings no service.
    public static let program = Program("dnsmasq", package: "dnsmasq-base")
    /// The running program.
    public let process: PeerProcess
    /// What it serves.
    public let records: [DNSRecord]

    /// Makes one; it has to be started. In a namespace it uses port 53, where the C library looks for it.
    public init(records: [DNSRecord], in namespace: NetworkNamespace? = nil) {
        self.records = records
        process = PeerProcess(in: namespace)
    }

    /// Starts it and returns when it answers.
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
            // Not a daemon, it neither forks nor gives its rights away, which a user namespace would not permit.
            return PeerProcess.Launch(
                arguments: ["--no-daemon", "--conf-file=\(file)"], sockets: ListeningSocket.dns(ports[0]))
        }
    }
}
