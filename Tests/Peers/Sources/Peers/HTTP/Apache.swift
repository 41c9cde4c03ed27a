internal import Glibc

/// Apache httpd: HTTP/1.1, plain and over TLS, with CGI programs.
///
/// ```swift
/// let apache = Apache()
/// try apache.start()
/// apache.url(.plain, "/cgi/echo")     // responds with the request that it received
/// ```
///
/// The responses on every listener:
///
/// | path | response |
/// |---|---|
/// | `/NAME` | the file of that name, see ``write(_:_:)``; ranges, `ETag`, `If-…`; compressed for clients that accept it |
/// | `/cgi/echo` | the method, target and fields, an empty line, and the body, which it reads as it arrives |
/// | `/cgi/chunked` | the numbers 1 to 20000, one per line, chunked because the length is unknown |
/// | `/cgi/deaf` | `deaf\n` without reading the body |
/// | `/cgi/redirect` | 303 to `/cgi/echo` |
/// | `/forbidden` | 403, before any body is read: no `100 Continue` |
/// | `/basic/NAME`, `/digest/NAME` | the file, for user `alice` with password `open sesame`; realm `peers` |
///
/// It sends `100 Continue` when a program begins to read the body of a request that expects it.
public final class Apache: Peer {
    /// `apache2`, from the package that installs no service.
    public static let program = Program("apache2", package: "apache2-bin")
    /// The process of the server.
    public let process: PeerProcess
    /// The listeners, in the order of the ports.
    public let listeners: [HTTPListener]

    /// The seconds after which a nonce of Digest is stale; nil for the server's default.
    private let nonceLifetime: Int?

    /// Creates a server with these listeners that is not started yet.
    public init(
        listeners: [HTTPListener] = [.plain, .tls, .tls12Only, .clientRequired, .tls(.expired)],
        nonceLifetime: Int? = nil, in namespace: NetworkNamespace? = nil
    ) {
        self.listeners = listeners
        self.nonceLifetime = nonceLifetime
        process = PeerProcess(in: namespace)
    }

    /// Starts the server and returns when all listeners accept connections.
    public func start() throws(PeerError) {
        let authority = try CertificateAuthority.shared()
        let hasIPv6 = LoopbackAddress.v6.isAvailable
        let hash = String(
            decoding: try Command("openssl", "passwd", "-apr1", "open sesame").check(), as: UTF8.self)
        let digest = try Command(Program("openssl"), ["md5", "-r"], input: Array("alice:peers:open sesame".utf8))
            .check()
        try process.start(Self.program, ports: listeners.count) { scratch, ports throws(PeerError) in
            try scratch.folder("files")
            try scratch.write("basic.users", "alice:\(hash)")
            try scratch.write("digest.users", "alice:peers:\(String(decoding: digest.prefix(32), as: UTF8.self))\n")
            for (name, script) in Self.programs {
                try scratch.write("cgi/\(name)", "#!/bin/sh\n\(script)\n", mode: 0o755)
            }
            let configuration = ApacheConfiguration(
                folder: scratch.path, authority: authority, listeners: Array(zip(listeners, ports)), hasIPv6: hasIPv6,
                nonceLifetime: nonceLifetime)
            let file = try scratch.write("httpd.conf", configuration.text)
            return PeerProcess.Launch(
                arguments: ["-d", scratch.path, "-f", file, "-DFOREGROUND"],
                sockets: ports.flatMap { ListeningSocket.tcp($0, alsoIPv6: hasIPv6) },
                announcement: Self.announcement, logs: ["error.log", "access.log"])
        }
    }

    /// Ends all connections and starts again on the same ports, with this certificate instead of those of the listeners. Returns
    /// when the server accepts connections. The URLs and the log stay.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running, and ``PeerError/Code/timedOut``.
    public func restart(with certificate: ServerCertificate) async throws(PeerError) {
        guard let pid = process.pid else { throw PeerError(.refused, "the peer is not running; call start() first") }
        let folder = try process.folder()
        let changed = listeners.map { listener in
            HTTPListener(
                listener.name, certificate: listener.certificate.map { _ in certificate }, versions: listener.versions,
                clientCertificate: listener.clientCertificate)
        }
        let configuration = ApacheConfiguration(
            folder: folder.path, authority: try CertificateAuthority.shared(),
            listeners: Array(zip(changed, process.ports)), hasIPv6: LoopbackAddress.v6.isAvailable,
            nonceLifetime: nonceLifetime)
        try folder.write("httpd.conf", configuration.text)
        let starts = Self.starts(process.log)
        kill(pid, SIGHUP)
        guard await logs({ Self.starts($0) > starts }) else {
            throw PeerError(.timedOut, "Apache did not start again", log: log)
        }
    }

    /// The text in the log when the server is ready.
    private static let announcement = "resuming normal operations"

    /// The number of times that the server has become ready.
    private static func starts(_ log: String) -> Int {
        log.split(separator: "\n").count { $0.contains(announcement) }
    }

    /// The port of a listener; 0 if the server is not running or has no such listener.
    public func port(_ listener: HTTPListener) -> Int {
        zip(listeners, process.ports).first { $0.0 == listener }?.1 ?? 0
    }

