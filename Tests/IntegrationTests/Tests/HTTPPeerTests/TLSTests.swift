import Glibc
import HTTPMessage
import NetKit
import Peers
@_spi(Packages) import StreamKit
import Testing

/// https against real servers: versions, bad certificates, client certificates, ALPN, resumption, truncation.
@Suite(.serialized) struct TLSTests {
    // Parity: HM-096 (nginx)
    @Test(arguments: [HTTPListener.tls, .tls12Only, .tls13Only], Style.allCases)
    func eachVersionOfTLS(_ listener: HTTPListener, _ style: Style) async throws {
        let nginx = try SharedNginx.get()
        try nginx.write("secure", patterned(300_000))
        let loaded = try await get(nginx.url(listener, "/secure"), style) {
            try $0.set(.tls, to: try trustingPeers())
        }
        #expect(loaded.error == nil)
        #expect(loaded.body == patterned(300_000))
        let tls = try #require(loaded.stream[.tlsInformation])
        #expect(tls.isVerified)
        #expect(tls.version == (listener == .tls12Only ? .tls12 : .tls13))
        #expect(loaded.stream.report.steps.contains { if case .tls = $0.kind { true } else { false } })
    }

    // Parity: HM-107 (nginx)
    @Test(
        arguments: [
            (ServerCertificate.expired, TLSFailure.certificateExpired, "expired"),
            (.notYetValid, .certificateNotYetValid, "not valid before"),
            (.wrongHost, .hostNameMismatch, "other.example"),
            (.selfSigned, .noRoot, "self-signed"), (.unknownRoot, .unknownRoot, "not trusted"),
            (.missingIntermediate, .unknownRoot, "intermediate"),
        ], Style.allCases)
    func invalidCertificatesAreRefused(_ sample: (ServerCertificate, TLSFailure, String), _ style: Style) async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get(nginx.url(.tls(sample.0), "/hello"), style) {
            try $0.set(.tls, to: try trustingPeers())
        }
        #expect(loaded.error?.tlsFailure == sample.1)
        #expect(loaded.error?.description.contains(sample.2) == true)
        #expect(loaded.body.isEmpty)
    }

    /// Without a configuration the machine's roots apply, which do not include the tests' authority.
    // Parity: HM-096 (nginx)
    @Test func certificatesAreVerifiedByDefault() async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get(nginx.url(.tls, "/hello"))
        #expect(loaded.error?.domain == .ssl)
    }

    @Test func addressesAreVerifiedToo() async throws {
        let nginx = try SharedNginx.get()
        for host in ["127.0.0.1", "[::1]"] {
            let loaded = try await get(nginx.url(.tls, "/hello", host: host)) {
                try $0.set(.tls, to: try trustingPeers())
            }
            #expect(loaded.text == "hello\n")
        }
    }

    // Parity: SK-099 (nginx)
    @Test(arguments: [HTTPListener.clientOptional, .clientRequired], [false, true])
    func clientCertificates(_ listener: HTTPListener, _ shows: Bool) async throws {
        let nginx = try SharedNginx.get()
        let identity = try CertificateAuthority.shared().client
        let loaded = try await get(nginx.url(listener, "/request")) { stream in
            try stream.set(
                .tls,
                to: try trustingPeers {
                    if shows { $0.identity = try TLSIdentity(file: identity.chain, keyFile: identity.key) }
                })
        }
        #expect(loaded.error == nil)
        #expect(loaded.status == (listener == .clientRequired && !shows ? 400 : 200))
    }

    @Test func sessionsAreResumed() async throws {
        let nginx = try SharedNginx.get()
        for listener in [HTTPListener.tls12Only, .tls13Only] {
            let path = "/hello?resume-\(listener.name)"
            var configuration = try trustingPeers()
            configuration.sessionGroup = path
            for _ in 0..<2 {
                let loaded = try await get(nginx.url(listener, path)) { try $0.set(.tls, to: configuration) }
                #expect(loaded.text == "hello\n")
            }
            let seen = try await nginx.requests(2) { $0.target == path }
            #expect(seen.map(\.isResumed) == [false, true])
        }
    }

    // Parity: SK-100 (nginx)
    @Test func applicationProtocol() async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get(nginx.url(.tls, "/hello")) { try $0.set(.tls, to: try trustingPeers()) }
        #expect(loaded.stream[.tlsInformation]?.applicationProtocol == "http/1.1")
    }

    // Parity: HM-060 (openssl)
    @Test(arguments: Style.allCases)
    func opensslSServerAsTheServer(_ style: Style) async throws {
        let server = OpenSSLServer(.statusPage)
        try server.start()
        defer { server.stop() }
        let loaded = try await get("https://localhost:\(server.port)/", style) {
            try $0.set(.tls, to: try trustingPeers())
        }
        #expect(loaded.status == 200)
        #expect(loaded.text.contains("Cipher"))
    }

    /// An end without close_notify is an error for a body that ends with the connection. A body with a length is complete in any
    /// case.
    // Parity: SK-102 (openssl)
    @Test(arguments: Style.allCases)
    func truncatedBodiesAreErrors(_ style: Style) async throws {
        for (fields, isWhole) in [("", false), ("Content-Length: 4\r\n", true)] {
            let server = OpenSSLServer(.conversation)
            try server.start()
            defer { server.stop() }
            let stream = try makeStream("https://localhost:\(server.port)/") {
                try $0.set(.tls, to: try trustingPeers())
            }
            try server.send(Array("HTTP/1.1 200 OK\r\n\(fields)\r\nbody".utf8))
            try stream.open()
            #expect(try await stream.read(upTo: 100) == Array("body".utf8))
            // The server is killed: the kernel ends the connection without close_notify.
            kill(try #require(server.process.pid), SIGKILL)
            do throws(StreamError) {
                let rest = try await stream.read(upTo: 100)
                #expect(isWhole && rest.isEmpty)
            } catch {
                #expect(!isWhole)
                #expect(error.tlsFailure == .closedWithoutNotify || error.isPOSIX(104))
            }
            stream.close()
        }
    }
}
