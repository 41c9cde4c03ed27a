import Peers
import Testing

/// Kerberos and NTLM with sessions: to proxies, to servers behind them, with channel binding by default.
@Suite(.serialized) struct SessionLoginTests {
    private static let none = "FILE:/nonexistent/tickets"
    private let account = ["--session": "yes", "--user": "alice", "--domain": "PEERS", "--password": "open sesame"]

    private static let squid = Task {
        let squid = Squid(asksFor: [.negotiate, .digest, .basic], of: try await AuthenticationPeers.get().realm)
        try squid.start()
        return squid
    }

    private static let winbind = Result {
        let winbind = WinbindSquid()
        try winbind.start()
        return winbind
    }

    private func peers() async throws -> AuthenticationPeers { try await AuthenticationPeers.get() }

    // Parity: HA-029, HA-048 (Apache, MIT Kerberos, python3-gssapi, squid)
    @Test("HA-048, HA-029: Negotiate with the proxy and with the server behind it, plain and through a tunnel")
    func negotiateWithProxyAndServer() async throws {
        let peers = try await peers()
        let options = [
            "--session": "yes", "--proxy": "\(try await Self.squid.value.port)", "--times": "3",
            "--root": try CertificateAuthority.shared().root,
        ]
        let plain = try await peers.login(peers.apache.url("/kerberos/secret"), options)
        #expect(plain == Array(repeating: "200 the secret of kerberos", count: 3).joined(separator: "\n"))
        // The binding is that of the TLS connection to the server, within the tunnel.
        let lines = try await peers.login(peers.acceptor.url("/kerberos-bound", tls: true), options)
            .split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0.hasPrefix("200 user=alice@PEERS.TEST bound=1") })
    }

    @Test("without a ticket the next scheme is used, or the 407 is the response", arguments: [false, true])
    func aMissingTicketSelectsTheNextScheme(_ isTunnel: Bool) async throws {
        let peers = try await peers()
        let port = "\(try await Self.squid.value.port)"
        let url = isTunnel ? peers.acceptor.url("/ntlm", tls: true) : peers.apache.url("/ntlm/secret")
        var options = account.merging(["--proxy": port, "--schemes": "negotiate,ntlm,digest,basic"]) { $1 }
        options["--root"] = try CertificateAuthority.shared().root
        #expect(try await peers.login(url, options, cache: Self.none).hasPrefix("200"))
        options["--schemes"] = "negotiate"
        #expect(try await peers.login(url, options, cache: Self.none).hasPrefix("error ticketMissing"))
        options["--schemes"] = "digest"
        options["--password"] = "wrong"
        #expect(try await peers.login(url, options, cache: Self.none).hasPrefix("407"))
    }

    // Parity: HA-045 (Apache, python3-gssapi, Samba winbind)
    @Test("HA-045: NTLM with the proxy and with the server behind it, on one connection")
    func ntlmWithProxyAndServer() async throws {
        let peers = try await peers()
        let options = account.merging([
            "--proxy": "\(try Self.winbind.get().port)", "--proxy-domain": "PEERHOST", "--schemes": "ntlm",
            "--times": "3",
            "--root": try CertificateAuthority.shared().root,
        ]) { $1 }
        let plain = try await peers.login(peers.apache.url("/ntlm/secret"), options)
        #expect(plain == Array(repeating: "200 the secret of ntlm", count: 3).joined(separator: "\n"))
        let lines = try await peers.login(peers.acceptor.url("/ntlm-bound", tls: true), options).split(separator: "\n")
        #expect(lines.count == 3 && lines.allSatisfy { $0.hasPrefix("200") && $0.contains("bound=1") })
    }

    // Parity: HA-050 (nginx, Samba winbind)
    @Test("HA-050: a connection to a proxy is authenticated once, whatever servers the requests are for")
    func aProxyConnectionIsAuthenticatedOnce() async throws {
        let peers = try await peers()
        let servers = [Nginx(), Nginx()]
        for server in servers { try server.start() }
        defer { servers.forEach { $0.stop() } }
        let winbind = try Self.winbind.get()
        let before = winbind.log.split(separator: "\n").count { $0.contains("/407 ") }
        let options = account.merging([
            "--proxy": "\(winbind.port)", "--proxy-domain": "PEERHOST", "--schemes": "ntlm", "--times": "6",
            "--also": servers[1].url(.plain, "/hello"),
        ]) { $1 }
        let answers = try await peers.login(servers[0].url(.plain, "/hello"), options)
        #expect(answers == Array(repeating: "200 hello", count: 6).joined(separator: "\n"))
        // The challenge and NTLM's second message.
        let after = winbind.log.split(separator: "\n").count { $0.contains("/407 ") }
        #expect(after - before == 2, "\(winbind.log)")
    }

    @Test(
        "channel bindings by default",
        arguments: [
            ("/ntlm-bound", "200"), ("/ntlm-elsewhere", "401"), ("/kerberos-bound", "200"),
            ("/kerberos-elsewhere", "error loginRefused"),
        ])
    func channelBinding(_ path: String, _ result: String) async throws {
        let peers = try await peers()
        var options = account.merging(["--root": try CertificateAuthority.shared().root]) { $1 }
        options["--schemes"] = path.hasPrefix("/ntlm") ? "ntlm" : "negotiate"
        let answer = try await peers.login(peers.acceptor.url(path, tls: true), options)
        #expect(answer.hasPrefix(result))
        if result == "200" { #expect(answer.contains("bound=1")) }
    }
}
