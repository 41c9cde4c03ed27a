import Peers
import Testing

@Suite struct ApacheTests {
    let apache: Apache
    let root: String

    init() throws {
        apache = try Self.shared.get()
        root = try CertificateAuthority.shared().root
    }

    private static let shared = Result { () throws(PeerError) in
        let apache = Apache()
        try apache.start()
        return apache
    }

    private func curl(_ arguments: String...) async throws -> String {
        let result = try await Command(Program("curl"), ["-sS", "-m", "20", "--cacert", root] + arguments).run()
        return result.text + result.errors
    }

    @Test(arguments: [HTTPListener.plain, .tls, .tls12Only])
    func echoesTheRequest(listener: HTTPListener) async throws {
        let echo = try await curl("-d", "body", "-HX-Color: red", apache.url(listener, "/cgi/echo?q"))
        #expect(echo.hasPrefix("POST /cgi/echo?q HTTP/1.1\n"))
        #expect(echo.contains("HTTP_X_COLOR: red\n") && echo.hasSuffix("\n\nbody"))
        if listener == .tls12Only { #expect(echo.contains("SSL_PROTOCOL: TLSv1.2\n")) }
    }

    @Test func readsChunkedBodies() async throws {
        let echo = try await curl(
            "-HTransfer-Encoding: chunked", "-d", "in chunks", apache.url(.plain, "/cgi/echo"))
        #expect(echo.hasSuffix("\n\nin chunks"))
    }

    @Test func sendsChunks() async throws {
        let answer = try await curl("-i", apache.url(.plain, "/cgi/chunked"))
        #expect(answer.contains("Transfer-Encoding: chunked"))
        #expect(answer.hasSuffix((1...20000).map { "\($0)\n" }.joined()))
    }

    @Test func continuesOnlyWhenTheBodyIsWanted() async throws {
        let expect = "-HExpect: 100-continue"
        #expect(try await curl("-i", expect, "-d", "x", apache.url(.plain, "/cgi/echo")).contains("100 Continue"))
        let refused = try await curl("-i", expect, "-d", "x", apache.url(.plain, "/forbidden"))
        #expect(refused.contains("403 Forbidden") && !refused.contains("100 Continue"))
    }

    @Test func compressesAndGivesRanges() async throws {
        let text = (1...5000).map { "line \($0)\n" }.joined()
        try apache.write("lines.txt", Array(text.utf8))
        let url = apache.url(.plain, "/lines.txt")
        #expect(try await curl("--compressed", url) == text)
        #expect(try await curl("-D-", "-o/dev/null", "--compressed", url).contains("Content-Encoding: gzip"))
        #expect(try await curl("-r", "5-5", url) == "1")
        #expect(try await curl("-r", "0-0,5-5", "-D-", "-o/dev/null", url).contains("multipart/byteranges"))
    }

    @Test(arguments: ["basic", "digest"])
    func asksForAPassword(scheme: String) async throws {
        try apache.write("secret.txt", Array("treasure".utf8))
        let url = apache.url(.plain, "/\(scheme)/secret.txt")
        #expect(try await curl("--\(scheme)", "-u", "alice:open sesame", url) == "treasure")
        #expect(try await curl("--\(scheme)", "-u", "alice:wrong", "-o/dev/null", "-w%{http_code}", url) == "401")
    }

    @Test func wantsAClientCertificate() async throws {
        let client = try CertificateAuthority.shared().client
        let url = apache.url(.clientRequired, "/cgi/echo")
        let echo = try await curl("--cert", client.chain, "--key", client.key, url)
        #expect(echo.contains("SSL_CLIENT_VERIFY: SUCCESS\n"))
        #expect(try await curl(url).contains("curl: (56)"))
        #expect(try await curl(apache.url(.tls(.expired), "/")).contains("certificate has expired"))
    }

    @Test func stopsAndFreesItsPorts() throws {
        let apache = Apache(listeners: [.plain])
        try apache.start()
        let port = apache.port
        let pid = try #require(apache.process.pid)
        #expect(!PortPool.isFree(port))
        apache.stop()
        #expect(PortPool.isFree(port) && !isAlive(pid))
    }
}
