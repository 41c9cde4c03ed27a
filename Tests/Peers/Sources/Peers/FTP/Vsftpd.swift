internal import Foundation

/// vsftpd: anonymous users may do everything in a folder. No MLSD, and with TLS it demands that data connections resume the
/// session of their control connection.
///
/// ```swift
/// let server = Vsftpd(.explicit)
/// try server.start()
/// try server.write("a.txt", Array("hello".utf8))
/// server.url("files/a.txt")        // ftp://127.0.0.1:…/files/a.txt
/// ```
///
/// It runs as whoever runs the tests. The root of its tree can only be read; `files` in it can be written.
public final class Vsftpd: Peer {
    /// When TLS begins; the log-in and all data must then be encrypted.
    public enum Security: String, CaseIterable, Sendable {
        /// Never.
        case off
        /// After AUTH TLS.
        case explicit
        /// At once.
        case implicit
    }

    /// `vsftpd`.
    public static let program = Program("vsftpd")
    /// The running program.
    public let process = PeerProcess()
    /// When TLS begins.
    public let security: Security
    private let isIPv6: Bool

    /// Makes one; it has to be started.
    ///
    /// - Parameters:
    ///   - security: when TLS begins.
    ///   - isIPv6: whether it listens at `::1` instead of `127.0.0.1`.
    public init(_ security: Security = .off, isIPv6: Bool = false) {
        self.security = security
        self.isIPv6 = isIPv6
    }

    /// Starts it and returns when it accepts connections.
    public func start() throws(PeerError) {
        let identity = try CertificateAuthority.shared().server(.good)
        try process.start(Self.program, ports: 1) { scratch, ports throws(PeerError) in
            for folder in ["root", "root/files", "empty"] { try scratch.folder(folder) }
            let isSecure = security != .off
            let settings: [(String, String)] = [
                ("background", "NO"), ("listen", isIPv6 ? "NO" : "YES"), ("listen_ipv6", isIPv6 ? "YES" : "NO"),
                (isIPv6 ? "listen_address6" : "listen_address", isIPv6 ? "::1" : "127.0.0.1"),
                ("listen_port", "\(ports[0])"), ("run_as_launching_user", "YES"),
                ("secure_chroot_dir", scratch.file("empty")),
                ("anonymous_enable", "YES"), ("local_enable", "NO"), ("anon_root", scratch.file("root")),
                ("write_enable", "YES"), ("anon_upload_enable", "YES"), ("anon_mkdir_write_enable", "YES"),
                ("anon_other_write_enable", "YES"), ("anon_world_readable_only", "NO"), ("anon_umask", "022"),
                ("connect_from_port_20", "NO"), ("seccomp_sandbox", "NO"), ("isolate", "NO"), ("isolate_network", "NO"),
                ("use_localtime", "NO"), ("xferlog_enable", "YES"), ("log_ftp_protocol", "YES"),
                ("vsftpd_log_file", scratch.file("vsftpd.log")), ("ssl_enable", isSecure ? "YES" : "NO"),
                ("rsa_cert_file", identity.chain), ("rsa_private_key_file", identity.key), ("allow_anon_ssl", "YES"),
                ("force_anon_logins_ssl", "YES"), ("force_anon_data_ssl", "YES"), ("require_ssl_reuse", "YES"),
                ("ssl_tlsv1", "YES"), ("ssl_ciphers", "HIGH"), ("implicit_ssl", security == .implicit ? "YES" : "NO"),
            ]
            let text = settings.map { "\($0.0)=\($0.1)\n" }.joined()
            let file = try scratch.write("vsftpd.conf", text)
            return PeerProcess.Launch(
                arguments: [file], sockets: [ListeningSocket(transport: .tcp, isIPv6: isIPv6, port: ports[0])],
                logs: ["vsftpd.log"])
        }
    }

    /// The URL of a path, which begins without a slash.
    public func url(_ path: String = "") -> String {
        "\(security == .implicit ? "ftps" : "ftp")://\(isIPv6 ? "[::1]" : "127.0.0.1"):\(process.ports.first ?? 0)/\(path)"
    }

    /// Writes a file of `files`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server does not run or the file cannot be written.
    public func write(_ name: String, _ contents: [UInt8]) throws(PeerError) {
        try process.folder().write("root/files/\(name)", contents)
    }

    /// The bytes of a file of `files`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if there is none.
    public func read(_ name: String) throws(PeerError) -> [UInt8] {
        try readBytes(process.folder().file("root/files/\(name)"))
    }

    /// The commands that it logged, in order: `RETR files/a.txt`. Passwords are not in the log.
    ///
    /// - Throws: ``PeerError/Code/refused`` if it does not run.
    public func commands() throws(PeerError) -> [String] {
        let log = String(decoding: try readBytes(process.folder().file("vsftpd.log")), as: UTF8.self)
        return log.split(separator: "\n").compactMap { line in
            guard let mark = line.range(of: "FTP command: "), let quote = line[mark.upperBound...].range(of: ", \"")
            else {
                return nil
            }
            return String(line[quote.upperBound...].dropLast())
        }
    }
}
