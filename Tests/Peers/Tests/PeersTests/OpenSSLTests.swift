import Peers
import Testing

@Suite struct OpenSSLTests {
    @Test(arguments: TLSVersion.allCases)
    func reversesLines(version: TLSVersion) async throws {
        let server = OpenSSLServer(.echoReversed, versions: [version], applicationProtocols: ["spdy/9", "http/1.1"])
        try server.start()
        let port = server.port
        let client = try OpenSSLClient(port: port, options: ["-alpn", "http/1.1,h2"])
        let result = try await client.run(sending: "hello\nCLOSE\n")
        #expect(result.text.contains("\nolleh\n"), "\(result)")
        #expect(result.text.contains("ALPN protocol: http/1.1"))
        #expect(result.text.contains("\(version.rawValue), Cipher is"))
        server.stop()
        #expect(PortPool.isFree(port))
    }

    @Test func aClientRefusesABadCertificate() async throws {
        let server = OpenSSLServer(.statusPage, certificate: .expired)
        try server.start()
        defer { server.stop() }
        let result = try await OpenSSLClient(port: server.port).run(sending: "GET / HTTP/1.0\r\n\r\n")
        #expect(result.status != 0)
        #expect(result.errors.contains("certificate has expired"))
    }

    @Test func insistsOnAClientCertificate() async throws {
        let server = OpenSSLServer(.statusPage, versions: [.tls12], clientCertificate: .required)
        try server.start()
        defer { server.stop() }
        let identity = try CertificateAuthority.shared().client
        let request = "GET / HTTP/1.0\r\n\r\n"
        let refused = try await OpenSSLClient(port: server.port).run(sending: request)
        #expect(refused.status != 0)
        let options = ["-cert", identity.chain, "-key", identity.key, "-cert_chain", identity.chain]
        let welcome = try await OpenSSLClient(port: server.port, options: options).run(sending: request)
        #expect(welcome.text.contains("HTTP/1.0 200 ok"), "\(welcome)")
    }

    @Test func holdsAConversation() async throws {
        let server = OpenSSLServer(.conversation)
        try server.start()
        defer { server.stop() }
        try server.send(Array("Quiet please\n".utf8))
        async let answer = OpenSSLClient(port: server.port, options: ["-quiet"]).run(sending: "from the client\n")
        while !server.received.contains("from the client\n"), !Task.isCancelled { await Task.yield() }
        server.finish()
        #expect(try await answer.text == "Quiet please\n")
    }
}
