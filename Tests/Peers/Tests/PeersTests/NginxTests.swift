import Peers
import Testing

@Suite struct NginxTests {
    let nginx: Nginx
    let root: String

    init() throws {
        nginx = try Self.shared.get()
        root = try CertificateAuthority.shared().root
    }

    /// One server for all tests; it ends with the process.
    private static let shared = Result { () throws(PeerError) in
        let nginx = Nginx()
        try nginx.start()
        return nginx
    }

    /// curl's output: the response, or the error.
    private func curl(_ arguments: String...) async throws -> String {
        let result = try await Command(Program("curl"), ["-sS", "-m", "20", "--cacert", root] + arguments).run()
        return result.text + result.errors
    }

    @Test(arguments: ["localhost", "127.0.0.1", "[::1]"])
    func saysHelloPlainAndOverTLS(host: String) async throws {
        for listener in [HTTPListener.plain, .tls, .tls12Only, .tls13Only, .clientOptional] {
            #expect(try await curl(nginx.url(listener, "/hello", host: host)) == "hello\n")
        }
    }

    @Test(arguments: [(HTTPListener.tls, "TLSv1.3"), (.tls12Only, "TLSv1.2"), (.tls13Only, "TLSv1.3")])
    func speaksTheVersionsAskedFor(listener: HTTPListener, version: String) async throws {
        let lines = try await curl(nginx.url(listener, "/request"))
        #expect(lines.contains("tls=\(version)\n"))
        #expect(lines.contains("sni=localhost\n"))
        #expect(lines.contains("alpn=http/1.1\n"))
    }

    @Test func refusesOtherVersions() async throws {
        #expect(try await curl("--tlsv1.3", nginx.url(.tls12Only, "/hello")).contains("curl: (35)"))
        #expect(try await curl("--tls-max", "1.2", nginx.url(.tls13Only, "/hello")).contains("curl: (35)"))
    }

    @Test(arguments: [
        (ServerCertificate.expired, "certificate has expired"), (.notYetValid, "certificate is not yet valid"),
        (.wrongHost, "no alternative certificate subject name matches"), (.selfSigned, "self-signed certificate"),
        (.unknownRoot, "self-signed certificate in certificate chain"),
        (.missingIntermediate, "unable to get local issuer certificate"),
    ])
    func showsBadCertificates(certificate: ServerCertificate, complaint: String) async throws {
        #expect(try await curl(nginx.url(.tls(certificate), "/hello")).contains(complaint))
        #expect(try await curl("-k", nginx.url(.tls(certificate), "/hello")) == "hello\n")
    }

    @Test func asksForClientCertificates() async throws {
        let authority = try CertificateAuthority.shared()
        let identity = ["--cert", authority.client.chain, "--key", authority.client.key]
        for listener in [HTTPListener.clientOptional, .clientRequired] {
            let lines = try await curl(
                identity[0], identity[1], identity[2], identity[3], nginx.url(listener, "/request"))
            #expect(lines.contains("client-verify=SUCCESS\n"))
            #expect(lines.contains("client-name=CN=Test Client\n"))
        }
        #expect(try await curl(nginx.url(.clientOptional, "/request")).contains("client-verify=NONE\n"))
        #expect(try await curl(nginx.url(.clientRequired, "/hello")).contains("400 No required SSL certificate"))
    }

    @Test func givesFilesWholeInPartCompressedAndChunked() async throws {
        let text = (1...5000).map { "line \($0)\n" }.joined()
        try nginx.write("lines.txt", Array(text.utf8))
        #expect(try await curl(nginx.url(.plain, "/lines.txt")) == text)
        #expect(try await curl("-r", "0-5", nginx.url(.plain, "/lines.txt")) == "line 1")
        #expect(try await curl("--compressed", nginx.url(.plain, "/gzip/lines.txt")) == text)
        let gzip = try await curl("-D-", "-o/dev/null", "-HAccept-Encoding: gzip", nginx.url(.plain, "/gzip/lines.txt"))
        #expect(gzip.contains("Content-Encoding: gzip"))
        let chunked = try await curl("-i", nginx.url(.plain, "/chunked/lines.txt"))
        #expect(chunked.contains("Transfer-Encoding: chunked") && chunked.hasSuffix(text))
        let head = try await curl("-I", nginx.url(.plain, "/lines.txt"))
        #expect(head.contains("Content-Length: \(text.utf8.count)\r\n") && head.hasSuffix("\r\n\r\n"))
    }

