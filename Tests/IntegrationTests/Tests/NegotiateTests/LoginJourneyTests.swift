import Peers
import Testing

/// Logins across packages: chains of proxies, uploads, expiring tickets.
@Suite(.serialized) struct LoginJourneyTests {
    /// SOCKS 5, then TLS to an HTTP proxy that requires Kerberos, then TLS to a server that requires Digest: each receives only its
    /// own credentials, and all requests pass through all of them.
    @Test func threeHopsWithTwoLogins() async throws {
        let peers = try await AuthenticationPeers.get()
        let socks = Microsocks()
        let squid = Squid(asksFor: [.negotiate], of: peers.realm)
        let apache = Apache(listeners: [.tls])
        try socks.start()
        defer { socks.stop() }
        try squid.start()
        defer { squid.stop() }
        try apache.start()
        defer { apache.stop() }
        try apache.write("secret.txt", Array("treasure".utf8))
        var options = [
            "--session": "yes", "--socks": "\(socks.port)", "--proxy": "\(squid.tlsPort)", "--proxy-tls": "yes",
            "--root": try CertificateAuthority.shared().root, "--schemes": "negotiate,digest", "--user": "alice",
            "--password": "open sesame", "--times": "3",
        ]
        let url = apache.url(.tls, "/digest/secret.txt")
        #expect(try await peers.login(url, options) == "200 treasure\n200 treasure\n200 treasure")
        #expect(socks.log.contains("connected to"), "\(socks.log)")
        #expect(await squid.shows("CONNECT", "alice@PEERS.TEST"), "\(squid.log)")

        // Without a ticket no request reaches the server, whatever the password is.
        let none = "FILE:/nonexistent/tickets"
        #expect(try await peers.login(url, options, cache: none).hasPrefix("error ticketMissing"))
        // With a ticket, the server's refusal is the response.
        options["--password"] = "wrong"
        options["--times"] = "1"
        #expect(try await peers.login(url, options).hasPrefix("401"))
    }

    /// The body is sent once, on the connection that was authenticated before with a channel binding.
    @Test(arguments: [10, 300_000])
    func anUploadOnAnAuthenticatedConnection(_ count: Int) async throws {
        let peers = try await AuthenticationPeers.get()
        var options = [
            "--session": "yes", "--schemes": "ntlm", "--user": "alice", "--domain": "PEERS",
            "--password": "open sesame", "--root": try CertificateAuthority.shared().root, "--body": "\(count)",
            "--times": "2",
        ]
        let lines = try await peers.login(peers.acceptor.url("/ntlm-bound", tls: true), options).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("200 user=PEERS\\alice") && $0.contains("bound=1") }, "\(lines)")
        // The login has its own connection, where the first request omits the body.
        #expect(lines.first?.hasSuffix("requests=2 received=\(count)") == true, "\(lines)")
        #expect(lines.last?.hasSuffix("requests=3 received=\(2 * count)") == true, "\(lines)")
        // Relayed to another server, the same login is refused.
        options["--times"] = "1"
        #expect(try await peers.login(peers.acceptor.url("/ntlm-elsewhere", tls: true), options).hasPrefix("401"))
    }

    /// A ticket of two seconds expires before the second request, for clocks that may differ by one second; the third request finds a
    /// new ticket. The program waits in between until the ticket has expired even for a clock that is two seconds slow.
    @Test func aTicketThatExpiresBetweenRequests() async throws {
        let peers = try await AuthenticationPeers.get()
        let cache = try await peers.realm.ticket(of: "alice", seconds: 2)
        let script = """
            case $1 in
            1) while faketime -f -2s klist -s; do sleep 0.1; done ;;
            *) echo 'open sesame' | kinit -l 600s alice ;;
            esac
            """
        let answers = try await peers.login(
            peers.apache.url("/kerberos/secret"), ["--session": "yes", "--times": "3", "--between": script],
            environment: try peers.realm.environment(cache, skew: true))
        let lines = answers.split(separator: "\n")
        #expect(lines.count == 3, "\(answers)")
        #expect(lines.first == "200 the secret of kerberos" && lines.last == lines.first, "\(answers)")
        #expect(
            lines.dropFirst().first?.hasPrefix("error ticketExpired Negotiate: the Kerberos ticket has expired") == true
        )
    }
}
