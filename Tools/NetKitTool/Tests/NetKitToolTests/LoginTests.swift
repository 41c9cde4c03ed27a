import Foundation
import Peers
import Testing

/// `netkit` logs in and stores passwords, and prints neither a password nor anything derived from one.
@Suite(.serialized) struct LoginTests {
    private struct Servers {
        let apache = Apache(listeners: [.plain, .tls])
        let squid = Squid(asksForPassword: true)
        let realm = KerberosRealm()
        let acceptor: NegotiateAcceptor
        let ring = KeyRing(.gnome)

        init() throws {
            try apache.start()
            try apache.write("secret.txt", Array("treasure".utf8))
            try squid.start()
            try realm.start()
            acceptor = NegotiateAcceptor(realm: realm)
            try acceptor.start()
            try ring.start()
        }
    }

    private static let servers = Result { try Servers() }

    /// The texts that no output may contain: the password as typed and as sent, and its hashes (NT, and MD5 with user and
    /// realm).
    private static let secrets = [
        "open sesame", "open%20sesame", "hunter2", Data("alice:open sesame".utf8).base64EncodedString(),
        Data("alice:hunter2".utf8).base64EncodedString(), "eddcf896aaf1f0c3f83d4daa964f17bf",
        "5d138e4c7123bae9baef82b5f240c264", "TlRMTVNTUAAD", " response=",
    ]

