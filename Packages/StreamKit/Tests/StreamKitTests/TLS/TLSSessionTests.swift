internal import COpenSSL
internal import EventLoops
import Foundation
import Testing

@testable import StreamKit
@_spi(Packages) @testable import StreamTLS

/// Resuming sessions: when, with which peers, how often.
@Suite struct TLSSessionTests {
    static let authority = SharedAuthority()

    /// Connects once, and reads so that tickets arrive. Returns the client's result.
    private func connect(
        _ client: TLSConfiguration, _ contexts: TLSContextCache, name: String = "www.example.org", port: UInt16? = 443,
        reads: Bool = true
    ) throws -> TLSInformation {
        let pair = try TLSPair(
            client: client, server: Self.authority.server, name: name, port: port, contexts: contexts)
        let errors = try pair.open()
        if let error = errors.client ?? errors.server { throw error }
        var buffer = [UInt8](repeating: 0, count: 10)
        if reads { _ = try pair.client.read(&buffer) }
        pair.client.close()
        return try #require(pair.client.information)
    }

    @Test(arguments: TLSVersion.allCases)
    func theSecondConnectionIsResumed(version: TLSVersion) throws {
        let contexts = TLSContextCache()
        var client = Self.authority.client
        client.maximumVersion = version
        #expect(try connect(client, contexts).isResumed == false)
        let second = try connect(client, contexts)
        #expect(second.isResumed)
        #expect(second.version == version)
        #expect(second.isVerified)
        #expect(second.peerCertificates == [Self.authority.certificate])
        #expect(try connect(client, contexts).isResumed)
    }

    @Test func aTicketIsUsedOnce() throws {
        let contexts = TLSContextCache()
        let client = Self.authority.client
        _ = try connect(client, contexts)
        let context = try contexts.context(for: client)
        #expect(context.sessionCount == 2)
        // Without reading, no new tickets arrive.
        #expect(try connect(client, contexts, reads: false).isResumed)
        #expect(context.sessionCount == 1)
        #expect(try connect(client, contexts, reads: false).isResumed)
        #expect(context.sessionCount == 0)
        #expect(try connect(client, contexts, reads: false).isResumed == false)
    }

    @Test func sessionsStayWithTheirPeer() throws {
        let contexts = TLSContextCache()
        let client = Self.authority.client
        _ = try connect(client, contexts)
        #expect(try connect(client, contexts, name: "a.example.com").isResumed == false)
        #expect(try connect(client, contexts, port: 444).isResumed == false)
        #expect(try connect(client, contexts, port: nil).isResumed == false)
        var other = client
        other.serverNameIndication = .name("other.test")
        #expect(try connect(other, contexts).isResumed == false)
        #expect(try connect(client, contexts).isResumed)
    }

    @Test func aGroupSharesSessionsAcrossPorts() throws {
        let contexts = TLSContextCache()
        var client = Self.authority.client
        client.sessionGroup = "transfer 1"
        _ = try connect(client, contexts, port: 21)
        #expect(try connect(client, contexts, port: 50_000).isResumed)
        client.sessionGroup = "transfer 2"
        #expect(try connect(client, contexts, port: 21).isResumed == false)
    }

