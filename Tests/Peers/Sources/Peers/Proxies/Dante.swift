/// Dante: a SOCKS proxy, versions 4 and 5.
///
/// ```swift
/// let dante = Dante()
/// try dante.start()
/// // curl --socks5-hostname localhost:$dante.port …; port 7 is forbidden by its rules
/// ```
///
/// It listens on 127.0.0.1 and ::1, requires no login, and connects to any address of this machine. It does not support version
/// 4a, and resolves names itself. Its log contains a line with `tcp/connect [` for each connection.
public final class Dante: Peer {
    /// `danted`, from the package `dante-server`.
    public static let program = Program("danted", package: "dante-server")
    /// The process of the server.
    public let process: PeerProcess
    /// The port that its rules forbid.
    public static let forbiddenPort: UInt16 = 7

    /// Creates a server that is not started yet.
    public init(in namespace: NetworkNamespace? = nil) {
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        let hasIPv6 = LoopbackAddress.v6.isAvailable
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            // Every statement, also inside a rule, requires its own line.
            func rule(_ kind: String, from: String, to: String, _ more: String = "") -> [String] {
                ["\(kind) {", "  from: \(from) to: \(to)\(more)", "}"]
            }
            let all = ["0.0.0.0/0", "::/0"]
            let lines =
                ["logoutput: stderr", "internal: 127.0.0.1 port = \(ports[0])"]
                + (hasIPv6 ? ["internal: ::1 port = \(ports[0])"] : [])
                // A process that changes its user id would outlive its parent.
                + ["external: lo", "user.privileged: root", "user.unprivileged: root"]
                + ["clientmethod: none", "socksmethod: none"]
                + all.flatMap { rule("client pass", from: $0, to: $0) }
                + rule("socks block", from: "0.0.0.0/0", to: "0.0.0.0/0", " port = \(Self.forbiddenPort)")
                + all.flatMap { from in all.flatMap { rule("socks pass", from: from, to: $0, "\n  log: connect") } }
            let file = try scratch.write("danted.conf", lines.joined(separator: "\n") + "\n")
            return PeerProcess.Launch(
                arguments: ["-N", "1", "-f", file, "-p", scratch.file("danted.pid")],
                sockets: ListeningSocket.tcp(ports[0], alsoIPv6: hasIPv6))
        }
    }
}
