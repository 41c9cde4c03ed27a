internal import Glibc
import Peers

/// Starts one peer from the command line, for manual examination or around one command.
@main enum PeerTool {
    private static let usage = """
        usage: peer NAME [COMMAND [ARGUMENT...]]

        Starts a server on free loopback ports. Runs COMMAND against it if one is given; otherwise waits for Ctrl-C.
        The server ends with this process, whatever the reason.

        NAME   nginx apache lighttpd python websockets tornado nghttpd hypercorn http2-faults tls stunnel echo dnsmasq unbound dante microsocks ssh
               squid squid-basic tinyproxy vsftpd proftpd pure-ftpd pyftpdlib (user ann, password 'open sesame')
               winbind chromium
               negotiate squid-negotiate (Kerberos; COMMAND has a ticket of alice)
        Environment of COMMAND   PEER_PORT; PEER_ROOT, the root certificate; for web servers PEER_URL and PEER_TLS_URL
        Example   peer nginx sh -c 'curl -L --cacert "$PEER_ROOT" "$PEER_TLS_URL/chain"'
        """

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let name = arguments.first, name != "--help", name != "-h" else {
            print(usage)
            exit(arguments.isEmpty ? 2 : 0)
        }
        // Blocked before any thread exists, so that all threads inherit it: sigwait below receives the signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        guard let peer = peer(name) else {
            complain("unknown peer '\(name)'\n\(usage)", status: 2)
        }
        do throws(PeerError) {
            try realm?.start()
            try peer.start()
            try (peer as? Apache)?.write("hello", Array("hello\n".utf8))
            if arguments.count > 1 {
                try run(Array(arguments.dropFirst()), against: peer)
            }
            try show(peer, name)
        } catch {
            complain(error.description, status: 1)
        }
        var signal: Int32 = 0
        sigwait(&signals, &signal)
        peer.stop()
        realm?.stop()
        exit(0)
    }

    /// The Kerberos realm of the peers that need one.
    private static let realm: KerberosRealm? = CommandLine.arguments[1].hasSuffix("negotiate") ? KerberosRealm() : nil

    private static func peer(_ name: String) -> (any Peer)? {
        let records: [DNSRecord] = [
            .a("www.peers.test", "192.0.2.1"), .aaaa("www.peers.test", "2001:db8::1"),
            .cname("alias.peers.test", "www.peers.test"), .txt("text.peers.test", "hello"),
        ]
        return switch name {
        case "nginx": Nginx()
        case "apache": Apache()
        case "lighttpd": Lighttpd()
        case "python": PythonHTTPServer()
        case "websockets": WebSocketServer(.websockets)
        case "tornado": WebSocketServer(.tornado)
        case "nghttpd": HTTP2Server(.nghttpd, isSecure: true)
        case "node": HTTP2Server(.node, isSecure: true)
        case "hypercorn": HTTP2Server(.hypercorn, isSecure: true)
        case "http2-faults": HTTP2Server(.faults, isSecure: true)
        case "tls": OpenSSLServer(.statusPage)
        case "stunnel": Stunnel(.server, to: 7)
        case "echo": Socat(.echo)
        case "chromium": Chromium()
        case "dnsmasq": Dnsmasq(records: records)
        case "winbind": WinbindSquid()
        case "unbound": Unbound(records: records)
        case "dante": Dante()
        case "microsocks": Microsocks()
        case "ssh": SSHProxy()
        case "squid": Squid()
        case "squid-basic": Squid(asksForPassword: true)
        case "tinyproxy": Tinyproxy()
        case "negotiate": realm.map { NegotiateApache(realm: $0) }
        case "squid-negotiate": Squid(asksFor: [.negotiate], of: realm)
        case "vsftpd": Vsftpd(.off, hasUsers: getuid() == 0)
        case "proftpd": Proftpd()
        case "pure-ftpd": PureFTPd()
        case "pyftpdlib": PyFTPServer()
        default: nil
        }
    }

    /// The URLs of a web or FTP server, with the names of its listeners.
    private static func urls(_ peer: any Peer) -> [(String, String)] {
        switch peer {
        case let nginx as Nginx: nginx.listeners.map { ($0.name, nginx.url($0, "")) }
        case let apache as Apache: apache.listeners.map { ($0.name, apache.url($0, "")) }
        case let lighttpd as Lighttpd: [(HTTPListener.plain.name, lighttpd.url(""))]
        case let server as HTTP2Server: [(HTTPListener.tls.name, server.url(""))]
        case let python as PythonHTTPServer: [(HTTPListener.plain.name, python.url(""))]
        case let server as any FTPServer: [(HTTPListener.plain.name, server.url("files/"))]
        case let apache as NegotiateApache: [(HTTPListener.plain.name, apache.url("/kerberos/secret"))]
        case let browser as Chromium: [(HTTPListener.plain.name, browser.url("/json/version"))]
        case is OpenSSLServer: [(HTTPListener.tls.name, "https://localhost:\(peer.port)")]
        default: []
        }
    }

    private static func run(_ words: [String], against peer: any Peer) throws(PeerError) -> Never {
        var command = Command(Program(words[0]), Array(words.dropFirst()))
        let urls = Dictionary(uniqueKeysWithValues: urls(peer))
        command.environment = ["PEER_PORT": "\(peer.port)", "PEER_ROOT": try CertificateAuthority.shared().root]
        command.environment["PEER_URL"] = urls[HTTPListener.plain.name]
        command.environment["PEER_TLS_URL"] = urls[HTTPListener.tls.name]
        if let realm { command.environment.merge(try realm.environment(ofUser: "alice")) { $1 } }
        let result = try command.run()
        print(result.text, terminator: "")
        _ = write(STDERR_FILENO, result.errors, result.errors.utf8.count)
        peer.stop()
        realm?.stop()
        exit(result.status)
    }

    private static func show(_ peer: any Peer, _ name: String) throws(PeerError) {
        print("\(name) runs on port \(peer.port) as process \(peer.process.pid ?? 0); stop it with Ctrl-C")
        for (name, url) in urls(peer) { print("  \(name): \(url)/") }
        print("  root certificate: \(try CertificateAuthority.shared().root)")
        fflush(nil)
    }

    private static func complain(_ text: String, status: Int32) -> Never {
        let line = "peer: \(text)\n"
        _ = write(STDERR_FILENO, line, line.utf8.count)
        exit(status)
    }
}