    /// A server chooses the size of its tickets, and a client sends them back.
    @Test(arguments: [(100, 2), (20_000, 0)])
    func aTicketThatIsTooLargeIsNotKept(_ size: Int, _ count: Int) throws {
        let contexts = TLSContextCache()
        let client = Self.authority.client
        let pair = try TLSPair(
            client: client, server: Self.authority.server, name: "www.example.org", port: 443, contexts: contexts)
        let server = try contexts.context(for: Self.authority.server)
        let argument = UnsafeMutableRawPointer(bitPattern: size)
        SSL_CTX_set_session_ticket_cb(
            server.pointer,
            { ssl, argument in
                let bytes = [UInt8](repeating: 7, count: Int(bitPattern: argument))
                return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), bytes, bytes.count)
            }, { _, _, _, _, _, _ in SSL_TICKET_RETURN_USE }, argument)
        let errors = try pair.open()
        #expect(errors.client == nil && errors.server == nil)
        var buffer = [UInt8](repeating: 0, count: 10)
        _ = try pair.client.read(&buffer)
        #expect(try contexts.context(for: client).sessionCount == count)
    }

    /// A client chooses the size of its certificate, which the session of a server contains.
    @Test(arguments: [(1, 1), (800, 0)])
    func aServerKeepsNoSessionWithALargeClientCertificate(_ names: Int, _ count: Int) throws {
        let authority = TestAuthority()
        var client = authority.client
        client.identity = try authority.issue((0..<names).map { "DNS:host-\($0).example.org" }).identity()
        // A session without a ticket is what a server stores.
        client.maximumVersion = .tls12
        var server = TLSConfiguration(server: try authority.issue().identity())
        server.clientAuthentication = .requested
        server.trust = authority.client.trust
        let contexts = TLSContextCache()
        SSL_CTX_set_options(try contexts.context(for: client).pointer, netkit_SSL_OP_NO_TICKET)
        let pair = try TLSPair(client: client, server: server, contexts: contexts)
        let errors = try pair.open()
        #expect(errors.client == nil && errors.server == nil)
        let context = try contexts.context(for: server).pointer
        #expect(SSL_CTX_ctrl(context, SSL_CTRL_SESS_NUMBER, 0, nil) == count)
    }

    @Test func resumptionCanBeOff() throws {
        let contexts = TLSContextCache()
        var client = Self.authority.client
        client.resumesSessions = false
        _ = try connect(client, contexts)
        #expect(try connect(client, contexts).isResumed == false)
        #expect(try contexts.context(for: client).sessionCount == 0)
    }

    /// Every difference in trust or identity makes another context, hence other sessions.
    @Test("CVE-2021-22890, CVE-2022-27782, CVE-2026-8932, CVE-2026-4873: any difference in TLS makes other sessions")
    func anyDifferenceMakesOtherSessions() throws {
        let authority = TestAuthority()
        let identity = try authority.issue().identity()
        let changes: [(String, (inout TLSConfiguration) -> Void)] = [
            ("minimum", { $0.minimumVersion = .tls13 }),
            ("maximum", { $0.maximumVersion = .tls12 }),
            ("system roots", { $0.trust.includesSystemRoots = true }),
            ("roots", { $0.trust.roots.append(authority.root.certificate) }),
            ("no name check", { $0.verification = .insecureNoNameCheck }),
            ("no check", { $0.verification = .insecureNone }),
            ("time", { $0.verificationTime = 1 << 32 }),
            ("expired", { $0.insecureAllowsExpiredCertificates = true }),
            ("expired roots", { $0.insecureAllowsExpiredRoots = true }),
            ("any root", { $0.insecureAllowsAnyRoot = true }),
            ("pins", { $0.pins = [TLSPin(Self.authority.certificate)] }),
            ("rule", { $0.verifier = TLSVerifier { _, _ in true } }),
            ("identity", { $0.identity = identity }),
            ("ALPN", { $0.applicationProtocols = ["http/1.1"] }),
            ("ciphers", { $0.cipherList = "ECDHE+AESGCM" }),
            ("suites", { $0.cipherSuites = "TLS_AES_256_GCM_SHA384" }),
            ("client authentication", { $0.clientAuthentication = .required }),
            ("resumption", { $0.resumesSessions = false }),
            ("stapling", { $0.ocspStapling = .checked }),
            ("staple", { $0.ocspResponse = [1] }),
            ("key log", { $0.keyLog = TLSKeyLog { _ in } }),
        ]
        let contexts = TLSContextCache()
        let plain = Self.authority.client
        let context = try contexts.context(for: plain)
        for (what, change) in changes {
            var changed = plain
            change(&changed)
            #expect(changed != plain, "\(what)")
            let other = try contexts.context(for: changed)
            #expect(other !== context, "\(what)")
            #expect(try contexts.context(for: changed) === other, "\(what)")
        }
        #expect(try contexts.context(for: plain) === context)

        // Fails if a new setting is missing here: each stored property was changed above, or is a setting of single
        // connections: names, which are part of the key of its sessions, and the options for its end.
        var untouched = Set(Mirror(reflecting: plain).children.compactMap(\.label))
        untouched.subtract([
            "role", "peerName", "serverNameIndication", "sessionGroup", "allowsTruncation", "returnsToPlain",
        ])
        for (_, change) in changes {
            var changed = plain
            change(&changed)
            let pairs = zip(Mirror(reflecting: plain).children, Mirror(reflecting: changed).children)
            for (old, new) in pairs where String(reflecting: old.value) != String(reflecting: new.value) {
                untouched.remove(old.label ?? "")
            }
        }
        #expect(untouched.isEmpty)
    }

    @Test func namesAndGroupsShareTheContext() throws {
        let contexts = TLSContextCache()
        let plain = Self.authority.client
        var named = plain
        named.peerName = "other.test"
        named.serverNameIndication = .off
        named.sessionGroup = "group"
        named.allowsTruncation = true
        #expect(try contexts.context(for: plain) === contexts.context(for: named))
    }

    @Test func alternatingConfigurationsKeepTheirContexts() throws {
        let contexts = TLSContextCache()
        let plain = Self.authority.client
        var named = plain
        named.peerName = "other.test"
        named.sessionGroup = "group"
        var strict = plain
        strict.minimumVersion = .tls13
        let context = try contexts.context(for: plain)
        let other = try contexts.context(for: strict)
        #expect(other !== context)
        for _ in 0..<3 {
            #expect(try contexts.context(for: named) === context)
            #expect(try contexts.context(for: strict) === other)
            #expect(try contexts.context(for: plain) === context)
        }
    }

    @Test func aFileThatHasChangedMakesAnotherContext() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-\(UUID()).pem").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let authority = TestAuthority()
        try Data(authority.root.certificate.der).write(to: URL(fileURLWithPath: path))
        let contexts = TLSContextCache()
        var client = authority.client
        client.trust = .only(file: path)
        let context = try contexts.context(for: client)
        #expect(try contexts.context(for: client) === context)
        try Data(TestAuthority().root.certificate.der).write(to: URL(fileURLWithPath: path), options: .atomic)
        let changed = try contexts.context(for: client)
        #expect(changed !== context)
        #expect(try contexts.context(for: client) === changed)
    }

    @Test func filesAreExaminedOncePerSecondAndNeverByEventLoops() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("netkit-\(UUID()).pem").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let authority = TestAuthority()
        try Data(authority.root.pem).write(to: URL(fileURLWithPath: path))
        let contexts = TLSContextCache()
        let events = Locked<[TLSContextCache.Event]>([])
        contexts.observers.withLock { $0.append { event, _ in events.withLock { $0.append(event) } } }
        var client = authority.client
        client.trust = .only(file: path)
        #expect(contexts.existing(for: client) == nil)
        let before = Moment.now
        let context = try contexts.context(for: client)
        let after = Moment.now
        var named = client
        named.peerName = "other.test"
        for configuration in [client, named, client] {
            #expect(contexts.existing(for: configuration, at: before + .milliseconds(999)) === context)
            #expect(contexts.existing(for: configuration, at: after + .seconds(1)) == nil)
        }
        #expect(events.withLock { $0 } == [.examines, .makes])
        contexts.expire()
        #expect(contexts.existing(for: client) == nil)
        #expect(try contexts.context(for: client) === context)
        #expect(contexts.existing(for: client) === context)
        #expect(events.withLock { $0 } == [.examines, .makes, .examines])

        // No file matters without verification, and to a server that requests no certificate.
        for var configuration in [client, try TLSConfiguration(server: authority.issue().identity())] {
            configuration.verification = .insecureNone
            configuration.trust = .system
            let context = try contexts.context(for: configuration)
            #expect(contexts.existing(for: configuration, at: .now + .seconds(3600)) === context)
        }
        #expect(events.withLock { $0 } == [.examines, .makes, .examines, .makes, .makes])
    }

    @Test func theContextOfTheSystemsRootsIsReused() throws {
        let stamps = SystemRoots.stamps()
        #expect(SystemRoots.stamps() == stamps)
        let contexts = TLSContextCache()
        let context = try contexts.context(for: TLSConfiguration())
        #expect(try contexts.context(for: TLSConfiguration()) === context)
    }

    @Test func theCacheIsBounded() throws {
        let contexts = TLSContextCache(capacity: 2)
        func configuration(_ name: String) -> TLSConfiguration {
            var configuration = Self.authority.client
            configuration.applicationProtocols = [name]
            return configuration
        }
        let first = try contexts.context(for: configuration("1"))
        _ = try contexts.context(for: configuration("2"))
        #expect(try contexts.context(for: configuration("1")) === first)
        _ = try contexts.context(for: configuration("3"))
        #expect(try contexts.context(for: configuration("1")) === first)
        _ = try contexts.context(for: configuration("4"))
        _ = try contexts.context(for: configuration("5"))
        #expect(try contexts.context(for: configuration("1")) !== first)
    }

    @Test func aFailedVerificationLeavesNoSession() throws {
        let contexts = TLSContextCache()
        let pair = try TLSPair(
            client: Self.authority.client, server: Self.authority.server, name: "wrong.test", contexts: contexts)
        #expect(try pair.open().client != nil)
        #expect(try contexts.context(for: Self.authority.client).sessionCount == 0)
    }

    @Test func relaxedSessionsAreNotResumed() throws {
        let authority = TestAuthority()
        let contexts = TLSContextCache()
        var client = authority.client
        client.insecureAllowsExpiredCertificates = true
        let pair = try TLSPair(
            client: client,
            server: TLSConfiguration(server: authority.issue { $0.notAfter = -60 }.identity()), contexts: contexts)
        #expect(try pair.open() == (nil, nil))
        var buffer = [UInt8](repeating: 0, count: 10)
        #expect(try pair.client.read(&buffer) == .wouldBlock(.readable))
        #expect(try contexts.context(for: client).sessionCount == 0)
    }
}

