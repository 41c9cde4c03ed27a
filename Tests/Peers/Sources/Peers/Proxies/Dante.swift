/// Dante: a SOCKS proxy, versions 4 and 5.
///
/// ```swift
/// let dante = Dante()
/// try dante.start()
/// // curl --socks5-hostname localhost:$dante.port …; port 7 is forbidden by its rules
/// ```
///
/// It listens on 127.0.0.1 and ::1, takes anybody, and connects to any address of this machine. It does not know version
/// 4a. Names it looks up itself. Its log names each connection that it makes: `tcp/connect [`.
public final class Dante: Peer {
    /// `danted`, of the package `dante-server`.
    public static let program = Program("danted", package: "dante-server")
    /// The running program.
    public let process: PeerProcess
    /// The port that its rules forbid.
    public static let forbiddenPort: UInt16 = 7

    /// Makes one; it has to be started.
    public init(in namespace: NetworkNamespace? = nil) {
        process = PeerProcess(in: namespace)
    }

    /// Starts it and returns when it accepts connections.
    public func start() throws(PeerError) {
        let hasIPv6 = LoopbackAddress.v6.isAvailable
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            // One statement a line, also inside of a rule.
            func rule(_ kind: String, from: String, to: String, _ more: String = "") -> [String] {
                ["\(kind) {", "  from: \(from) to: \(to)\(more)", "}"]
            }
            let all = ["0.0.0.0/0", "::/0"]
            let lines =
                ["logoutput: stderr", "internal: 127.0.0.1 port = \(ports[0])"]
                + (hasIPv6 ? ["internal: ::1 port = \(ports[0])"] : [])
                // A process that changes its user outlives the one that started it.
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
