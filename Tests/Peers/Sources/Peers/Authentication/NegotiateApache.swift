/// Apache with mod_auth_gssapi: Kerberos, and NTLM with gss-ntlmssp.
///
/// ```swift
/// let apache = NegotiateApache(realm: realm)
/// try apache.start()
/// apache.url("/kerberos/secret")
/// ```
///
/// | path | authenticates |
/// |---|---|
/// | `/kerberos/secret` | each request, by Kerberos |
/// | `/connection/secret` | the connection, by Kerberos |
/// | `/ntlm/secret` | the connection, by NTLM, as `NTLM` or within `Negotiate` |
/// | `/both/secret` | the connection, by Kerberos or NTLM |
///
/// For NTLM, the user is `alice` of domain `PEERS` with the password `open sesame`. The module does not support channel bindings;
/// ``NegotiateAcceptor`` does.
public final class NegotiateApache: Peer {
    /// `apache2`, from the package that installs no service.
    public static let program = Apache.program
    /// The process of the server.
    public let process = PeerProcess()
    private let realm: KerberosRealm

    /// Creates a server, not started yet, that accepts the tickets of a running realm.
    public init(realm: KerberosRealm) {
        self.realm = realm
    }

    /// Starts the server and returns when it accepts connections.
    public func start() throws(PeerError) {
        let keytab = try realm.keytab
        var environment = try realm.environment()
        environment["KRB5RCACHENAME"] = "none:"
        try process.start(Self.program, ports: 1) { [environment] scratch, ports throws(PeerError) in
            for folder in ["kerberos", "connection", "ntlm", "both"] {
                try scratch.write("files/\(folder)/secret", "the secret of \(folder)\n")
            }
            let users = try scratch.write("ntlm.users", "PEERS:alice:open sesame\n")
            let file = try scratch.write(
                "httpd.conf", Self.configuration(folder: scratch.path, port: ports[0], keytab: keytab))
            return PeerProcess.Launch(
                arguments: ["-d", scratch.path, "-f", file, "-DFOREGROUND"],
                environment: environment.merging(["NTLM_USER_FILE": users, "LM_COMPAT_LEVEL": "5"]) { $1 },
                sockets: ListeningSocket.tcp(ports[0]), announcement: "resuming normal operations",
                logs: ["error.log"])
        }
    }

    /// The URL of `path`, which must begin with a slash.
    public func url(_ path: String) -> String { "http://localhost:\(port)\(path)" }

    private static let modules = [
        "mpm_event", "authn_core", "authz_core", "authz_user", "session", "request", "auth_gssapi",
    ]

    private static func configuration(folder: String, port: Int, keytab: String) -> String {
        func location(_ name: String, _ lines: String...) -> String {
            """
            <Location /\(name)>
                AuthType GSSAPI
                AuthName peers
                GssapiCredStore keytab:\(keytab)
                GssapiAcceptorName HTTP@localhost
                \(lines.joined(separator: "\n    "))
                Require valid-user
            </Location>
            """
        }
        return """
            ServerRoot \(folder)
            ServerName localhost
            PidFile \(folder)/httpd.pid
            DefaultRuntimeDir \(folder)
            Mutex file:\(folder) default
            ErrorLog \(folder)/error.log
            LogLevel info
            \(modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n"))
            User www-data
            Group www-data
            Listen 127.0.0.1:\(port)
            StartServers 1
            ThreadsPerChild 8
            MaxRequestWorkers 16
            MinSpareThreads 2
            MaxSpareThreads 16
            KeepAliveTimeout 30
            MaxKeepAliveRequests 0
            DocumentRoot \(folder)/files
            <Directory \(folder)>
                Require all granted
            </Directory>
            \(location("kerberos", "GssapiAllowedMech krb5"))
            \(location("connection", "GssapiAllowedMech krb5", "GssapiConnectionBound On"))
            \(location("ntlm", "GssapiAllowedMech ntlmssp", "GssapiConnectionBound On"))
            \(location("both", "GssapiAllowedMech krb5", "GssapiAllowedMech ntlmssp", "GssapiConnectionBound On"))

            """
    }
}
