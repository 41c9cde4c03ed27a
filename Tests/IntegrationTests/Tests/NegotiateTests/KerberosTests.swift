import Peers
import Testing

/// Kerberos through GSSAPI, against MIT's key distribution centre, Apache, and an acceptor that checks channel bindings.
@Suite struct KerberosTests {
    private func peers() async throws -> AuthenticationPeers { try await AuthenticationPeers.get() }

    @Test(arguments: ["off", "optional", "required"])
    func loginAtApache(_ mutual: String) async throws {
        let peers = try await peers()
        let answer = try await peers.login(peers.apache.url("/kerberos/secret"), ["--mutual": mutual])
        #expect(answer == "200 the secret of kerberos")
    }

    /// Apache requires a token with each request, unless it is configured to authenticate the connection.
    @Test(arguments: ["kerberos", "connection", "both"])
    func manyRequests(_ path: String) async throws {
        let peers = try await peers()
        let answer = try await peers.login(
            peers.apache.url("/\(path)/secret"), ["--times": "4", "--mutual": "required"])
        #expect(answer == Array(repeating: "200 the secret of \(path)", count: 4).joined(separator: "\n"))
    }

    @Test(arguments: [
        ("kerberos", true, "200 user=alice@PEERS.TEST bound=1"),
        ("kerberos", false, "200 user=alice@PEERS.TEST bound=0"),
        ("kerberos-bound", true, "200 user=alice@PEERS.TEST bound=1"),
        ("kerberos-bound", false, "error loginRefused"),
        ("kerberos-elsewhere", true, "error loginRefused"),
    ])
    func channelBinding(_ path: String, _ isBound: Bool, _ result: String) async throws {
        let peers = try await peers()
        var options = ["--root": try CertificateAuthority.shared().root, "--mutual": "required"]
        if isBound { options["--binding"] = peers.certificateHash }
        let answer = try await peers.login(peers.acceptor.url("/\(path)", tls: true), options)
        #expect(answer.hasPrefix(result))
    }

    /// A server that sends no proof, and one that sends a wrong proof.
    @Test(arguments: [
        ("proofless", "off", "200 user="), ("proofless", "optional", "200 user="),
        ("proofless", "required", "error serverNotAuthentic"), ("forged", "off", "200 user="),
        ("forged", "optional", "error serverNotAuthentic"), ("forged", "required", "error serverNotAuthentic"),
    ])
    func theServerMustProveItsIdentity(_ path: String, _ mutual: String, _ result: String) async throws {
        let peers = try await peers()
        let answer = try await peers.login(peers.acceptor.url("/kerberos-\(path)"), ["--mutual": mutual])
        #expect(answer.hasPrefix(result))
    }

    @Test func delegationOnlyOnRequest() async throws {
        let peers = try await peers()
        let url = peers.acceptor.url("/kerberos")
        #expect(try await peers.login(url).contains("delegated=0"))
        #expect(try await peers.login(url, ["--delegate": "other.peers.test"]).contains("delegated=0"))
        #expect(try await peers.login(url, ["--delegate": "LocalHost"]).contains("delegated=1"))
    }

    @Test func identitiesOfCachesKeytabsAndPasswords() async throws {
        let peers = try await peers()
        let url = peers.acceptor.url("/kerberos")
        let none = "FILE:/nonexistent/tickets"
        let bob = try await peers.realm.ticket(of: "bob")
        // The named cache takes precedence over that of the environment.
        #expect(try await peers.login(url, ["--cache": bob]).contains("user=bob@PEERS.TEST"))
        let keytab = try peers.realm.clientKeytab
        #expect(try await peers.login(url, ["--keytab": keytab], cache: none).contains("user=alice@PEERS.TEST"))
        let named = ["--keytab": keytab, "--principal": "alice@PEERS.TEST", "--times": "3"]
        #expect(try await peers.login(url, named, cache: none).contains("requests=4"))
        let password = ["--kinit": "yes", "--user": "bob", "--password": "open sesame"]
        #expect(try await peers.login(url, password, cache: none).contains("user=bob@PEERS.TEST"))
        let realm = password.merging(["--domain": "PEERS.TEST"]) { $1 }
        #expect(try await peers.login(url, realm, cache: none).contains("user=bob@PEERS.TEST"))
        // A ticket of one user is not used for another.
        #expect(try await peers.login(url, ["--principal": "bob@PEERS.TEST"]).hasPrefix("error ticketMissing"))
    }

    @Test(arguments: [
        ("bob", "wrong", "error credentialRefused"), ("unknown", "x", "error credentialRefused"),
        ("locked", "open sesame", "error credentialRefused"), ("expired", "open sesame", "error credentialRefused"),
    ])
    func passwordsThatAreRefused(_ user: String, _ password: String, _ result: String) async throws {
        let peers = try await peers()
        let answer = try await peers.login(
            peers.acceptor.url("/kerberos"), ["--kinit": "yes", "--user": user, "--password": password],
            cache: "FILE:/nonexistent/tickets")
        #expect(answer.hasPrefix(result))
        #expect(!answer.contains("open sesame"))
    }

