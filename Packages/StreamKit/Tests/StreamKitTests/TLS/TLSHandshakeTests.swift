internal import EventLoops
import Testing

@testable import StreamKit
@testable import StreamTLS

/// The results of handshakes, and their failures.
@Suite struct TLSHandshakeTests {
    static let authority = SharedAuthority()

    private func pair(
        client changeClient: (inout TLSConfiguration) -> Void = { _ in },
        server changeServer: (inout TLSConfiguration) -> Void = { _ in },
        name: String? = "www.example.org"
    ) throws -> TLSPair {
        var client = Self.authority.client
        changeClient(&client)
        var server = Self.authority.server
        changeServer(&server)
        return try TLSPair(client: client, server: server, name: name)
    }

    @Test(arguments: TLSVersion.allCases)
    func bothSidesKnowWhatWasAgreed(version: TLSVersion) throws {
        let pair = try pair(client: { $0.maximumVersion = version })
        #expect(try pair.open() == (nil, nil))
        let client = try #require(pair.client.information)
        #expect(client.version == version)
        #expect(client.cipher.hasPrefix("TLS_"))
        #expect(pair.client.summary == "\(version), \(client.cipher)")
        #expect(client.isVerified)
        #expect(!client.isResumed)
        #expect(client.peerCertificates == [Self.authority.certificate])
        #expect(client.serverName == "www.example.org")
        let server = try #require(pair.server.property(named: "StreamKit.tlsInformation") as? TLSInformation)
        #expect(server.version == version)
        #expect(server.cipher == client.cipher)
        #expect(server.serverName == "www.example.org")
        #expect(server.peerCertificates.isEmpty)
        #expect(!server.isVerified)
    }

    @Test func versionsWithoutOverlap() throws {
        let pair = try pair(client: { $0.minimumVersion = .tls13 }, server: { $0.maximumVersion = .tls12 })
        let errors = try pair.open()
        #expect(errors.client?.tlsFailure == .protocolVersion)
        #expect(errors.server?.tlsFailure == .protocolVersion)
        #expect(errors.server?.description.contains("TLS 1.2") == true)
    }

    // Parity: SK-100
    @Test(
        arguments: [
            (["h2", "http/1.1"], ["http/1.1", "h2"], "http/1.1"),
            (["http/1.1"], ["h2", "http/1.1"], "http/1.1"),
            (["h2"], [], nil),
            ([], ["h2"], nil),
        ] as [([String], [String], String?)])
    func applicationProtocols(offered: [String], liked: [String], chosen: String?) throws {
        let pair = try pair(
            client: { $0.applicationProtocols = offered }, server: { $0.applicationProtocols = liked })
        #expect(try pair.open() == (nil, nil))
        #expect(pair.client.information?.applicationProtocol == chosen)
        #expect(pair.server.information?.applicationProtocol == chosen)
    }

    @Test func noCommonApplicationProtocol() throws {
        let pair = try pair(
            client: { $0.applicationProtocols = ["h2"] }, server: { $0.applicationProtocols = ["ftp"] })
        let errors = try pair.open()
        #expect(errors.client?.tlsFailure == .negotiation)
        #expect(errors.client?.description.contains("application protocols") == true)
        #expect(errors.server?.tlsFailure == .negotiation)
    }

    // Parity: SK-100
    @Test func noCommonCipher() throws {
        let pair = try pair(
            client: {
                $0.maximumVersion = .tls12
                $0.cipherList = "ECDHE-ECDSA-AES128-GCM-SHA256"
            }, server: { $0.cipherList = "ECDHE-ECDSA-AES256-GCM-SHA384" })
        let errors = try pair.open()
        #expect(errors.client?.tlsFailure == .peerHandshakeFailure)
        #expect(errors.server?.tlsFailure == .negotiation)
    }

    @Test func cipherSuitesOfTLS13() throws {
        let pair = try pair(client: { $0.cipherSuites = "TLS_CHACHA20_POLY1305_SHA256" })
        #expect(try pair.open() == (nil, nil))
        #expect(pair.client.information?.cipher == "TLS_CHACHA20_POLY1305_SHA256")
    }

