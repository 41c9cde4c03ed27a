internal import Glibc

/// squid: an HTTP proxy, plain and over TLS, for anybody or with a password.
///
/// ```swift
/// let squid = Squid(asksForPassword: true)
/// try squid.start()
/// // squid.port speaks HTTP, squid.tlsPort the same inside of TLS
/// ```
///
/// It tunnels to any port. The host `blocked.test` is forbidden (403). With a password it wants Basic: user `alice`,
/// `open sesame`, realm `peers`.
public final class Squid: Peer {
    /// `squid`, of the package with TLS.
    public static let program = Program("squid", package: "squid-openssl")
    /// The running program.
    public let process: PeerProcess
    private let asksForPassword: Bool

    /// Makes one; it has to be started.
    public init(asksForPassword: Bool = false, in namespace: NetworkNamespace? = nil) {
        self.asksForPassword = asksForPassword
        process = PeerProcess(in: namespace)
    }

    /// The port where it speaks TLS.
    public var tlsPort: Int { process.ports.dropFirst().first ?? 0 }

    /// Starts it and returns when it accepts connections.
    public func start() throws(PeerError) {
        let authority = try CertificateAuthority.shared()
        let identity = authority.server(.good)
        let hash = String(decoding: try Command("openssl", "passwd", "-apr1", "open sesame").check(), as: UTF8.self)
        // It does not run as root, and a process that changes its user outlives the one that started it: so it is started
        // as that user, with the order to end given anew.
        let isRoot = geteuid() == 0
        let squid = try Self.program.located()
        let asProxy = ["--reuid=proxy", "--regid=proxy", "--clear-groups", "--pdeathsig", "KILL", squid]
        let program = isRoot ? Program("setpriv", package: "util-linux") : Self.program
        try process.start(program, ports: 2) { scratch, ports throws(PeerError) in
            try scratch.write("users", "alice:\(hash)")
            try scratch.write("server.pem", try readText(identity.chain))
            try scratch.write("server.key", try readText(identity.key))
            let password = [
                "auth_param basic program /usr/lib/squid/basic_ncsa_auth \(scratch.file("users"))",
                "auth_param basic children 1 startup=1", "auth_param basic realm peers",
                "acl known proxy_auth REQUIRED",
                "http_access allow known",
            ]
            let lines =
                [
                    "http_port 127.0.0.1:\(ports[0])",
                    "https_port 127.0.0.1:\(ports[1]) tls-cert=\(scratch.file("server.pem")) tls-key=\(scratch.file("server.key"))",
                    "visible_hostname localhost", "pid_filename none", "access_log stdio:\(scratch.file("access.log"))",
                    "cache_log \(scratch.file("cache.log"))", "cache deny all", "cache_mem 8 MB",
                    "coredump_dir \(scratch.path)", "shutdown_lifetime 0 seconds", "netdb_filename none",
                    "pinger_enable off",
                    "icon_directory /usr/share/squid/icons", "error_directory /usr/share/squid/errors/en",
                    "hosts_file /etc/hosts", "dns_nameservers 127.0.0.1", "forwarded_for delete", "via off",
                    "acl blocked dstdomain blocked.test", "http_access deny blocked",
                ] + (asksForPassword ? password : ["http_access allow all"]) + ["http_access deny all"]
            let file = try scratch.write("squid.conf", lines.joined(separator: "\n") + "\n")
            if isRoot { _ = try Command("chown", "-R", "proxy", scratch.path).check() }
            return PeerProcess.Launch(
                arguments: (isRoot ? asProxy : []) + ["-N", "-f", file],
                sockets: ports.flatMap { ListeningSocket.tcp($0) },
                logs: ["access.log", "cache.log"])
        }
    }
}