    /// The URL of `path`, which must begin with a slash, at a listener.
    public func url(_ listener: HTTPListener = .plain, _ path: String = "/", host: String = "localhost") -> String {
        "\(listener.scheme)://\(host):\(port(listener))\(path)"
    }

    /// Writes a file that the server serves as `name`.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the server is not running or the file cannot be written.
    public func write(_ name: String, _ contents: [UInt8]) throws(PeerError) {
        try process.folder().write("files/\(name)", contents)
    }

    private static let programs = [
        "echo": """
        printf 'Content-Type: text/plain\\r\\n\\r\\n%s %s %s\\n' "$REQUEST_METHOD" "$REQUEST_URI" "$SERVER_PROTOCOL"
        env | sed -n 's/^\\(HTTP_[A-Z_]*\\|CONTENT_[A-Z]*\\|SSL_[A-Z_]*\\)=/\\1: /p' | sort
        echo
        exec cat
        """,
        "chunked": "printf 'Content-Type: text/plain\\r\\n\\r\\n'; seq 20000",
        "deaf": "printf 'Content-Type: text/plain\\r\\n\\r\\ndeaf\\n'",
        "redirect": "printf 'Status: 303 See Other\\r\\nLocation: http://%s/cgi/echo\\r\\n\\r\\n' \"$HTTP_HOST\"",
    ]
}

/// The text of httpd.conf for ``Apache``.
struct ApacheConfiguration {
    var folder: String
    var authority: CertificateAuthority
    var listeners: [(HTTPListener, port: Int)]
    var hasIPv6: Bool
    var nonceLifetime: Int?

    /// The folder of apache2-bin's modules on Debian.
    private let modules = "/usr/lib/apache2/modules"

    var text: String {
        """
        ServerRoot \(folder)
        ServerName localhost
        TypesConfig /dev/null
        PidFile \(folder)/httpd.pid
        DefaultRuntimeDir \(folder)
        Mutex file:\(folder) default
        ErrorLog \(folder)/error.log
        LogFormat "%a \\"%r\\" %>s %B" request
        \(loadModules)
        CustomLog \(folder)/access.log request
        User www-data
        Group www-data
        ServerTokens Prod
        StartServers 1
        MinSpareThreads 4
        MaxSpareThreads 16
        ThreadsPerChild 16
        MaxRequestWorkers 32
        KeepAliveTimeout 30
        MaxKeepAliveRequests 0
        ScriptSock \(folder)/cgi.socket
        DocumentRoot \(folder)/files
        AddType text/plain .txt
        AddOutputFilterByType DEFLATE text/plain
        ScriptAlias /cgi/ \(folder)/cgi/
        Alias /basic \(folder)/files
        Alias /brotli \(folder)/files
        Alias /digest \(folder)/files
        <Directory \(folder)>
            Require all granted
            Options FollowSymLinks ExecCGI
        </Directory>
        <Directory \(folder)/cgi>
            SSLOptions +StdEnvVars
            SetEnv no-gzip 1
        </Directory>
        <Location /brotli>
            SetOutputFilter BROTLI_COMPRESS
        </Location>
        <Location /forbidden>
            Require all denied
        </Location>
        <Location /basic>
            AuthType Basic
            AuthName peers
            AuthUserFile \(folder)/basic.users
            Require valid-user
        </Location>
        <Location /digest>
            AuthType Digest
            AuthName peers
            AuthUserFile \(folder)/digest.users
            \(nonceLifetime.map { "AuthDigestNonceLifetime \($0)" } ?? "")
            Require valid-user
        </Location>
        \(listeners.map(host).joined(separator: "\n"))

        """
    }

    private var loadModules: String {
        [
            "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest",
            "ssl", "socache_shmcb", "alias", "mime", "deflate", "brotli", "filter", "env", "cgid",
        ].map { "LoadModule \($0)_module \(modules)/mod_\($0).so" }.joined(separator: "\n")
    }

    private func host(_ listener: HTTPListener, port: Int) -> String {
        let option = listener.certificate == nil ? "" : " https"
        return """
            Listen 127.0.0.1:\(port)\(option)
            \(hasIPv6 ? "Listen [::1]:\(port)\(option)" : "")
            <VirtualHost *:\(port)>
            \(listener.certificate.map { tls(listener, $0) } ?? "")
            </VirtualHost>
            """
    }

    private func tls(_ listener: HTTPListener, _ certificate: ServerCertificate) -> String {
        let identity = authority.server(certificate)
        let versions = listener.versions.sorted().map { "+\($0.rawValue)" }.joined(separator: " ")
        let verify =
            switch listener.clientCertificate {
            case .ignored: "none"
            case .optional: "optional"
            case .required: "require"
            }
        return """
                SSLEngine on
                SSLCertificateFile \(identity.chain)
                SSLCertificateKeyFile \(identity.key)
                SSLProtocol -all \(versions)
                SSLCACertificateFile \(authority.root)
                SSLVerifyClient \(verify)
                SSLVerifyDepth 2
            """
    }
}
