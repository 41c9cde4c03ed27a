internal import Glibc

/// proftpd: with MLSD, the tree at its full path (only anonymous users are confined to it), and strict rules for TLS sessions.
///
/// ```swift
/// let server = Proftpd(.explicit)
/// try server.start()
/// server.url("files/a.txt", user: "ann")
/// ```
public final class Proftpd: FTPServer {
    /// `proftpd`, unpacked.
    public static let program = Program.unpacked("usr/sbin/proftpd")
    /// The process of the server.
    public let process = PeerProcess()
    /// When TLS begins.
    public let security: FTPServerSecurity
    /// Whether the server listens on `::1`.
    public let isIPv6: Bool
    private let lines: [String]

    /// Creates a server that is not started yet.
    ///
    /// - Parameters:
    ///   - security: When TLS begins.
    ///   - isIPv6: Whether the server listens on `::1` instead of `127.0.0.1`.
    ///   - lines: Further configuration lines.
    public init(_ security: FTPServerSecurity = .off, isIPv6: Bool = false, lines: [String] = []) {
        self.security = security
        self.isIPv6 = isIPv6
        self.lines = lines
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        let identity = try CertificateAuthority.shared().server(.good)
        let server = try Self.program.located()
        let hash = try ServerAccounts.hash(FTPServerAccount.password)
        // It confines users to folders, which requires root, at least in a user namespace.
        let isRoot = geteuid() == 0
        let program = isRoot ? Self.program : Program("unshare", package: "util-linux")
        let prefix = isRoot ? [] : ["--user", "--map-root-user", server]
        try process.start(program, ports: 1) { scratch, ports throws(PeerError) in
            try makeTree(scratch)
            let home = scratch.file("root")
            // All users have root's user id: a process that changes its user id would outlive its parent.
            try scratch.write(
                "users", "\(FTPServerAccount.name):\(hash):0:0::\(home):/bin/false\nnobody:*:0:0::\(home):/bin/false\n",
                mode: 0o600)
            try scratch.write("groups", "root:x:0:\n", mode: 0o600)
            let modules = "/" + server.split(separator: "/").dropLast(2).joined(separator: "/") + "/lib/proftpd"
            // Some releases have the last three within the program.
            let shared = ["mod_tls", "mod_ls", "mod_xfer", "mod_delay"].filter {
                access("\(modules)/\($0).so", F_OK) == 0
            }
            var settings = ["ModulePath \(modules)"] + shared.map { "LoadModule \($0).c" }
            settings += [
                "ServerName peer", "ServerType standalone", "DefaultServer on", "Port \(ports[0])",
                "DefaultAddress \(isIPv6 ? "::1" : "127.0.0.1")", "UseIPv6 \(isIPv6 ? "on" : "off")",
                "User root", "Group root", "RootLogin on", "PidFile \(scratch.file("pid"))",
                "ScoreboardFile \(scratch.file("scores"))", "SystemLog \(scratch.file("system.log"))",
                "TransferLog none", "WtmpLog off", "UseReverseDNS off", "RequireValidShell off", "UseFtpUsers off",
                "AuthOrder mod_auth_file.c", "AuthUserFile \(scratch.file("users"))",
                "AuthGroupFile \(scratch.file("groups"))", "AllowOverwrite on", "AllowStoreRestart on",
                "AllowRetrieveRestart on", "TimesGMT on", "MaxLoginAttempts 1",
                "LogFormat command \"COMMAND %r\"", "ExtendedLog \(scratch.file("commands.log")) ALL command",
                "<IfModule mod_delay.c>", "  DelayEngine off", "</IfModule>",
                "<Anonymous \(home)>", "  User nobody", "  Group root", "  UserAlias anonymous nobody",
                "  AnonRequirePassword off", "  RequireValidShell off",
                "  <Limit WRITE>", "    DenyAll", "  </Limit>", "</Anonymous>",
            ]
            if security != .off {
                settings += [
                    "TLSEngine on", "TLSLog \(scratch.file("tls.log"))", "TLSProtocol TLSv1.2 TLSv1.3",
                    "TLSECCertificateFile \(identity.chain)", "TLSECCertificateKeyFile \(identity.key)",
                    "TLSCertificateChainFile \(identity.chain)", "TLSRequired auth+data",
                ]
            }
            if security == .implicit { settings.append("TLSOptions UseImplicitSSL") }
            let file = try scratch.write("proftpd.conf", (settings + lines).joined(separator: "\n") + "\n")
            return PeerProcess.Launch(
                arguments: prefix + ["-n", "-q", "-c", file], sockets: sockets(ports[0]),
                logs: ["system.log", "tls.log", "commands.log"])
        }
    }

    /// The commands in the server's log, in order.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running.
    public func commands() throws(PeerError) -> [String] {
        let log = String(decoding: try readBytes(process.folder().file("commands.log")), as: UTF8.self)
        return log.split(separator: "\n").map { String($0.dropFirst("COMMAND ".count)) }
    }
}
