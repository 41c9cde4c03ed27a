internal import Foundation

/// vsftpd: without MLSD; with TLS, data connections must resume the session of their control connection. Every user may change
/// the files in `files`.
///
/// ```swift
/// let server = Vsftpd(.explicit)
/// try server.start()
/// try server.write("a.txt", Array("hello".utf8))
/// server.url("files/a.txt")        // ftp://127.0.0.1:…/files/a.txt
/// ```
///
/// Without users, the server runs as the user that runs the tests.
public final class Vsftpd: FTPServer {
    /// `vsftpd`, unpacked.
    public static let program = Program.unpacked("usr/sbin/vsftpd")
    /// The process of the server.
    public let process = PeerProcess()
    /// When TLS begins.
    public let security: FTPServerSecurity
    /// Whether the server listens on `::1`.
    public let isIPv6: Bool
    private let hasUsers: Bool

    /// Creates a server that is not started yet.
    ///
    /// - Parameters:
    ///   - security: When TLS begins.
    ///   - isIPv6: Whether the server listens on `::1` instead of `127.0.0.1`.
    ///   - hasUsers: Whether the user `ann` can log in too, which requires root.
    public init(_ security: FTPServerSecurity = .off, isIPv6: Bool = false, hasUsers: Bool = false) {
        self.security = security
        self.isIPv6 = isIPv6
        self.hasUsers = hasUsers
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        let identity = try CertificateAuthority.shared().server(.good)
        let server = try Self.program.located()
        try process.start(hasUsers ? ServerAccounts.launcher : Self.program, ports: 1) {
            scratch, ports throws(PeerError) in
            try makeTree(scratch)
            try scratch.folder("empty")
            let isSecure = security != .off ? "YES" : "NO"
            let users = hasUsers ? "YES" : "NO"
            let settings: [(String, String)] = [
                ("background", "NO"), ("listen", isIPv6 ? "NO" : "YES"), ("listen_ipv6", isIPv6 ? "YES" : "NO"),
                (isIPv6 ? "listen_address6" : "listen_address", isIPv6 ? "::1" : "127.0.0.1"),
                ("listen_port", "\(ports[0])"), ("run_as_launching_user", hasUsers ? "NO" : "YES"),
                ("secure_chroot_dir", scratch.file("empty")), ("pam_service_name", "vsftpd"),
                ("anonymous_enable", "YES"), ("local_enable", users), ("chroot_local_user", users),
                ("local_umask", "022"), ("anon_root", scratch.file("root")),
                ("write_enable", "YES"), ("anon_upload_enable", "YES"), ("anon_mkdir_write_enable", "YES"),
                ("anon_other_write_enable", "YES"), ("anon_world_readable_only", "NO"), ("anon_umask", "022"),
                // The default user "ftp" exists only if a package has created it, or in ServerAccounts.
                ("ftp_username", hasUsers ? "ftp" : NSUserName()),
                ("connect_from_port_20", "NO"), ("seccomp_sandbox", "NO"), ("isolate", "NO"), ("isolate_network", "NO"),
                ("use_localtime", "NO"), ("xferlog_enable", "YES"), ("log_ftp_protocol", "YES"),
                ("vsftpd_log_file", scratch.file("vsftpd.log")), ("ssl_enable", isSecure),
                ("rsa_cert_file", identity.chain), ("rsa_private_key_file", identity.key),
                ("allow_anon_ssl", "YES"), ("force_anon_logins_ssl", "YES"), ("force_anon_data_ssl", "YES"),
                ("force_local_logins_ssl", "YES"), ("force_local_data_ssl", "YES"), ("require_ssl_reuse", "YES"),
                ("ssl_tlsv1", "YES"), ("ssl_ciphers", "HIGH"), ("implicit_ssl", security == .implicit ? "YES" : "NO"),
            ]
            let text = settings.map { "\($0.0)=\($0.1)\n" }.joined()
            let file = try scratch.write("vsftpd.conf", text)
            let covered =
                hasUsers ? try ServerAccounts(scratch, service: "vsftpd").arguments(running: [server, file]) : nil
            return PeerProcess.Launch(
                arguments: covered ?? [file], sockets: sockets(ports[0]), logs: ["vsftpd.log"])
        }
    }

    /// The commands in the server's log, in order.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running.
    public func commands() throws(PeerError) -> [String] {
        let log = String(decoding: try readBytes(process.folder().file("vsftpd.log")), as: UTF8.self)
        return log.split(separator: "\n").compactMap { line in
            guard let mark = line.range(of: "FTP command: "), let quote = line[mark.upperBound...].range(of: ", \"")
            else { return nil }
            return String(line[quote.upperBound...].dropLast())
        }
    }
}
