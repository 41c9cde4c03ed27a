internal import Glibc

/// squid: an HTTP proxy, plain and over TLS, with or without a login.
///
/// ```swift
/// let squid = Squid(asksForPassword: true)
/// try squid.start()
/// // squid.port speaks HTTP, squid.tlsPort HTTP over TLS
/// ```
///
/// It tunnels to any port. The host `blocked.test` is forbidden (403). The login is user `alice` with the password `open sesame`
/// in the realm `peers`; with Negotiate, any user with a ticket for `HTTP/localhost`.
public final class Squid: Peer {
    /// `squid`, from the package with TLS.
    public static let program = Program("squid", package: "squid-openssl")
    /// The process of the server.
    public let process: PeerProcess
    private let schemes: [Scheme]
    private let usesOfNonce: Int?
    private let realm: KerberosRealm?

    /// An authentication scheme.
    public enum Scheme: Sendable, Hashable, CaseIterable {
        /// Basic, with user and password.
        case basic
        /// Digest (MD5), with user and password.
        case digest
        /// Negotiate, with Kerberos.
        case negotiate
    }

    /// Creates a server that is not started yet.
    public convenience init(asksForPassword: Bool = false, in namespace: NetworkNamespace? = nil) {
        self.init(asksFor: asksForPassword ? [.basic] : [], in: namespace)
    }

    /// Creates a proxy, not started yet, that offers these schemes in this order. Negotiate requires a running realm.
    ///
    /// - Parameter usesOfNonce: The number of requests after which a nonce of Digest is stale; nil for squid's default of 50.
    public init(
        asksFor schemes: [Scheme], of realm: KerberosRealm? = nil, usesOfNonce: Int? = nil,
        in namespace: NetworkNamespace? = nil
    ) {
        self.schemes = schemes
        self.usesOfNonce = usesOfNonce
        self.realm = realm
        process = PeerProcess(in: namespace)
    }

    /// The port for TLS.
    public var tlsPort: Int { process.ports.dropFirst().first ?? 0 }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        let authority = try CertificateAuthority.shared()
        let identity = authority.server(.good)
        let hash = String(decoding: try Command("openssl", "passwd", "-apr1", "open sesame").check(), as: UTF8.self)
        let digest = String(
            decoding: try Command(Program("openssl"), ["md5", "-r"], input: Array("alice:peers:open sesame".utf8))
                .check().prefix(32), as: UTF8.self)
        var environment = try realm?.environment() ?? [:]
        if realm != nil { environment["KRB5RCACHENAME"] = "none:" }
        let keytab = try realm?.keytab
        // It does not run as root, and a process that changes its user id would outlive its parent. So it is started as that
        // user, with a new parent-death signal.
        let isRoot = geteuid() == 0
        let squid = try Self.program.located()
        let asProxy = ["--reuid=proxy", "--regid=proxy", "--clear-groups", "--pdeathsig", "KILL", squid]
        let program = isRoot ? Program("setpriv", package: "util-linux") : Self.program
        try process.start(program, ports: 2) { [environment, usesOfNonce] scratch, ports throws(PeerError) in
            try scratch.write("users", "alice:\(hash)")
            try scratch.write("digest.users", "alice:peers:\(digest)\n")
            if let keytab { _ = try Command("cp", keytab, scratch.file("http.keytab")).check() }
            try scratch.write("hosts", Self.hosts)
            try scratch.write("server.pem", try readText(identity.chain))
            try scratch.write("server.key", try readText(identity.key))
            let password =
                schemes.flatMap { Self.lines(for: $0, scratch) }
                + (usesOfNonce.map { ["auth_param digest nonce_max_count \($0)"] } ?? []) + [
                    "acl known proxy_auth REQUIRED", "http_access allow known",
                ]
            // Another proxy may take the first address of localhost, which is ::1 on many machines.
            let hasIPv6 = LoopbackAddress.v6.isAvailable
            let keys = "tls-cert=\(scratch.file("server.pem")) tls-key=\(scratch.file("server.key"))"
            let listeners = (hasIPv6 ? ["127.0.0.1", "[::1]"] : ["127.0.0.1"]).flatMap {
                ["http_port \($0):\(ports[0])", "https_port \($0):\(ports[1]) \(keys)"]
            }
            let lines =
                listeners + [
                    "visible_hostname localhost", "pid_filename none", "access_log stdio:\(scratch.file("access.log"))",
                    "cache_log \(scratch.file("cache.log"))", "cache deny all", "cache_mem 8 MB",
                    "coredump_dir \(scratch.path)", "shutdown_lifetime 0 seconds", "netdb_filename none",
                    "pinger_enable off",
                    // It would be in shared memory with the same name for all processes of squid, which delete it from each other.
                    "sslproxy_session_cache_size 0",
                    "icon_directory /usr/share/squid/icons", "error_directory /usr/share/squid/errors/en",
                    "hosts_file \(scratch.file("hosts"))", "dns_nameservers 127.0.0.1", "forwarded_for delete",
                    "via off",
                    "acl blocked dstdomain blocked.test", "http_access deny blocked",
                ] + (schemes.isEmpty ? ["http_access allow all"] : password) + ["http_access deny all"]
            let file = try scratch.write("squid.conf", lines.joined(separator: "\n") + "\n")
            if isRoot { _ = try Command("chown", "-R", "proxy", scratch.path).check() }
            return PeerProcess.Launch(
                arguments: (isRoot ? asProxy : []) + ["-N", "-f", file], environment: environment,
                sockets: ports.flatMap { ListeningSocket.tcp($0, alsoIPv6: hasIPv6) },
                logs: ["access.log", "cache.log"])
        }
    }

    /// The names that squid knows. Most of our servers listen on 127.0.0.1 alone, and the first address of localhost is ::1 on many machines.
    static let hosts = "127.0.0.1 localhost\n"

    private static func lines(for scheme: Scheme, _ scratch: ScratchFolder) -> [String] {
        switch scheme {
        case .basic:
            [
                "auth_param basic program /usr/lib/squid/basic_ncsa_auth \(scratch.file("users"))",
                "auth_param basic children 1 startup=1", "auth_param basic realm peers",
            ]
        case .digest:
            [
                "auth_param digest program /usr/lib/squid/digest_file_auth -c \(scratch.file("digest.users"))",
                "auth_param digest children 1 startup=1", "auth_param digest realm peers",
            ]
        case .negotiate:
            [
                "auth_param negotiate program /usr/lib/squid/negotiate_kerberos_auth -k \(scratch.file("http.keytab")) "
                    + "-s HTTP/localhost@\(KerberosRealm.name)",
                "auth_param negotiate children 2 startup=1", "auth_param negotiate keep_alive on",
            ]
        }
    }
}
