import Peers
import Testing

/// The proxies that `netkit` uses for a request.
@Suite struct ProxyTests {
    /// Answers each request with `body`, or with a redirect.
    private static func server(_ body: String, redirectingTo location: String? = nil) throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            let head =
                location.map { "HTTP/1.1 302 Found\r\nLocation: \($0)\r\nContent-Length: 0\r\n\r\n" }
                ?? "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            try connection.send(head)
        }
    }

    /// Redirects between two names of this machine, of which --noproxy covers one.
    @Test("--noproxy is applied again to each redirect") func redirects() async throws {
        let origin = try Self.server("direct")
        let target = "http://localhost:\(origin.port)/"
        let proxy = try Self.server("proxied")
        let redirectingProxy = try Self.server("", redirectingTo: target)
        let redirectingOrigin = try Self.server("", redirectingTo: target)

        func get(_ url: String, _ options: String...) async throws -> String {
            let run = try await Tool.run(["get", "-L", url] + options)
            #expect(run.status == 0, "\(run.text)")
            return run.output
        }
        #expect(
            try await get(
                "http://h.invalid/", "-x", "http://127.0.0.1:\(redirectingProxy.port)", "--noproxy", "localhost")
                == "direct")
        #expect(
            try await get(
                "http://127.0.0.1:\(redirectingOrigin.port)/", "-x", "http://127.0.0.1:\(proxy.port)", "--noproxy",
                "127.0.0.1") == "proxied")
    }

    @Test("--proxy-user logs in to a proxy that -p makes establish a tunnel for an http URL") func loginOfATunnel()
        async throws
    {
        let proxy = try ScriptedServer { connection throws(PeerError) in
            guard try connection.readHead().contains("Proxy-Authorization: Basic am9lOnB3") else {
                try connection.send(
                    "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=r\r\nContent-Length: 0\r\n\r\n")
                return
            }
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let run = try await Tool.run(
            ["get", "-p", "-x", "http://127.0.0.1:\(proxy.port)", "--proxy-user", "joe:pw", "http://h.invalid/"])
        #expect(run.status == 0 && run.output == "ok", "\(run.text)")
    }

    /// RFC 1929: the login is a part of the handshake.
    @Test("--proxy-user logs in to a SOCKS proxy") func loginOfSOCKS() async throws {
        let proxy = try ScriptedServer { connection throws(PeerError) in
            let offered = try connection.read(2)
            _ = try connection.read(Int(offered[1]))
            try connection.send([5, 2])
            guard try connection.read(8) == [1, 3] + Array("joe".utf8) + [2] + Array("pw".utf8) else { return }
            try connection.send([1, 0])
            _ = try connection.read(4 + 1 + "h.invalid".utf8.count + 2)
            try connection.send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let run = try await Tool.run(
            ["get", "-x", "socks5h://127.0.0.1:\(proxy.port)", "--proxy-user", "joe:pw", "http://h.invalid/"])
        #expect(run.status == 0 && run.output == "ok", "\(run.text)")
    }

    /// No program listens at port 1, and no name ends in .invalid.
    @Test(
        "a failure to reach the proxy names the proxy",
        arguments: [
            ("http://127.0.0.1:1", 7, "The proxy 127.0.0.1:1 refused the connection: nothing is listening there."),
            ("http://localhost:1", 7, "The proxy localhost:1 refused the connection"),
            ("http://p.invalid:3128", 6, "The proxy p.invalid:3128 cannot be used. The name p.invalid cannot be"),
        ] as [(String, Int32, String)])
    func unreachable(_ proxy: String, _ status: Int32, _ words: String) async throws {
        for url in ["http://192.0.2.1/", "https://192.0.2.1/"] {
            let run = try await Tool.run(["get", "-x", proxy, url])
            #expect(run.status == status && run.errors.contains(words), "\(run.text)")
        }
        let run = try await Tool.run(["get", "--noproxy", "*", "-x", proxy, "http://127.0.0.1:1/"])
        #expect(run.status == 7 && !run.errors.contains("proxy"), "\(run.text)")
    }

    /// The variable says which hosts no proxy can reach, whichever proxy is used.
    @Test("no_proxy applies to -x, and -x '' is for no proxy") func exemptions() async throws {
        let origin = try Self.server("direct")
        let url = "http://127.0.0.1:\(origin.port)/"
        for (options, variables) in [
            (["-x", "http://127.0.0.1:1"], ["no_proxy": "127.0.0.1"]),
            (["-x", ""], ["http_proxy": "http://127.0.0.1:1"]),
            (["-x", "http://127.0.0.1:1"], ["NO_PROXY": "127.0.0.1", "http_proxy": "::::"]),
        ] {
            let run = try await Tool.run(["get", url] + options, environment: variables)
            #expect(run.status == 0 && run.output == "direct", "\(run.text)")
        }
        let run = try await Tool.run(
            ["get", url, "-x", "http://127.0.0.1:1", "--noproxy", "x"], environment: ["no_proxy": "127.0.0.1"])
        #expect(run.status == 7, "\(run.text)")
    }

    /// Most HTTP proxies establish tunnels to the ports of HTTP only.
    @Test("an HTTP proxy loads files of FTP servers", arguments: [false, true]) func ftpFiles(_ isTunnel: Bool)
        async throws
    {
        let proxy = try ScriptedServer { connection throws(PeerError) in
            let head = try connection.readHead()
            if isTunnel {
                try connection.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
            } else {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(head.utf8.count)\r\n\r\n\(head)")
            }
        }
        let run = try await Tool.run(
            ["get", "-x", "http://127.0.0.1:\(proxy.port)", "ftp://h.invalid/pub/a.txt"] + (isTunnel ? ["-p"] : []))
        #expect(run.status == (isTunnel ? 97 : 0), "\(run.text)")
        let sent = try await proxy.finished().map(\.text).joined()
        #expect(
            sent.hasPrefix(isTunnel ? "CONNECT h.invalid:21 " : "GET ftp://h.invalid/pub/a.txt HTTP/1.1\r\n"), "\(sent)"
        )
    }

    @Test("-p is for tunnels to http URLs, too") func tunnels() async throws {
        let proxy = try ScriptedServer { connection throws(PeerError) in
            try connection.expect("CONNECT h.invalid:80 HTTP/1.1\r\n")
            try connection.readHead()
            try connection.send("HTTP/1.1 200 Connected\r\n\r\n")
            try connection.expect("GET /a HTTP/1.1\r\n")
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ntunnel")
        }
        let run = try await Tool.run(["get", "-p", "-x", "http://127.0.0.1:\(proxy.port)", "http://h.invalid/a"])
        #expect(run.status == 0 && run.output == "tunnel", "\(run.text)")
        try await proxy.finished()
    }

    /// The nearest proxy receives a CONNECT to the next proxy, which then receives the request.
    @Test("-x twice is a chain") func chain() async throws {
        let nearest = try ScriptedServer { connection throws(PeerError) in
            try connection.expect("CONNECT far.invalid:3128 HTTP/1.1\r\n")
            try connection.readHead()
            try connection.send("HTTP/1.1 200 Connected\r\n\r\n")
            try connection.expect("GET http://h.invalid/ HTTP/1.1\r\n")
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nchain")
        }
        let run = try await Tool.run([
            "get", "-x", "http://127.0.0.1:\(nearest.port)", "-x", "http://far.invalid:3128", "http://h.invalid/",
        ])
        #expect(run.status == 0 && run.output == "chain", "\(run.text)")
        try await nearest.finished()
    }

    @Test("--proxy-http2 lets an https proxy choose HTTP/2 for tunnels; requests to it use HTTP/1.1") func http2()
        async throws
    {
        let behind = Tinyproxy()
        try behind.start()
        defer { behind.stop() }
        let proxy = Nghttpx(port: behind.port, isSecure: true, usesHTTP1: true, isForward: true)
        try proxy.start()
        defer { proxy.stop() }
        let root = try CertificateAuthority.shared().root
        for (options, hasTunnel) in [(["-p", "--proxy-http2"], true), (["--proxy-http2"], false), (["-p"], false)] {
            let origin = try ScriptedServer { connection throws(PeerError) in
                try connection.readHead()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
            let run = try await Tool.run(
                ["get", "--report", "--cacert", root, "-x", "https://localhost:\(proxy.port)"] + options
                    + ["http://127.0.0.1:\(origin.port)/"])
            #expect(run.status == 0 && run.output == "ok", "\(run.text)")
            #expect(run.text.contains("over HTTP/2: 200") == hasTunnel, "\(run.text)")
        }
    }
}
