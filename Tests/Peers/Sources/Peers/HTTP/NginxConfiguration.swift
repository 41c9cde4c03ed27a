/// The text of nginx.conf for ``Nginx``.
struct NginxConfiguration {
    var folder: String
    var authority: CertificateAuthority
    var listeners: [(HTTPListener, port: Int)]
    var hasIPv6: Bool

    var text: String {
        """
        daemon off;
        worker_processes 1;
        user root;
        pid \(folder)/nginx.pid;
        error_log \(folder)/error.log info;
        events { worker_connections 512; }
        http {
            types { text/html html; text/plain txt; application/json json; }
            default_type application/octet-stream;
            log_format requests escape=json '{\(LoggedRequest.nginxFormat)}';
            access_log \(folder)/access.log requests;
            client_body_temp_path \(folder)/temporary/body; proxy_temp_path \(folder)/temporary/proxy;
            fastcgi_temp_path \(folder)/temporary/fastcgi; uwsgi_temp_path \(folder)/temporary/uwsgi;
            scgi_temp_path \(folder)/temporary/scgi;
            client_max_body_size 4g; sendfile on; server_tokens off; keepalive_timeout 30s;
            ssl_session_cache shared:sessions:1m; ssl_session_tickets on;
            root \(folder)/files;
        \(listeners.map(server).joined(separator: "\n"))
        }

        """
    }

    private func server(_ listener: HTTPListener, port: Int) -> String {
        let option = listener.certificate == nil ? "" : " ssl"
        return """
                server {
                    listen 127.0.0.1:\(port)\(option);
                    \(hasIPv6 ? "listen [::1]:\(port)\(option);" : "")
            \(listener.certificate.map { tls(listener, $0) } ?? "")
            \(locations)
                }
            """
    }

    private func tls(_ listener: HTTPListener, _ certificate: ServerCertificate) -> String {
        let identity = authority.server(certificate)
        let versions = listener.versions.sorted().map(\.rawValue).joined(separator: " ")
        let verify =
            switch listener.clientCertificate {
            case .ignored: "off"
            case .optional: "optional"
            case .required: "on"
            }
        return """
                    ssl_certificate \(identity.chain); ssl_certificate_key \(identity.key);
                    ssl_protocols \(versions);
                    ssl_client_certificate \(authority.root); ssl_verify_depth 2; ssl_verify_client \(verify);
            """
    }

    private var locations: String {
        let statuses = [204, 304, 400, 403, 404, 410, 500, 502].map { "location = /status/\($0) { return \($0); }" }
        return """
                    location = /hello { default_type text/plain; return 200 "hello\\n"; }
                    location = /request { default_type text/plain; return 200 "\(requestLines)"; }
                    \(statuses.joined(separator: "\n        "))
                    location = /status/503 { add_header Retry-After 1 always; return 503; }
                    location = /chain { return 301 /chain/2; }
                    location = /chain/2 { return 302 /chain/3; }
                    location = /chain/3 { return 307 /hello; }
                    location = /loop { return 302 /loop; }
                    \(crossing("/to-second", .secondOrigin))
                    \(crossing("/to-plain", .plain))
                    \(crossing("/to-tls", .tls))
                    location /gzip/ { alias \(folder)/files/; gzip on; gzip_types *; gzip_min_length 1; }
                    location /chunked/ { alias \(folder)/files/; sub_filter 'no such text' ''; sub_filter_types *; }
                    location /slow/ { alias \(folder)/files/; limit_rate 20k; }
                    location /basic/ {
                        alias \(folder)/files/; auth_basic peers; auth_basic_user_file \(folder)/users;
                    }
                    location = /cookies {
                        add_header Set-Cookie "a=1; Path=/"; add_header Set-Cookie "b=2; HttpOnly"; return 200 "hello\\n";
                    }
                    location /upload/ { dav_methods PUT DELETE MKCOL; create_full_put_path on; }
                    location = /keep-alive/none { keepalive_timeout 0; return 200 "hello\\n"; }
                    location = /keep-alive/short { keepalive_timeout 200ms; return 200 "hello\\n"; }
                    location = /drop { return 444; }
            """
    }

    private func crossing(_ path: String, _ target: HTTPListener) -> String {
        guard let port = listeners.first(where: { $0.0 == target })?.port else { return "" }
        return "location = \(path) { return 302 \(target.scheme)://localhost:\(port)/request; }"
    }

    private var requestLines: String {
        [
            ("method", "request_method"), ("target", "request_uri"), ("version", "server_protocol"),
            ("scheme", "scheme"), ("host", "http_host"), ("user-agent", "http_user_agent"),
            ("accept", "http_accept"), ("authorization", "http_authorization"), ("cookie", "http_cookie"),
            ("content-length", "content_length"), ("content-type", "content_type"),
            ("connection", "connection"), ("request", "connection_requests"),
            ("tls", "ssl_protocol"), ("cipher", "ssl_cipher"), ("sni", "ssl_server_name"),
            ("alpn", "ssl_alpn_protocol"), ("resumed", "ssl_session_reused"),
            ("client-verify", "ssl_client_verify"), ("client-name", "ssl_client_s_dn"), ("remote", "remote_addr"),
        ].map { "\($0)=$\($1)\\n" }.joined()
    }
}