    @Test(
        arguments: [
            (TLSConfiguration.ServerNameIndication.peerName, "www.example.org", "www.example.org"),
            (.peerName, "WWW.Example.ORG.", "www.example.org"),
            (.name("other.test"), "www.example.org", "other.test"),
            (.off, "www.example.org", nil),
            (.peerName, "192.0.2.7", nil),
            (.name("192.0.2.9"), "www.example.org", nil),
            (.peerName, "2001:db8::7", nil),
        ] as [(TLSConfiguration.ServerNameIndication, String, String?)])
    func serverNameIndication(setting: TLSConfiguration.ServerNameIndication, name: String, told: String?) throws {
        let pair = try pair(client: { $0.serverNameIndication = setting }, name: name)
        #expect(try pair.open() == (nil, nil))
        #expect(pair.server.information?.serverName == told)
    }

    // MARK: Peers without TLS

    @Test(
        arguments: [
            ("HTTP/1.1 400 Bad Request\r\n\r\n", "plain HTTP", .foreignProtocol),
            ("220 ready\r\n", "FTP or mail", .foreignReply),
            ("421 Too many connections\r\n", "“421 Too many connections”", .foreignReply),
            ("12 is no reply\r\n", "“12 is no reply”", .foreignProtocol),
            ("SSH-2.0-OpenSSH_9.2\r\n", "SSH", .foreignProtocol),
            ("* OK IMAP4rev1\r\n", "IMAP", .foreignProtocol),
            ("+OK POP3\r\n", "POP3", .foreignProtocol),
            ("hello world, what is this?\r\n", "hello world", .foreignProtocol),
            ("\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}", "not a TLS record", .foreignProtocol),
        ] as [(String, String, StreamErrorReason)])
    func theAnswerOfAnotherProtocol(answer: String, said: String, reason: StreamErrorReason) throws {
        let (wire, peer) = TestWire.pair()
        let client = try TLSTransport(Self.authority.client, peerName: "www.example.org", port: 80, over: wire)
        #expect(try client.tryOpen() == .wouldBlock(.readable))
        _ = try peer.write(Array(answer.utf8))
        let error = #expect(throws: StreamError.self) { try client.tryOpen() }
        #expect(error?.tlsFailure == .protocolViolation)
        #expect(error?.description.contains("www.example.org port 80 does not speak TLS") == true)
        #expect(error?.description.contains(said) == true)
        #expect(error?.reason == reason)
    }

    @Test func aRequestToATLSServer() throws {
        let (wire, peer) = TestWire.pair()
        let server = try TLSTransport(Self.authority.server, peerName: nil, over: wire)
        _ = try peer.write(Array("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".utf8))
        let error = #expect(throws: StreamError.self) { try server.tryOpen() }
        #expect(error?.description.contains("a plain HTTP request") == true)
    }

    @Test func thePeerDisconnectsAtOnce() throws {
        let (wire, peer) = TestWire.pair()
        let client = try TLSTransport(Self.authority.client, peerName: "www.example.org", over: wire)
        #expect(try client.tryOpen() == .wouldBlock(.readable))
        peer.close()
        let error = #expect(throws: StreamError.self) { try client.tryOpen() }
        #expect(error?.tlsFailure == .closedAbruptly)
        #expect(error?.description.contains("www.example.org") == true)
        // The failure is final.
        #expect(throws: StreamError(.closedAbruptly, .closedInHandshake(""))) { try client.tryOpen() }
    }

    @Test func randomBytesNeverDoMoreThanFail() throws {
        for seed in 0..<200 {
            let (wire, peer) = TestWire.pair()
            let client = try TLSTransport(Self.authority.client, peerName: "www.example.org", over: wire)
            _ = try client.tryOpen()
            var noise = pattern(400, seed: seed &* 7919)
            // Half of them begin like a handshake record, to pass the first check.
            if seed.isMultiple(of: 2) { noise.replaceSubrange(0..<6, with: [22, 3, 3, 0, 200, 2]) }
            _ = try peer.write(noise)
            peer.close()
            #expect(throws: StreamError.self) { while try client.tryOpen() != .opened {} }
        }
    }

    // MARK: Faults of the wire at every byte

    @Test(arguments: TLSVersion.allCases)
    func theWireBreaksAtEveryByteRead(version: TLSVersion) throws {
        var cut = 0
        while true {
            let pair = try pair(client: { $0.maximumVersion = version })
            pair.clientWire.set { $0.readFailsAfter = cut }
            let errors = try pair.open()
            guard let error = errors.client else { break }
            #expect(error == TestWire.failure, "cut at \(cut)")
            cut += version == .tls13 ? 1 : 7
        }
        #expect(cut > 500)
    }

