import Foundation
import Peers
import Testing

/// Where the connections of `netkit get` lead, and which servers they trust.
@Suite(.serialized) struct RouteTests {
    private static let nginx: Result<Nginx, any Error> = Result {
        let nginx = Nginx(listeners: [.plain, .tls, .tls(.selfSigned)])
        try nginx.start()
        return nginx
    }

    private func root() throws -> String { try CertificateAuthority.shared().root }

    @Test func otherEndpoints() async throws {
        let nginx = try Self.nginx.get()
        let (plain, tls) = (nginx.port(.plain), nginx.port(.tls))
        for options in [
            ["--resolve", "example.test:\(plain):127.0.0.1"], ["--resolve", "example.test:\(plain):[::1],127.0.0.1"],
            ["--connect-to", "example.test:\(plain):localhost:"], ["--connect-to", "::127.0.0.1:\(plain)"],
            ["--unix-socket", try nginx.socket(.plain)],
        ] {
            let run = try await Tool.run(["get"] + options + ["http://example.test:\(plain)/request"])
            #expect(run.status == 0 && run.output.contains("host=example.test:\(plain)\n"), "\(options): \(run.text)")
        }
        // The certificate is that of the URL's host.
        let secure = try await Tool.run([
            "get", "--cacert", root(), "--connect-to", "localhost:443:127.0.0.1:\(tls)", "https://localhost/request",
        ])
        #expect(secure.status == 0 && secure.output.contains("host=localhost\n"), "\(secure.text)")
        let wrong = try await Tool.run([
            "get", "--cacert", root(), "--connect-to", "::127.0.0.1:\(tls)", "https://example.test/",
        ])
        #expect(wrong.status == 60, "\(wrong.text)")
    }

    @Test func localAddressesAndFamilies() async throws {
        let nginx = try Self.nginx.get()
        for (options, client) in [
            (["-4"], "127.0.0.1"), (["--interface", "lo"], "127.0.0.1"), (["--interface", "127.0.0.9"], "127.0.0.9"),
        ] {
            let run = try await Tool.run(["get"] + options + ["http://localhost:\(nginx.port(.plain))/request"])
            #expect(run.status == 0 && run.output.contains("client=\(client)\n"), "\(run.text)")
        }
        let none = try await Tool.run(["get", "--interface", "nope0", nginx.url(.plain)])
        #expect(none.status == 23 && none.errors.contains("There is no interface nope0."), "\(none.text)")
    }

    @Test func anInsecureTransferIsNamed() async throws {
        let url = try Self.nginx.get().url(.tls(.selfSigned), "/hello")
        let refused = try await Tool.run(["get", url])
        #expect(refused.status == 60 && refused.errors.contains("--trust-first-use FILE"), "\(refused.text)")
        let run = try await Tool.run(["get", "-k", url])
        #expect(run.status == 0 && run.output == "hello\n", "\(run.text)")
        #expect(run.errors.contains("warning: --insecure: the server's certificate is not verified."), "\(run.text)")
    }

