import Foundation
import Peers
import StreamKit
import StreamKitTesting
import Testing

/// Our TLS with that of others, on either side: OpenSSL's own programs and stunnel.
@Suite(.serialized, .timeLimit(.minutes(5))) struct TLSPeerTests {
    /// Sends a text through a pair, ends the output, and returns the received text.
    private func echo(_ text: String, over pair: StreamPair) async throws(StreamError) -> String {
        defer { pair.close() }
        if pair.input.status == .notOpen { try pair.open() }
        try await pair.output.writeAll(Array(text.utf8))
        var received: [UInt8] = []
        while received.count < text.utf8.count {
            let more = try await pair.input.read(upTo: 65_536)
            if more.isEmpty { break }
            received += more
        }
        return String(decoding: received, as: UTF8.self)
    }

    private static let text = (0..<5000).map { "line \($0)\n" }.joined()

    private func server(
        closes: Bool = false, _ change: (inout TLSConfiguration) throws -> Void = { _ in }
    ) throws -> EchoServer {
        let identity = try CertificateAuthority.shared().server(.good)
        var configuration = TLSConfiguration(server: try TLSIdentity(file: identity.chain, keyFile: identity.key))
        try change(&configuration)
        return try EchoServer(tls: configuration, closes: closes)
    }

    // MARK: stunnel

    @Test("Our client, stunnel's server", arguments: ["TLSv1.2", "TLSv1.3"])
    func stunnelServes(_ version: String) async throws {
        let plain = try await started(Socat(.echo))
        let tunnel = try await started(Stunnel(.server, to: plain.port, options: ["sslVersion = \(version)"]))
        let pair = StreamPair(host: "localhost", port: UInt16(tunnel.port))
        try pair.set(.tls, to: try trustingPeers())
        #expect(try await echo(Self.text, over: pair) == Self.text)
        #expect(pair[.tlsInformation]?.version == (version == "TLSv1.2" ? .tls12 : .tls13))
        #expect(pair[.tlsInformation]?.isVerified == true)
        tunnel.stop()
        plain.stop()
    }

    @Test("stunnel's client verifies our server", arguments: ["TLSv1.2", "TLSv1.3"])
    func stunnelConnects(_ version: String) async throws {
        let server = try server()
        let tunnel = try await started(Stunnel(.client, to: Int(server.port), options: ["sslVersion = \(version)"]))
        let pair = StreamPair(host: "localhost", port: UInt16(tunnel.port))
        #expect(try await echo(Self.text, over: pair) == Self.text)
        tunnel.stop()
    }

    @Test("Either side refuses an invalid certificate")
    func invalidCertificatesAreRefused() async throws {
        let plain = try await started(Socat(.echo))
        let expired = try await started(Stunnel(.server, to: plain.port, certificate: .expired))
        let pair = StreamPair(host: "localhost", port: UInt16(expired.port))
        try pair.set(.tls, to: try trustingPeers())
        let error = await #expect(throws: StreamError.self) { _ = try await echo("x", over: pair) }
        #expect(error?.tlsFailure == .certificateExpired)
        let wrong = try CertificateAuthority.shared().server(.wrongHost)
        let server = try EchoServer(
            tls: TLSConfiguration(server: try TLSIdentity(file: wrong.chain, keyFile: wrong.key)))
        let tunnel = try await started(Stunnel(.client, to: Int(server.port)))
        let through = StreamPair(host: "localhost", port: UInt16(tunnel.port))
        let received = try? await echo("x", over: through)
        #expect(received == nil || received == "", "stunnel closes the connection")
        for peer in [plain, expired, tunnel] as [any Peer] { peer.stop() }
    }

    // MARK: STARTTLS

    @Test("STARTTLS with stunnel's servers", arguments: [StartTLSProtocol.smtp, .imap, .pop3])
    func startTLS(_ dialogue: StartTLSProtocol) async throws {
        let greeting = [StartTLSProtocol.smtp: "220 plain ESMTP\r\n", .imap: "* OK plain\r\n", .pop3: "+OK plain\r\n"]
        let plain = try ScriptedServer { connection throws(PeerError) in
            try connection.send(greeting[dialogue] ?? "")
            try connection.send("back: " + connection.read(until: "\r\n"))
        }
        let tunnel = try await started(Stunnel(.server, to: plain.port, speaking: dialogue.rawValue))
        let pair = StreamPair(host: "localhost", port: UInt16(tunnel.port))
        try pair.open()
        let secure = try await pair.startingTLS(by: dialogue, with: try trustingPeers())
        #expect(secure[.tlsInformation]?.isVerified == true)
        try await secure.output.writeAll(Array("NOOP\r\n".utf8))
        let received = try await secure.input.read(upTo: 100)
        #expect(String(decoding: received, as: UTF8.self) == "back: NOOP\r\n")
        secure.close()
        tunnel.stop()
        plain.stop()
    }

    @Test("STARTTLS with an FTP server, and with one without TLS")
    func startTLSWithFTP() async throws {
        let server = try await started(Vsftpd(.explicit))
        let pair = StreamPair(host: "localhost", port: UInt16(server.port))
        try pair.open()
        let secure = try await pair.startingTLS(by: .ftp, with: try trustingPeers())
        try await secure.output.writeAll(Array("NOOP\r\n".utf8))
        #expect(String(decoding: try await secure.input.read(upTo: 4), as: UTF8.self).hasPrefix("530"))
        secure.close()
        server.stop()
        let plain = try await started(Vsftpd(.off))
        let other = StreamPair(host: "localhost", port: UInt16(plain.port))
        try other.open()
        let error = await #expect(throws: StreamError.self) {
            _ = try await other.startingTLS(by: .ftp, with: try trustingPeers())
        }
        #expect(error?.description.contains("refuses to start TLS") == true)
        #expect(other.input.status == .closed)
        plain.stop()
    }

    @Test(
        "What is put between the consent and the handshake kills the connection, together with the consent or after it")
    func bytesBeforeTheHandshakeAreRefused() async throws {
        for piece in ["234 go\r\n220 injected\r\n", "234 go\r\n"] {
            let server = try ScriptedServer { connection throws(PeerError) in
                try connection.send("220 ready\r\n")
                try connection.expect("AUTH TLS\r\n")
                try connection.send(piece)
                if piece == "234 go\r\n" { try connection.send("220 injected\r\n") }
                _ = try connection.readToEnd()
            }
            let pair = StreamPair(host: "127.0.0.1", port: UInt16(server.port))
            try pair.open()
            let error = await #expect(throws: StreamError.self) {
                _ = try await pair.startingTLS(by: .ftp, with: try trustingPeers { $0.peerName = "localhost" })
            }
            // Bytes that arrive later may reach the handshake, which rejects them because they are not a TLS record.
            let isTogether = piece != "234 go\r\n"
            let isInjection = error?.sentence.key == "startTLS.injected"
            #expect(isInjection || (!isTogether && error?.tlsFailure != nil), "\(String(describing: error))")
            #expect(pair.input.status == .closed && pair.output.status == .closed)
            let received = try await server.finished()
            let said = String(decoding: received.first?.received ?? [], as: UTF8.self)
            #expect(isInjection ? said == "AUTH TLS\r\n" : said.hasPrefix("AUTH TLS\r\n"), "nothing more is sent to it")
            server.stop()
        }
    }

    @Test("A server without a greeting fails at the limit for opening")
    func aMissingGreetingIsATimeout() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in _ = try connection.readToEnd() }
        let pair = StreamPair(host: "127.0.0.1", port: UInt16(server.port))
        try pair.set(.openTimeout, to: .milliseconds(300))
        try pair.open()
        try await pair.input.opened()
        await #expect(throws: StreamError.timedOut) { _ = try await pair.startingTLS(by: .smtp) }
        #expect(pair.input.status == .closed)
        server.stop()
    }

    // MARK: openssl

    // Parity: SK-099 (openssl)
    @Test("openssl s_client verifies our server: versions, ALPN, the chain", arguments: ["-tls1_2", "-tls1_3"])
    func opensslVerifiesOurServer(_ version: String) async throws {
        let server = try server(closes: true) { $0.applicationProtocols = ["echo/1", "http/1.1"] }
        let client = try OpenSSLClient(
            port: Int(server.port), options: [version, "-alpn", "http/1.1,echo/1", "-brief"])
        let result = try await client.run(sending: "hello\n")
        #expect(result.text.contains("hello"))
        #expect(result.errors.contains("Verification: OK"), "\(result.errors)")
        #expect(result.errors.contains(version == "-tls1_2" ? "TLSv1.2" : "TLSv1.3"))
    }

    @Test("openssl s_client accepts the OCSP response that our server staples")
    func opensslAcceptsAStapledResponse() async throws {
        let authority = try CertificateAuthority.shared()
        let answer = try await onThread {
            try Data(contentsOf: URL(fileURLWithPath: authority.status(isRevoked: false)))
        }
        let server = try server(closes: true) { $0.ocspResponse = Array(answer) }
        let client = try OpenSSLClient(port: Int(server.port), options: ["-status"])
        let result = try await client.run(sending: "hello\n")
        #expect(result.text.contains("OCSP Response Status: successful"))
        #expect(result.text.contains("Cert Status: good"))
    }

    @Test("openssl s_server staples a response of openssl ocsp", arguments: StreamKit.TLSVersion.allCases)
    func aStapledResponseOfOpensslIsChecked(_ version: StreamKit.TLSVersion) async throws {
        let authority = try CertificateAuthority.shared()
        let good = try await onThread { try authority.status(isRevoked: false) }
        let revoked = try await onThread { try authority.status(isRevoked: true) }
        let cases: [(options: [String], wish: OCSPStapling, failure: TLSFailure?)] = [
            (["-status_file", good], .required, nil), (["-status_file", revoked], .checked, .certificateRevoked),
            ([], .checked, nil), ([], .required, .badCertificateStatus),
        ]
        for (options, wish, failure) in cases {
            let server = try await started(OpenSSLServer(.echoReversed, options: options))
            let pair = StreamPair(host: "localhost", port: UInt16(server.port))
            try pair.set(
                .tls,
                to: try trustingPeers {
                    $0.ocspStapling = wish
                    $0.maximumVersion = version
                })
            let result: Result<String, StreamError>
            do throws(StreamError) {
                result = .success(try await echo("abc\n", over: pair))
            } catch {
                result = .failure(error)
            }
            switch result {
            case .success(let text): #expect(failure == nil && text == "cba\n")
            case .failure(let error): #expect(error.tlsFailure == failure, "\(options) \(wish): \(error)")
            }
            server.stop()
        }
    }

    @Test(
        "A server that asks for a certificate: keys in plaintext, encrypted, and in a PKCS#12 bundle",
        arguments: [0, 1, 2])
    func identitiesOfClients(_ form: Int) async throws {
        let authority = try CertificateAuthority.shared()
        let identity =
            switch form {
            case 0: try TLSIdentity(file: authority.client.chain, keyFile: authority.client.key)
            case 1:
                try TLSIdentity(
                    file: authority.client.chain, keyFile: authority.encryptedClientKey, password: authority.passphrase)
            default:
                try TLSIdentity(
                    pkcs12: Array(try Data(contentsOf: URL(fileURLWithPath: authority.clientPKCS12))),
                    password: authority.passphrase)
            }
        let server = try await started(OpenSSLServer(.echoReversed, clientCertificate: .required))
        let pair = StreamPair(host: "localhost", port: UInt16(server.port))
        try pair.set(.tls, to: try trustingPeers { $0.identity = identity })
        #expect(try await echo("abc\n", over: pair) == "cba\n")
        server.stop()
    }
}