    /// Runs netkit, expects a status, and checks the output for secrets.
    @discardableResult
    private func netkit(
        _ arguments: [String], status: Int32, typing turns: [(String, String)] = [],
        environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let run =
            turns.isEmpty
            ? try await Tool.run(arguments, environment: environment)
            : try await Tool.run(arguments, typing: turns, environment: environment)
        let text = run.text.lowercased()
        let command = arguments.joined(separator: " ")
        #expect(run.status == status, "\(command): \(run.text)", sourceLocation: sourceLocation)
        for secret in Self.secrets {
            #expect(!text.contains(secret.lowercased()), "\(command): \(run.text)", sourceLocation: sourceLocation)
        }
        #expect(
            text.firstMatch(of: /authorization: *(basic|digest|ntlm|negotiate) +\S/) == nil, "\(run.text)",
            sourceLocation: sourceLocation)
        return run.text
    }

    private func inURL(_ url: String, _ login: String = "alice:open%20sesame") -> String {
        url.replacing("://", with: "://\(login)@")
    }

    @Test("logs in with every form of output", arguments: ["basic", "digest", "ntlm"])
    func outputs(_ scheme: String) async throws {
        let servers = try Self.servers.get()
        let url = scheme == "ntlm" ? servers.acceptor.url("/ntlm") : servers.apache.url(.plain, "/\(scheme)/secret.txt")
        let treasure = scheme == "ntlm" ? "user=PEERS\\alice" : "treasure"
        let user = scheme == "ntlm" ? "PEERS\\alice" : "alice"
        let auth = ["--auth", scheme]
        // The NTLM server does not support HEAD.
        let heads = scheme == "ntlm" ? [] : [["--head"], ["--head", "--report"], ["--head", "--json"]]
        for form in heads + [[], ["--report"], ["--json"], ["--json", "--report"]] {
            let all = auth + form
            let right = try await netkit(["get", "-u", "\(user):open sesame", url] + all, status: 0)
            if form.isEmpty { #expect(right.contains(treasure)) }
            try await netkit(["get", "-u", "\(user):hunter2", url] + all, status: 22)
            try await netkit(["get", "-u", user, url] + all, status: 22)
            if scheme != "ntlm" { try await netkit(["get", inURL(url)] + all, status: 0) }
        }
        let explained = try await netkit(["explain-auth", "-u", "\(user):hunter2", "--auth", scheme, url], status: 0)
        #expect(explained.localizedCaseInsensitiveContains("\(scheme)") && explained.contains("chosen"))
        try await netkit(["explain-auth", inURL(url)], status: 0)
    }

    @Test("logs in through proxies") func proxies() async throws {
        let servers = try Self.servers.get()
        let proxy = "http://127.0.0.1:\(servers.squid.port)"
        let root = try CertificateAuthority.shared().root
        for url in [servers.apache.url(.plain, "/basic/secret.txt"), servers.apache.url(.tls, "/basic/secret.txt")] {
            for form in ["--report", "--json"] {
                try await netkit(
                    [
                        "get", form, "--cacert", root, "-x", proxy, "--proxy-user", "alice:open sesame", "-u",
                        "alice:open sesame", url,
                    ], status: 0)
                try await netkit(["get", form, "--cacert", root, "-x", inURL(proxy), inURL(url)], status: 0)
                let refused = try await netkit(
                    ["get", form, "--cacert", root, "-x", inURL(proxy, "alice:hunter2"), url],
                    status: 97)
                #expect(refused.contains("407"))
            }
        }
        try await netkit(
            ["explain-auth", "-x", inURL(proxy, "alice:hunter2"), servers.apache.url(.plain, "/basic/")], status: 0)
        try await netkit(["get", "-x", inURL("http://127.0.0.1:1"), servers.apache.url(.plain, "/hello")], status: 7)
    }

    @Test("does not print passwords in error messages about the command line") func wrongWords() async throws {
        for (url, status) in [
            ("http://alice:open sesame@localhost:1/", 7), ("alice:hunter2@localhost", 3), ("http://alice:hunter2@", 3),
            ("http://alice:hun/hunter2@localhost", 3), ("http://alice:hunter2@localhost:99999/", 3),
            ("gopher://alice:hunter2@localhost/", 3), ("http://alice:hunter2@[::1/", 3),
        ] as [(String, Int32)] {
            try await netkit(["get", url], status: status)
            try await netkit(["get", "--json", url], status: status)
            try await netkit(["explain-auth", url], status: status)
        }
        try await netkit(["get", "-x", "nonsense://alice:hunter2@host:x", "http://127.0.0.1:1/"], status: 64)
        try await netkit(["get", "--json", "http://alice:hunter2@127.0.0.1:1/"], status: 7)
        let basic = "Authorization: Basic \(Data("alice:hunter2".utf8).base64EncodedString())"
        try await netkit(["token", "decode", basic], status: 1)
        try await netkit(["token", "decode", "alice:hunter2"], status: 1)
    }

    @Test("a password typed on the terminal is saved in a file and read from it") func passwordFile() async throws {
        let servers = try Self.servers.get()
        let url = servers.apache.url(.plain, "/digest/secret.txt")
        let folder = try TemporaryFolder()
        let file = folder.file("passwords")
        let missing = try await netkit(["get", "--password-store", file, url], status: 23)
        #expect(missing.contains("\(file) does not exist"))
        let differs = try await netkit(
            ["get", "--password-store", file, "--save-password", url], status: 23,
            typing: [("New pass-phrase", "open sesame 1"), ("Repeat the pass-phrase", "open sesame 2")])
        #expect(differs.contains("the two pass-phrases differ"))
        let phrase = "the words of hunter2"
        let asked = try await netkit(
            ["get", "--password-store", file, "--save-password", url], status: 0,
            typing: [
                ("New pass-phrase", phrase), ("Repeat the pass-phrase", phrase), ("User: ", "alice"),
                ("Password for alice", "hunter2"), ("User: ", "alice"), ("Password for alice", "open sesame"),
            ])
        #expect(asked.contains("treasure") && asked.contains("Wrong user name or password for"))
        // Another process needs the pass-phrase only.
        let again = try await netkit(
            ["get", "--password-store", file, url], status: 0, typing: [("Pass-phrase", phrase)])
        #expect(again.contains("treasure") && !again.contains("User: "))
        let wrong = try await netkit(
            ["get", "--password-store", file, url], status: 23, typing: [("Pass-phrase", "hunter2")])
        #expect(wrong.contains("wrong pass-phrase or key"))
    }

    // Parity: HA-061 (Apache, GNOME Keyring)
    @Test("HA-061: a password saved in the keyring is found by the next process") func keyRing() async throws {
        let servers = try Self.servers.get()
        let url = servers.apache.url(.plain, "/basic/secret.txt")
        let environment = try servers.ring.environment
        let asked = try await netkit(
            ["get", "--password-store", "keyring", "--save-password", "-u", "alice", url], status: 0,
            typing: [("Password for alice", "open sesame")], environment: environment)
        #expect(asked.contains("treasure"))
        let again = try await netkit(["get", "--password-store", "keyring", url], status: 0, environment: environment)
        #expect(again.contains("treasure"))
        #expect(
            try await servers.ring.run("secret-tool", "search", "server", "localhost").contains("secret = open sesame"))
        let none = try await netkit(["get", "--password-store", "keyring", url], status: 23)
        #expect(none.contains("there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set"))
    }

    // Parity: HA-006 (MIT Kerberos, python3-gssapi)
    @Test("HA-006: a Kerberos ticket is delegated only to hosts that the user names") func tickets() async throws {
        let servers = try Self.servers.get()
        let environment = try servers.realm.environment(try await servers.realm.ticket(of: "alice"))
        let url = servers.acceptor.url("/kerberos")
        for (options, delegated) in [
            (["--auth", "negotiate"], 0), (["--delegate", "other.peers.test"], 0), (["--delegate", "localhost"], 1),
        ] {
            let text = try await netkit(["get", "--report", url] + options, status: 0, environment: environment)
            #expect(text.contains("user=alice@PEERS.TEST") && text.contains("delegated=\(delegated)"))
        }
        let explained = try await netkit(["explain-auth", url], status: 0, environment: environment)
        #expect(explained.contains("Negotiate uses the existing Kerberos ticket"))
        // Without a ticket, the message says how to get one.
        let none = try await netkit(
            ["get", "--auth", "negotiate", url], status: 22, environment: try servers.realm.environment())
        #expect(none.contains("get one with kinit"))
    }

    @Test("Negotiate requests tickets only for allowed hosts") func negotiateHosts() async throws {
        let servers = try Self.servers.get()
        let environment = try servers.realm.environment(try await servers.realm.ticket(of: "alice"))
        let target = servers.acceptor.url("/kerberos")
        let redirecting = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")
        }
        // The redirect leads from 127.0.0.1 to localhost, which the command line does not name.
        let url = "http://127.0.0.1:\(redirecting.port)/"
        for (options, status) in [
            ([], 22), (["--negotiate-host", "other.peers.test"], 22), (["--negotiate-host", "*"], 0),
            (["--negotiate-host", "other.peers.test", "--negotiate-host", "localhost"], 0),
        ] as [([String], Int32)] {
            let text = try await netkit(
                ["get", "-L", "--auth", "negotiate", url] + options, status: status, environment: environment)
            #expect(text.contains("user=alice@PEERS.TEST") == (status == 0), "\(options): \(text)")
        }
        // The list replaces the default host.
        try await netkit(["get", "--negotiate-host", "other.peers.test", target], status: 22, environment: environment)
    }

    @Test("logs in with a netrc file") func netrc() async throws {
        let servers = try Self.servers.get()
        let folder = try TemporaryFolder()
        let file = try folder.write("machine localhost login alice password \"open sesame\"\n", to: "netrc")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let url = servers.apache.url(.plain, "/digest/secret.txt")
        #expect(try await netkit(["get", "--report", "--netrc-file", file, url], status: 0).contains("treasure"))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        #expect(try await netkit(["get", "--netrc-file", file, url], status: 23).contains("mode to 0600"))
    }

    /// Caches of packages write such entries.
    @Test("a password of a netrc file without a login is sent with an empty user name") func netrcWithoutALogin()
        async throws
    {
        let server = try ScriptedServer { connection throws(PeerError) in
            while let head = try? connection.readHead() {
                let isLoggedIn = head.contains("\r\nAuthorization: Basic OnRva2Vu\r\n")
                try connection.send(
                    isLoggedIn
                        ? "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nin\n"
                        : "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
            }
        }
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let file = try folder.write("machine 127.0.0.1 password token\n", to: "netrc")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try await netkit(["get", "--netrc-file", file, url], status: 0) == "in\n")
    }

    @Test("A token that the server rejects is called that") func rejectedToken() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            _ = try connection.readHead()
            try connection.send(
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"api\"\r\nContent-Length: 0\r\n\r\n")
        }
        let run = try await Tool.run(["get", "--bearer", "stale", "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 22 && run.errors.contains("The server rejected the token of --bearer."), "\(run.text)")
    }

    /// A weaker scheme would need the user's consent, which no further login gives.
    @Test(
        "a complete login that a server does not take is not asked for again",
        arguments: [
            (["NTLM", "Basic realm=r"], "The server did not complete the NTLM login; --auth selects another scheme."),
            (["Digest realm=r, nonce=n", "Basic realm=r"], "The server now requires a weaker login than before"),
        ])
    func weakerSchemes(_ challenges: [String], _ sentence: String) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            let isDigest = try connection.readHead().contains("Authorization: Digest")
            let fields = challenges.dropFirst(isDigest ? 1 : 0).map { "WWW-Authenticate: \($0)\r\n" }.joined()
            try connection.send("HTTP/1.1 401 No\r\n\(fields)Content-Length: 0\r\n\r\n")
        }
        defer { server.stop() }
        let run = try await Tool.run(["get", "-u", "joe:pw", "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 22 && run.errors.contains(sentence), "\(run.text)")
    }

    /// Ctrl-C ends the program by SIGINT; Ctrl-D leaves the question without an answer.
    @Test(arguments: ["http", "ftp"]) func cancelledQuestions(_ scheme: String) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(
                "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
        }
        defer { server.stop() }
        let arguments = ["get", "-u", "ann", "\(scheme)://127.0.0.1:\(server.port)/x"]
        let interrupted = try await Tool.run(arguments, typing: [("Password for ann: ", "\u{3}")])
        // Python's exit code for signal 2.
        #expect(interrupted.status == 256 - SIGINT, "\(interrupted.text)")
        let cancelled = try await Tool.run(arguments, typing: [("Password for ann: ", "\u{4}")])
        let sentence =
            scheme == "ftp" ? "No password was typed for ann." : "The server requires a Basic login for \"r\""
        #expect(
            cancelled.status == (scheme == "ftp" ? 1 : 22) && cancelled.output.contains(sentence), "\(cancelled.text)")
    }
}
