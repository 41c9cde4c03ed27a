/// OpenSSH as a SOCKS proxy (`ssh -D`): versions 4, 4a and 5 without a login.
///
/// ```swift
/// let proxy = SSHProxy()
/// try proxy.start()
/// ```
///
/// It consists of two processes: a server with its own keys that accepts only this client, and the client, which listens.
public final class SSHProxy: Peer {
    /// `ssh`, from the package `openssh-client`.
    public static let program = Program("ssh", package: "openssh-client")
    /// The process of the client, which listens.
    public let process: PeerProcess
    private let server = PeerProcess(in: nil)
    private let keys = Guarded<ScratchFolder?>(nil)
    private static let serverProgram = Program("sshd", package: "openssh-server")

    /// Creates a server that is not started yet.
    public init() {
        process = PeerProcess(in: nil)
    }

    /// Starts both processes and returns when the client accepts connections.
    public func start() throws(PeerError) {
        let keys = try ScratchFolder("ssh-keys")
        self.keys.withLock { $0 = keys }
        for name in ["host", "user"] {
            _ = try Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys.file(name)).check()
        }
        // The folder for sshd's privilege separation, which the package's service would create.
        _ = try? Command("mkdir", "-p", "/run/sshd").check()
        try server.start(Self.serverProgram, ports: 1) { scratch, ports throws(PeerError) in
            let lines = [
                "Port \(ports[0])", "ListenAddress 127.0.0.1", "HostKey \(keys.file("host"))",
                "AuthorizedKeysFile \(keys.file("user.pub"))", "StrictModes no", "UsePAM no",
                "PasswordAuthentication no",
                "PermitRootLogin prohibit-password", "PidFile none",
            ]
            let file = try scratch.write("sshd.conf", lines.joined(separator: "\n") + "\n")
            return PeerProcess.Launch(arguments: ["-D", "-e", "-f", file], sockets: ListeningSocket.tcp(ports[0]))
        }
        let serverPort = server.ports[0]
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            PeerProcess.Launch(
                arguments: [
                    "-F", "none", "-i", keys.file("user"), "-p", "\(serverPort)", "-o", "StrictHostKeyChecking=no",
                    "-o",
                    "UserKnownHostsFile=\(scratch.file("known"))", "-o", "ExitOnForwardFailure=yes", "-N", "-D",
                    "127.0.0.1:\(ports[0])", "127.0.0.1",
                ], sockets: ListeningSocket.tcp(ports[0]))
        }
    }

    /// Ends both processes.
    public func stop() {
        process.stop()
        server.stop()
        keys.withLock { $0 = nil }
    }
}
