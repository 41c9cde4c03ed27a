/// tinyproxy: a small HTTP proxy.
///
/// ```swift
/// let proxy = Tinyproxy(user: "alice", password: "sesame")
/// try proxy.start()
/// ```
///
/// It tunnels to any port, and requires a login only if it has a user.
public final class Tinyproxy: Peer {
    /// `tinyproxy`, from the package that installs no service.
    public static let program = Program("tinyproxy", package: "tinyproxy-bin")
    /// The process of the server.
    public let process: PeerProcess
    private let user: String?
    private let password: String

    /// Creates a proxy that is not started yet. The password must not contain spaces.
    public init(user: String? = nil, password: String = "", in namespace: NetworkNamespace? = nil) {
        self.user = user
        self.password = password
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when it accepts connections.
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
