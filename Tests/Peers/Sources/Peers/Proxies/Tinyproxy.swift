/// tinyproxy: a small HTTP proxy.
///
/// ```swift
/// let proxy = Tinyproxy(user: "alice", password: "sesame")
/// try proxy.start()
/// ```
///
/// It tunnels to any port, and takes anybody unless it was given a user.
public final class Tinyproxy: Peer {
    /// `tinyproxy`, of the package that brings no service.
    public static let program = Program("tinyproxy", package: "tinyproxy-bin")
    /// The running program.
    public let process: PeerProcess
    private let user: String?
    private let password: String

    /// Makes one; it has to be started. A password has no spaces.
    public init(user: String? = nil, password: String = "", in namespace: NetworkNamespace? = nil) {
        self.user = user
        self.password = password
        process = PeerProcess(in: namespace)
    }

    /// Starts it and returns when it accepts connections.
    public func start() throws(PeerError) {
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            let lines =
                ["Port \(ports[0])", "Listen 127.0.0.1", "Timeout 60", "MaxClients 50", "DisableViaHeader Yes"]
                + (user.map { ["BasicAuth \($0) \(password)"] } ?? [])
            let file = try scratch.write("tinyproxy.conf", lines.joined(separator: "\n") + "\n")
            return PeerProcess.Launch(arguments: ["-d", "-c", file], sockets: ListeningSocket.tcp(ports[0]))
        }
    }
}