    @Test func anInsecureTransferFollowsARedirectToHTTPS() async throws {
        let target = try Self.nginx.get().url(.tls(.selfSigned), "/hello")
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")
        }
        defer { server.stop() }
        let host = try #require(URL(string: target)?.host())
        for (options, status) in [([], 60), (["-k"], 0)] as [([String], Int32)] {
            let run = try await Tool.run(["get", "-L"] + options + ["http://\(host):\(server.port)/"])
            #expect(run.status == status && (run.output == "hello\n") == (status == 0), "\(run.text)")
        }
    }

    @Test func trustOnFirstUse() async throws {
        let nginx = try Self.nginx.get()
        let folder = try TemporaryFolder()
        let file = folder.file("known")
        let (first, other) = (nginx.url(.tls(.selfSigned), "/hello"), nginx.url(.tls, "/hello"))
        let new = try await Tool.run(["get", "--trust-first-use", file, first])
        #expect(new.status == 0 && new.errors.contains("localhost is trusted from now on"), "\(new.text)")
        let known = try await Tool.run(["get", "--trust-first-use", file, first])
        #expect(known.status == 0 && known.output == "hello\n" && known.errors.isEmpty, "\(known.text)")
        let changed = try await Tool.run(["get", "--trust-first-use", file, other])
        #expect(
            changed.status == 60 && changed.output.isEmpty
                && changed.errors.contains("The key of localhost has changed"),
            "\(changed.text)")
        #expect(try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count == 1)
        // A key that cannot be stored is not trusted, neither at the first connection nor at the next.
        let unstored = try await Tool.run(["get", "--trust-first-use", folder.file("none/known"), first, first])
        #expect(unstored.status == 60 && unstored.output.isEmpty, "\(unstored.text)")
        // The last line has no end.
        try Data("# My servers".utf8).write(to: URL(fileURLWithPath: file))
        for _ in 0..<2 {
            let run = try await Tool.run(["get", "--trust-first-use", file, first])
            #expect(run.status == 0 && run.output == "hello\n", "\(run.text)")
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count == 2)
        try Data("nonsense\n".utf8).write(to: URL(fileURLWithPath: file))
        let broken = try await Tool.run(["get", "--trust-first-use", file, first])
        #expect(broken.status == 23 && broken.errors.contains("line 1, is not a host and its key"), "\(broken.text)")
    }

    @Test func keysWithAPassPhrase() async throws {
        let authority = try CertificateAuthority.shared()
        let nginx = Nginx(listeners: [.clientRequired])
        try nginx.start()
        defer { nginx.stop() }
        let options = [
            "get", "--cacert", authority.root, "--cert", authority.client.chain, "--key", authority.encryptedClientKey,
        ]
        let url = nginx.url(.clientRequired, "/hello")
        let given = try await Tool.run(options + ["--pass", authority.passphrase, url])
        #expect(given.status == 0 && given.output == "hello\n", "\(given.text)")
        let typed = try await Tool.run(options + [url], typing: [("Pass phrase of", authority.passphrase)])
        #expect(typed.status == 0 && typed.output.contains("hello"), "\(typed.text)")
        let wrong = try await Tool.run(options + ["--pass", "wrong", url])
        #expect(wrong.status != 0 && !wrong.output.contains("hello"), "\(wrong.text)")
        let none = try await Tool.run(options + [url])
        #expect(none.status != 0 && none.errors.contains("--pass PHRASE"), "\(none.text)")
    }
}

/// `netkit connect` and `netkit explain-auth` with unusual ends.
@Suite struct EndTests {
    /// A server that sends a line over TLS, and closes the connection without close_notify.
    private static let script = """
        import socket, ssl, sys
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(listener.getsockname()[1], flush=True)
        secure = context.wrap_socket(listener.accept()[0], server_side=True)
        secure.send(b"all the data\\n")
        socket.socket(fileno=secure.detach()).close()
        """

    @Test func aConnectionThatMayBeTruncated() async throws {
        let authority = try CertificateAuthority.shared()
        let identity = authority.server(.good)
        let folder = try TemporaryFolder()
        try folder.write(Self.script, to: "server.py")
        let line = """
            mkfifo \(folder.path)/port; python3 \(folder.path)/server.py \(identity.chain) \(identity.key) >\(folder.path)/port &
            read port <\(folder.path)/port
            mkfifo \(folder.path)/open; exec 4<>\(folder.path)/open
            $netkit connect --tls --cacert \(authority.root) localhost:$port <&4
            """
        // Input that does not end: the server would reset a connection whose close_notify it has not read.
        let run = try await Tool.run(shell: line)
        #expect(run.output == "all the data\n" && run.status == 18, "\(run.text)")
        #expect(run.errors.contains("without TLS close_notify: the received data may be truncated."), "\(run.text)")
    }

    @Test("a text that is not a URL is exit 3 for each verb", arguments: ["get", "explain-auth", "diagnose"])
    func notAURL(_ verb: String) async throws {
        let run = try await Tool.run([verb, "--json", verb == "diagnose" ? "http://" : "localhost/x"])
        #expect(run.status == 3 && run.errors.contains("is not a URL"), "\(run.text)")
        #expect(run.output.contains(#""sentence":""#), "\(run.text)")
    }

    /// explain-auth logs in to a proxy only with an option for that.
    @Test func aProxyThatRequiresALogin() async throws {
        let proxy = try ScriptedServer { connection throws(PeerError) in
            let head = try connection.readHead()
            #expect(!head.contains("Proxy-Authorization"))
            try connection.send(
                "HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 0\r\n\r\n"
            )
        }
        defer { proxy.stop() }
        let run = try await Tool.run(["explain-auth", "-x", "http://127.0.0.1:\(proxy.port)", "http://h.invalid/"])
        #expect(run.status == 0 && run.output.contains("offers:") && run.output.contains("Basic"), "\(run.text)")
    }
}
