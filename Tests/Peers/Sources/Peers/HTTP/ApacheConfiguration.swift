/// The text of httpd.conf for ``Apache``.
struct ApacheConfiguration {
    var folder: String
    var authority: CertificateAuthority
    var listeners: [(HTTPListener, port: Int)]
    var hasIPv6: Bool

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
        Alias /digest \(folder)/files
        <Directory \(folder)>
            Require all granted
            Options FollowSymLinks ExecCGI
        </Directory>
        <Directory \(folder)/cgi>
            SSLOptions +StdEnvVars
            SetEnv no-gzip 1
        </Directory>
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
            Require valid-user
        </Location>
        \(listeners.map(host).joined(separator: "\n"))

        """
    }

    private var loadModules: String {
        [
            "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest",
            "ssl", "socache_shmcb", "alias", "mime", "deflate", "filter", "env", "cgid",
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
