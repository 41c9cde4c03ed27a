/// pure-ftpd: with MLSD, users confined to the tree, and multi-line replies. No implicit TLS. Requires root.
///
/// ```swift
/// let server = PureFTPd(.explicit)
/// try server.start()
/// server.url("files/a.txt", user: "ann")
/// ```
public final class PureFTPd: FTPServer {
    /// `pure-ftpd`, unpacked.
    public static let program = Program.unpacked("usr/sbin/pure-ftpd")
    /// The process of the server.
    public let process = PeerProcess()
    /// When TLS begins.
    public let security: FTPServerSecurity
    /// Whether the server listens on `::1`.
    public let isIPv6: Bool

    /// The most MiB that the user's files may have; nil for no limit.
    private let quota: Int?

    /// Creates a server that is not started yet.
    ///
    /// - Parameters:
    ///   - security: When TLS begins; not ``FTPServerSecurity/implicit``.
    ///   - isIPv6: Whether the server listens on `::1` instead of `127.0.0.1`.
    ///   - quota: The most MiB that the user's files may have; nil for no limit.
    public init(_ security: FTPServerSecurity = .off, isIPv6: Bool = false, quota: Int? = nil) {
        self.security = security
        self.isIPv6 = isIPv6
        self.quota = quota
    }

    /// Starts the server and returns when it accepts connections.
    ///
    /// - Throws: ``PeerError/Code/refused`` for implicit TLS, and without root privileges.
    public func start() throws(PeerError) {
        guard security != .implicit else { throw PeerError(.refused, "pure-ftpd does not support implicit TLS") }
        let identity = try CertificateAuthority.shared().server(.good)
        let server = try Self.program.located()
        let maker = try Program.unpacked("usr/bin/pure-pw").located()
        try process.start(ServerAccounts.launcher, ports: 1) { scratch, ports throws(PeerError) in
            let accounts = try ServerAccounts(scratch, service: "pure-ftpd")
            try makeTree(scratch)
            let hash = try ServerAccounts.hash(FTPServerAccount.password)
            let user = "\(FTPServerAccount.name):\(hash):\(ServerAccounts.user):\(ServerAccounts.user)::"
            let users = try scratch.write("users", user + "\(scratch.file("root"))/./::::::::::::\n")
            _ = try Command("sh", "-c", "exec \"$0\" mkdb \"$1.pdb\" -f \"$1\"", maker, users).check()
            let both = try scratch.write("server.pem", try readText(identity.chain) + readText(identity.key))
            // -Y: require TLS on both connections; -L: limits of listings; -k: ignore full disks; -i: anonymous users may not
            // write.
            let options = [
                "-S", "\(isIPv6 ? "::1" : "127.0.0.1"),\(ports[0])", "-g", scratch.file("pid"),
                "-l", "puredb:\(users).pdb", "-Y", security == .off ? "0" : "3", "-2", both, "-u", "1",
                "-H", "-c", "50", "-C", "50", "-L", "200000:5", "-k", "100", "-i",
            ]
            // -n: the most files, and the most MiB. The server counts in a file of the user's folder, which is read-only here.
            if quota != nil { try scratch.write("root/.ftpquota", "0 0\n", mode: 0o666) }
            let limits = quota.map { ["-n", "1000:\($0)"] } ?? []
            return PeerProcess.Launch(
                arguments: accounts.arguments(running: [server] + options + limits), sockets: sockets(ports[0]))
        }
    }

    /// Always throws: pure-ftpd logs its commands only to the system log.
    public func commands() throws(PeerError) -> [String] {
        throw PeerError(.refused, "pure-ftpd keeps no log of commands")
    }
}