    @Test func aMissingTicketIsAnError() async throws {
        let peers = try await peers()
        let url = peers.apache.url("/kerberos/secret")
        let answer = try await peers.login(url, cache: "FILE:/nonexistent/tickets")
        #expect(answer.hasPrefix("error ticketMissing") && answer.contains("kinit"))
        #expect(try await peers.login(url, ["--keytab": "/nonexistent"]).hasPrefix("error ticketMissing"))
    }

    /// A ticket expires by the clock, which is set to another time here.
    @Test func anExpiredTicketIsAnError() async throws {
        let peers = try await peers()
        let cache = try await peers.realm.ticket(of: "alice", seconds: 5)
        let answer = try await peers.login(
            peers.apache.url("/kerberos/secret"), [:],
            environment: try peers.realm.environment(cache, skew: true), clock: "+20s")
        #expect(answer.hasPrefix("error ticketExpired"))
    }

    @Test func aWrongClockIsAnError() async throws {
        let peers = try await peers()
        let answer = try await peers.login(
            peers.apache.url("/kerberos/secret"), ["--kinit": "yes", "--user": "alice", "--password": "open sesame"],
            environment: try peers.realm.environment(), clock: "+1h")
        #expect(answer.hasPrefix("error clockSkew"))
    }

    @Test func theNamedServiceIsUsed() async throws {
        let peers = try await peers()
        let url = peers.acceptor.url("/kerberos")
        #expect(try await peers.login(url, ["--service": "HTTP/localhost"]).hasPrefix("200"))
        #expect(try await peers.login(url, ["--service": "HTTP/localhost@PEERS.TEST"]).hasPrefix("200"))
        #expect(try await peers.login(url, ["--service": "HTTP/nosuch"]).hasPrefix("error serviceUnknown"))
        // A ticket for another service: this one does not have its key.
        #expect(try await peers.login(url, ["--service": "HTTP/other.peers.test"]).hasPrefix("error loginRefused"))
    }

    /// `127.0.0.1` has a name in the system's hosts file. That is not used, because it would name another service.
    @Test func namesAreNotCanonicalized() async throws {
        let peers = try await peers()
        let url = peers.acceptor.url("/kerberos").replacing("localhost", with: "127.0.0.1")
        #expect(try await peers.login(url).hasPrefix("error serviceUnknown"))
        #expect(try await peers.login(url, ["--canonical": "yes"]).hasPrefix("200"))
    }

    @Test func anUnreachableRealmIsAnError() async throws {
        let peers = try await peers()
        let answer = try await peers.login(
            peers.acceptor.url("/kerberos"),
            ["--kinit": "yes", "--user": "alice", "--domain": "GONE.TEST", "--password": "open sesame"])
        #expect(answer.hasPrefix("error kerberosUnreachable"))
    }

    /// A key distribution centre that never answers: the limit ends the wait, and the process ends normally although its thread still
    /// waits.
    @Test func aSilentRealmIsATimeout() async throws {
        let peers = try await peers()
        let answer = try await peers.login(
            peers.acceptor.url("/kerberos"),
            [
                "--kinit": "yes", "--user": "alice", "--domain": "SILENT.TEST", "--password": "open sesame",
                "--limit": "300",
            ])
        #expect(answer.hasPrefix("error timedOut"))
    }

    /// NTLM within Negotiate is used only on request; both sides then sign the list of mechanisms. A server that does not sign it has not
    /// proved its identity.
    @Test func ntlmWithinNegotiate() async throws {
        let peers = try await peers()
        let isSigned = try await NegotiateAcceptor.signsNTLM()
        let account = ["--user": "alice", "--domain": "PEERS", "--password": "open sesame", "--schemes": "negotiate"]
        let unproven = account.merging(["--inner-ntlm": "yes"]) { $1 }
        let asked = unproven.merging(["--mutual": "required"]) { $1 }
        let none = "FILE:/nonexistent/tickets"
        for url in [peers.acceptor.url("/ntlm"), peers.apache.url("/ntlm/secret"), peers.apache.url("/both/secret")] {
            let answer = try await peers.login(url, asked, cache: none)
            #expect(answer.hasPrefix(isSigned ? "200" : "error serverNotAuthentic"), "\(answer)")
            #expect(try await peers.login(url, unproven, cache: none).hasPrefix("200"))
            #expect(try await peers.login(url, account, cache: none).hasPrefix("error ticketMissing"))
        }
        // With a ticket the server chooses NTLM, and the choice is signed: one that does not sign refuses our signature, too.
        let chosen = try await peers.login(peers.acceptor.url("/ntlm"), asked)
        #expect(isSigned ? chosen.contains("mechanism=ntlm") : chosen.hasPrefix("401 refused"), "\(chosen)")
        let wrong = asked.merging(["--password": "wrong"]) { $1 }
        #expect(try await peers.login(peers.acceptor.url("/ntlm"), wrong, cache: none).hasPrefix("401 refused"))
    }
}