@Suite struct TLSSessionTableTests {
    private typealias Table = TLSSessionTable<Int>

    private func key(_ name: String) -> Table.Key {
        Table.Key(peerName: name, indicatedName: name, scope: .port(443, through: nil))
    }

    @Test func newestFirstAndOnce() {
        var table = Table()
        for session in 1...3 { table.insert(session, isSingleUse: true, lifetime: 100, for: key("a"), now: 0) }
        #expect((1...4).map { _ in table.take(for: key("a"), now: 1) } == [3, 2, 1, nil])
        #expect(table.count == 0)
    }

    @Test func aReusableSessionRemainsUntilItsRenewal() {
        var table = Table()
        table.insert(1, isSingleUse: false, lifetime: 100, for: key("a"), now: 0)
        #expect(table.take(for: key("a"), now: 1) == 1)
        #expect(table.take(for: key("a"), now: 1) == 1)
        table.insert(2, isSingleUse: false, lifetime: 100, for: key("a"), now: 1)
        #expect(table.take(for: key("a"), now: 1) == 2)
        #expect(table.count == 1)
    }

    @Test func agesAreBounded() {
        var table = Table()
        table.insert(1, isSingleUse: true, lifetime: 100, for: key("a"), now: 0)
        table.insert(2, isSingleUse: true, lifetime: 50, for: key("a"), now: 0)
        #expect(table.take(for: key("a"), now: 50) == 1)
        table.insert(3, isSingleUse: true, lifetime: .max >> 1, for: key("a"), now: 0)
        #expect(table.take(for: key("a"), now: Table.oldest) == nil)
        table.insert(4, isSingleUse: true, lifetime: 0, for: key("a"), now: 0)
        #expect(table.take(for: key("a"), now: Table.oldest - 1) == 4)
    }

    @Test func numbersAreBounded() {
        var table = Table()
        for session in 1...10 { table.insert(session, isSingleUse: true, lifetime: 100, for: key("a"), now: 0) }
        #expect(table.count == Table.maximumPerPeer)
        for peer in 0..<Table.maximumPeers * 2 {
            _ = table.take(for: key("a"), now: 0)
            table.insert(peer, isSingleUse: true, lifetime: 100, for: key("\(peer)"), now: 0)
            table.insert(peer, isSingleUse: true, lifetime: 100, for: key("a"), now: 0)
        }
        #expect(table.count <= Table.maximumPeers * Table.maximumPerPeer)
        // The session in use is kept, the oldest idle one is not.
        #expect(table.take(for: key("a"), now: 0) != nil)
        #expect(table.take(for: key("0"), now: 0) == nil)
    }

    @Test func removing() {
        var table = Table()
        table.insert(1, isSingleUse: true, lifetime: 100, for: key("a"), now: 0)
        table.remove(key("a"))
        #expect(table.take(for: key("a"), now: 0) == nil)
    }
}
