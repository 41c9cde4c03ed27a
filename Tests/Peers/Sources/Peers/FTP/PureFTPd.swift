/// pure-ftpd: MLSD, users locked into the tree, chatty replies of many lines. No implicit TLS. Wants root.
///
/// ```swift
/// let server = PureFTPd(.explicit)
/// try server.start()
/// server.url("files/a.txt", user: "ann")
/// ```
public final class PureFTPd: FTPServer {
    /// `pure-ftpd`, unpacked.
    public static let program = Program.unpacked("usr/sbin/pure-ftpd")
    /// The running program.
    public let process = PeerProcess()
    /// When TLS begins.
    public let security: FTPServerSecurity
    /// Whether it listens at `::1`.
    public let isIPv6: Bool

    /// Makes one; it has to be started.
    ///
    /// - Parameters:
    ///   - security: when TLS begins; never at once.
    ///   - isIPv6: whether it listens at `::1` instead of `127.0.0.1`.
    public init(_ security: FTPServerSecurity = .off, isIPv6: Bool = false) {
        self.security = security
        self.isIPv6 = isIPv6
    }

    /// Starts it and returns when it accepts connections.
    ///
    /// - Throws: ``PeerError/Code/refused`` for implicit TLS, and for who is not root.
    public func start() throws(PeerError) {
        guard security != .implicit else { throw PeerError(.refused, "pure-ftpd does not know implicit TLS") }
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
            // -Y: whether TLS is wanted on both connections; -L: how long listings may be; -k: full disks are no
            // matter; -i: only who has a name may write.
            let options = [
                "-S", "\(isIPv6 ? "::1" : "127.0.0.1"),\(ports[0])", "-g", scratch.file("pid"),
                "-l", "puredb:\(users).pdb", "-Y", security == .off ? "0" : "3", "-2", both, "-u", "1",
                "-H", "-c", "50", "-C", "50", "-L", "200000:5", "-k", "100", "-i",
            ]
            return PeerProcess.Launch(
                arguments: accounts.covering([server] + options), sockets: sockets(ports[0]))
        }
    }

    /// Always throws: it tells its commands to the system's log only.
    public func commands() throws(PeerError) -> [String] {
        throw PeerError(.refused, "pure-ftpd keeps no log of commands")
    }
}