    @Test(arguments: TLSVersion.allCases)
    func theWireEndsAtEveryByteRead(version: TLSVersion) async throws {
        var cut = 0
        while true {
            await Task.yield()
            let pair = try pair(client: { $0.maximumVersion = version })
            pair.clientWire.set { $0.readEndsAfter = cut }
            let errors = try pair.open()
            guard let error = errors.client else { break }
            #expect(error.tlsFailure == .closedAbruptly, "cut at \(cut)")
            cut += version == .tls13 ? 1 : 7
        }
        #expect(cut > 500)
    }

    @Test(arguments: TLSVersion.allCases)
    func theWireBreaksAtEveryByteWritten(version: TLSVersion) async throws {
        var cut = 0
        while true {
            await Task.yield()
            let pair = try pair(client: { $0.maximumVersion = version })
            pair.clientWire.set { $0.writeFailsAfter = cut }
            let errors = try pair.open()
            guard let error = errors.client else { break }
            #expect(error == TestWire.failure, "cut at \(cut)")
            cut += version == .tls13 ? 1 : 7
        }
        #expect(cut > 200)
    }

    // MARK: Configurations that cannot work

    @Test func configurationsThatCannotWork() {
        func failure(_ name: String? = "www.example.org", _ change: (inout TLSConfiguration) -> Void) -> TLSFailure? {
            var configuration = TLSConfiguration()
            change(&configuration)
            let error = #expect(throws: StreamError.self) {
                _ = try TLSTransport(
                    configuration, peerName: name, over: TestWire.pair().0, contexts: TLSContextCache())
            }
            return error?.tlsFailure
        }
        #expect(failure { $0.role = .server } == .badConfiguration)
        #expect(failure(nil) { _ in } == .badConfiguration)
        #expect(failure("not a name") { _ in } == .badConfiguration)
        #expect(failure("127.1") { _ in } == .badConfiguration)
        #expect(failure { ($0.minimumVersion, $0.maximumVersion) = (.tls13, .tls12) } == .badConfiguration)
        #expect(failure { $0.cipherList = "NONSENSE" } == .badConfiguration)
        #expect(failure { $0.cipherSuites = "NONSENSE" } == .badConfiguration)
        #expect(failure { $0.applicationProtocols = [""] } == .badConfiguration)
        #expect(
            failure { $0.trust = TLSTrust(includesSystemRoots: false, directories: ["/nowhere"]) } == .badConfiguration)
        var configuration = TLSConfiguration()
        configuration.trust = .only(file: "/nowhere.pem")
        #expect(throws: StreamError(posix: 2)) { try TLSContext(configuration) }
    }

    // MARK: Other results of a handshake

    @Test(arguments: TLSVersion.allCases)
    func channelBindingsAreTheSameOnBothSides(version: TLSVersion) throws {
        let pair = try pair(client: { $0.maximumVersion = version })
        #expect(try pair.open() == (nil, nil))
        for name in ["StreamKit.serverEndPointBinding", "StreamKit.exporterBinding"] {
            let client = pair.client.property(named: name) as? [UInt8]
            #expect(client?.count == 32)
            #expect(client == pair.server.property(named: name) as? [UInt8])
        }
        // ECDSA with SHA-256: the hash is that of the fingerprint.
        #expect(
            pair.client.property(named: "StreamKit.serverEndPointBinding") as? [UInt8]
                == Self.authority.certificate.sha256)
        let other = try self.pair()
        #expect(try other.open() == (nil, nil))
        #expect(
            pair.client.property(named: "StreamKit.exporterBinding") as? [UInt8]
                != other.client.property(named: "StreamKit.exporterBinding") as? [UInt8])
    }

    @Test func theKeyLogGetsEverySecret() throws {
        let lines = LineRecorder()
        let log = TLSKeyLog { lines.append($0) }
        let pair = try pair(client: { $0.keyLog = log })
        #expect(try pair.open() == (nil, nil))
        let labels = Set(lines.all.compactMap { $0.split(separator: " ").first.map(String.init) })
        #expect(
            labels.isSuperset(of: [
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0",
                "SERVER_TRAFFIC_SECRET_0",
            ]))
    }
}

/// Collects lines from a callback.
final class LineRecorder: Sendable {
    private let lines = Locked<[String]>([])

    func append(_ line: String) {
        lines.withLock { $0.append(line) }
    }

    var all: [String] { lines.withLock { $0 } }
}
