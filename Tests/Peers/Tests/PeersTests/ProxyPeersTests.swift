import Peers
import Testing

/// The proxies, tested with curl.
@Suite(.serialized) struct ProxyPeersTests {
    private func curl(_ url: String, _ options: String...) async throws -> Command.Result {
        let root = try CertificateAuthority.shared().root
        let proxyRoot = ["--cacert", root, "--proxy-cacert", root]
        return try await Command(Program("curl"), ["-sS", "--noproxy", ""] + proxyRoot + options + [url]).run()
    }

    @Test(.enabled(if: Dante.omission == nil, "\(Dante.omission ?? "")"))
    func dante() async throws {
        let origin = try HTTPOrigin { _ in .init(body: "hello") }
        let dante = Dante()
        try dante.start()
        #expect(try await curl(origin.url(), "--socks5-hostname", "localhost:\(dante.port)").text == "hello")
        #expect(try await curl(origin.url(), "--socks4", "localhost:\(dante.port)").text == "hello")
        #expect(try await curl("http://127.0.0.1:7/", "--socks5", "localhost:\(dante.port)").status == 97)
        let port = dante.port
        dante.stop()
        #expect(PortPool.isFree(port))
    }

    @Test func socks() async throws {
        let origin = try HTTPOrigin { _ in .init(body: "hello") }
        let microsocks = Microsocks(user: "alice", password: "open sesame")
        try microsocks.start()
        let known = ["--proxy-user", "alice:open sesame"]
        #expect(
            try await curl(origin.url(), "--socks5", "127.0.0.1:\(microsocks.port)", known[0], known[1]).text == "hello"
        )
        #expect(try await curl(origin.url(), "--socks5", "127.0.0.1:\(microsocks.port)").status == 97)
        let ssh = SSHProxy()
        try ssh.start()
        #expect(try await curl(origin.url(), "--socks4a", "127.0.0.1:\(ssh.port)").text == "hello")
        let ports = [microsocks.port, ssh.port]
        for peer in [microsocks, ssh] as [any Peer] { peer.stop() }
        #expect(ports.allSatisfy { PortPool.isFree($0) })
    }

    @Test func http() async throws {
        let origin = try HTTPOrigin { _ in .init(body: "hello") }
        let squid = Squid()
        try squid.start()
        #expect(try await curl(origin.url(), "--proxy", "http://127.0.0.1:\(squid.port)").text == "hello")
        #expect(try await curl(origin.url(), "--proxy", "https://localhost:\(squid.tlsPort)").text == "hello")
        #expect(
            try await curl(origin.url(), "--proxytunnel", "--proxy", "http://127.0.0.1:\(squid.port)").text == "hello")
        let asking = Squid(asksForPassword: true)
        try asking.start()
        let known = ["--proxy-user", "alice:open sesame"]
        #expect(
            try await curl(origin.url(), "--proxy", "http://127.0.0.1:\(asking.port)", known[0], known[1]).text
                == "hello")
        #expect(
            try await curl(origin.url(), "-o/dev/null", "-w%{http_code}", "--proxy", "http://127.0.0.1:\(asking.port)")
                .text
                == "407")
        let tinyproxy = Tinyproxy(user: "alice", password: "sesame")
        try tinyproxy.start()
        #expect(
            try await curl(origin.url(), "--proxy", "http://127.0.0.1:\(tinyproxy.port)", known[0], "alice:sesame").text
                == "hello")
        let ports = [squid.port, squid.tlsPort, asking.port, tinyproxy.port]
        for peer in [squid, asking, tinyproxy] as [any Peer] { peer.stop() }
        #expect(ports.allSatisfy { PortPool.isFree($0) })
    }
}