    @Test func givesTwoGibibytesWithoutUsingThem() async throws {
        try nginx.writeZeros("huge.bin", count: 2 << 30)
        #expect(try await curl("-I", nginx.url(.plain, "/huge.bin")).contains("Content-Length: 2147483648\r\n"))
        let tail = try await curl(
            "-r", "2147483640-", "-o/dev/null", "-w%{size_download}", nginx.url(.tls, "/huge.bin"))
        #expect(tail == "8")
    }

    @Test(arguments: [204, 304, 400, 403, 404, 410, 500, 502, 503])
    func answersWithAnyStatus(status: Int) async throws {
        #expect(try await curl("-o/dev/null", "-w%{http_code}", nginx.url(.plain, "/status/\(status)")) == "\(status)")
    }

    @Test(arguments: [
        ("/chain", "3 200 http"), ("/to-second", "1 200 http"), ("/to-plain", "1 200 http"), ("/to-tls", "1 200 https"),
    ])
    func redirects(path: String, outcome: String) async throws {
        let format = "-w%{num_redirects} %{http_code} %{scheme}"
        let seen = try await curl("-L", "-o/dev/null", format, nginx.url(path == "/to-plain" ? .tls : .plain, path))
        #expect(seen.lowercased() == outcome)
    }

    @Test func redirectsForever() async throws {
        #expect(try await curl("-L", "--max-redirs", "7", nginx.url(.plain, "/loop")).contains("curl: (47)"))
    }

    @Test func asksForAPassword() async throws {
        try nginx.write("secret.txt", Array("treasure".utf8))
        let url = nginx.url(.plain, "/basic/secret.txt")
        #expect(try await curl("-i", url).contains("WWW-Authenticate: Basic realm=\"peers\""))
        #expect(try await curl("-u", "alice:open sesame", url) == "treasure")
        #expect(try await curl("-u", "alice:wrong", url).contains("401"))
    }

    @Test func takesUploads() async throws {
        let upload = Command(
            Program("curl"), ["-sS", "-w%{http_code}", "-T-", nginx.url(.plain, "/upload/a/b.txt")],
            input: Array("up".utf8))
        #expect(try await upload.run().text == "201")
        #expect(try nginx.read("upload/a/b.txt") == Array("up".utf8))
        #expect(try await curl(nginx.url(.plain, "/upload/a/b.txt")) == "up")
    }

    @Test func logsConnectionsAndTheirReuse() async throws {
        let kept = nginx.url(.plain, "/request?kept")
        _ = try await curl(kept, kept, kept)
        let requests = try await nginx.requests(3) { $0.target == "/request?kept" }
        #expect(requests.map(\.requestOnConnection) == [1, 2, 3])
        #expect(Set(requests.map(\.connection)).count == 1)
        #expect(requests.allSatisfy { $0.status == 200 && $0.method == "GET" && $0.version == "HTTP/1.1" })

        let closed = nginx.url(.plain, "/keep-alive/none?closed")
        _ = try await curl(closed, closed)
        let others = try await nginx.requests(2) { $0.target == "/keep-alive/none?closed" }
        #expect(others.map(\.requestOnConnection) == [1, 1])
    }

    @Test func dropsConnections() async throws {
        #expect(try await curl(nginx.url(.plain, "/drop")).contains("curl: (52)"))
    }

    @Test func stopsAndFreesItsPorts() throws {
        let nginx = Nginx(listeners: [.plain, .tls])
        #expect(Nginx.isInstalled)
        try nginx.start()
        let ports = nginx.process.ports
        let pid = try #require(nginx.process.pid)
        #expect(nginx.isRunning && ports.allSatisfy { !PortPool.isFree($0) })
        nginx.stop()
        #expect(!nginx.isRunning && ports.allSatisfy { PortPool.isFree($0) })
        #expect(!isAlive(pid))
        #expect(nginx.log.contains("start worker process"))
    }
}
