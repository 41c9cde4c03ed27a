import Peers
import Testing

/// The Kerberos realm and the servers that use it, tested with kinit and curl.
@Suite struct AuthenticationPeersTests {
    private func curl(_ url: String, _ environment: [String: String], _ options: String...) async throws -> String {
        var command = Command(Program("curl"), ["-sS", "-w", " %{http_code}"] + options + [url])
        command.environment = environment
        let result = try await command.run()
        return result.text + result.errors
    }

    @Test func kerberos() async throws {
        let realm = KerberosRealm()
        try realm.start()
        let apache = NegotiateApache(realm: realm)
        try apache.start()
        let acceptor = NegotiateAcceptor(realm: realm)
        try acceptor.start()
        defer {
            acceptor.stop()
            apache.stop()
            realm.stop()
        }
        let cache = try await realm.ticket(of: "alice")
        let url = apache.url("/kerberos/secret")
        let user = ["--negotiate", "-u", ":"]
        let login = try await curl(url, try realm.environment(cache), user[0], user[1], user[2])
        #expect(login == "the secret of kerberos\n 200")
        #expect(try await curl(url, try realm.environment(), user[0], user[1], user[2]).hasSuffix("401"))
        let answer = try await curl(
            acceptor.url("/kerberos"), try realm.environment(cache), user[0], user[1], user[2])
        #expect(answer.hasPrefix("user=alice@PEERS.TEST bound=0 delegated=0 mechanism=kerberos"))
        #expect(try await curl(acceptor.url("/ntlm"), try realm.environment()).hasSuffix("401"))
    }

    @Test(arguments: [
        ("alice", "wrong", "incorrect"), ("nobody", "x", "not found"), ("locked", "open sesame", "revoked"),
    ])
    func refuses(_ user: String, _ password: String, _ reason: String) async throws {
        let realm = KerberosRealm()
        try realm.start()
        defer { realm.stop() }
        do throws(PeerError) {
            _ = try await realm.ticket(of: user, password: password)
            Issue.record("a ticket for \(user)")
        } catch {
            #expect(error.log.contains(reason))
        }
    }
}
