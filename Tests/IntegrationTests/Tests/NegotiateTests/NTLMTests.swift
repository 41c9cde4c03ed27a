import Peers
import Testing

/// NTLM against gss-ntlmssp, behind Apache and in an acceptor that checks channel bindings. It accepts only NTLMv2.
@Suite struct NTLMTests {
    private let account = ["--schemes": "ntlm", "--user": "alice", "--domain": "PEERS", "--password": "open sesame"]

    private func peers() async throws -> AuthenticationPeers { try await AuthenticationPeers.get() }

    @Test(arguments: ["ntlm", "both"])
    func loginAtApache(_ path: String) async throws {
        let peers = try await peers()
        let answer = try await peers.login(
            peers.apache.url("/\(path)/secret"), account.merging(["--times": "3"]) { $1 })
        #expect(answer == Array(repeating: "200 the secret of \(path)", count: 3).joined(separator: "\n"))
    }

    /// The connection is authenticated: two steps for the first load, then one request per load.
    @Test func theConnectionIsAuthenticated() async throws {
        let peers = try await peers()
        let answer = try await peers.login(peers.acceptor.url("/ntlm"), account.merging(["--times": "3"]) { $1 })
        let lines = answer.split(separator: "\n").map { $0.suffix(10) }
        #expect(lines == ["requests=3", "requests=4", "requests=5"])
        #expect(answer.contains("mechanism=ntlm"))
    }

    @Test(arguments: [
        ("ntlm", true, "200"), ("ntlm-bound", true, "200"), ("ntlm-bound", false, "401"),
        ("ntlm-elsewhere", true, "401"),
    ])
    func channelBinding(_ path: String, _ isBound: Bool, _ result: String) async throws {
        let peers = try await peers()
        var options = account.merging(["--root": try CertificateAuthority.shared().root]) { $1 }
        if isBound { options["--binding"] = peers.certificateHash }
        let answer = try await peers.login(peers.acceptor.url("/\(path)", tls: true), options)
        #expect(answer.hasPrefix(result))
        if result == "200" { #expect(answer.contains("bound=1")) }
    }

    @Test(arguments: [
        ["--password": "open"], ["--user": "bob"], ["--domain": "OTHER"],
        ["--hash": "00000000000000000000000000000000"],
    ])
    func aWrongPasswordIsRefused(_ change: [String: String]) async throws {
        let peers = try await peers()
        let answer = try await peers.login(peers.acceptor.url("/ntlm"), account.merging(change) { $1 })
        #expect(answer.hasPrefix("401 refused after"))
    }

    /// MD4 of the password's UTF-16, as OpenSSL's legacy provider computes it.
    @Test func aHashInsteadOfThePassword() async throws {
        let peers = try await peers()
        let hash = try await Command(
            "sh", "-c",
            "printf 'open sesame' | iconv -t UTF-16LE | openssl dgst -provider legacy -provider default -md4 -r"
        ).run()
        let options = ["--schemes": "ntlm", "--user": "PEERS\\alice", "--hash": String(hash.text.prefix(32))]
        #expect(try await peers.login(peers.acceptor.url("/ntlm"), options).hasPrefix("200"))
    }

    /// Neither the password nor the response, which would allow guessing passwords, is ever printed.
    @Test func noSecretIsPrinted() async throws {
        let peers = try await peers()
        for path in ["/ntlm", "/nosuch", "/kerberos"] {
            let answer = try await peers.login(peers.acceptor.url(path), account)
            #expect(!answer.contains("open sesame"))
        }
    }
}
