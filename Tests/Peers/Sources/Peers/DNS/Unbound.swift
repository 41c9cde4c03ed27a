/// unbound: a DNS server with given records as its only zone, over UDP and TCP.
///
/// ```swift
/// let server = Unbound(records: [.a("www.peers.test", "192.0.2.1"), .cname("alias.peers.test", "www.peers.test")])
/// try server.start()      // 127.0.0.1, server.port
/// ```
///
/// The zone is the root; unbound's built-in zones for `test` and for documentation addresses are off. Names without a record do
/// not exist (NXDOMAIN), a name `*.x` is a wildcard, and aliases are followed within the records. An answer over 1232 bytes is
/// truncated, and complete over TCP.
///
/// With root servers instead of records, it resolves from these, such as servers of ``NSD``, and validates nothing.
public final class Unbound: Peer {
    /// `unbound`.
    public static let program = Program("unbound")
    /// The process of the server.
    public let process: PeerProcess
    /// The served records.
    public let records: [DNSRecord]
    /// The addresses of the root servers from which it resolves; empty if it serves the records.
    private let rootServers: [String]

    /// Creates a server that is not started yet. In a namespace it uses port 53, which the C library queries.
    public init(records: [DNSRecord], in namespace: NetworkNamespace? = nil) {
        self.records = records
        rootServers = []
        process = PeerProcess(in: namespace)
    }

    /// Creates a server that resolves from these root servers, and is not started yet.
    public init(rootServers: [String], in namespace: NetworkNamespace) {
        records = []
        self.rootServers = rootServers
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when it answers.
    public func start() throws(PeerError) {
        let fixed = process.namespace == nil ? nil : [53]
        try process.start(Self.program, ports: 1, fixed: fixed) { scratch, ports throws(PeerError) in
            let zone = [
                ". 300 IN SOA ns.peers.test. root.peers.test. 1 3600 600 86400 60", ". 300 IN NS ns.peers.test.",
            ]
            try scratch.write("root.zone", (zone + records.map(\.zoneLine)).joined(separator: "\n") + "\n")
            let hints = rootServers.enumerated().flatMap { number, address in
                [". 300 IN NS hint\(number).", "hint\(number). 300 IN A \(address)"]
            }
            try scratch.write("root.hints", hints.joined(separator: "\n") + "\n")
            let source =
                rootServers.isEmpty
                ? """
                auth-zone:
                    name: "."
                    zonefile: "\(scratch.file("root.zone"))"
                    for-downstream: yes
                    for-upstream: yes
                    fallback-enabled: no
                """
                : """
                server:
                    root-hints: "\(scratch.file("root.hints"))"
                    do-not-query-localhost: no
                """
            let file = try scratch.write(
                "unbound.conf",
                """
                server:
                    interface: 127.0.0.1@\(ports[0])
                    do-daemonize: no
                    use-syslog: no
                    logfile: ""
                    log-queries: yes
                    username: ""
                    chroot: ""
                    directory: "\(scratch.path)"
                    pidfile: ""
                    num-threads: 1
                    module-config: "iterator"
                    max-udp-size: 1232
                    unblock-lan-zones: yes
                    local-zone: "test." nodefault
                    local-zone: "2.0.192.in-addr.arpa." nodefault
                    local-zone: "8.b.d.0.1.0.0.2.ip6.arpa." nodefault
                remote-control:
                    control-enable: no
                \(source)

                """)
            return PeerProcess.Launch(arguments: ["-d", "-c", file], sockets: ListeningSocket.dns(ports[0]))
        }
    }
}
