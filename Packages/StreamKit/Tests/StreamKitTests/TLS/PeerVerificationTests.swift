internal import EventLoops
import Testing

@testable import StreamKit
@testable import StreamTLS

/// Which peers are accepted, and the errors of the others.
@Suite struct PeerVerificationTests {
    /// A server with a certificate from its own authority, and a client that trusts that authority.
    private func open(
        _ certificate: TestCertificate, chain: [TestCertificate] = [], client: TLSConfiguration,
        name: String? = "www.example.org"
    ) throws -> (client: StreamError?, server: StreamError?, information: TLSInformation?) {
        let pair = try TLSPair(
            client: client, server: TLSConfiguration(server: certificate.identity(chain: chain)), name: name)
        let errors = try pair.open()
        // Without a connection, the verdict is the same. A test's own verifier counts its calls.
        if client.verifier != nil { return (errors.client, errors.server, pair.client.information) }
        var alone = client
        alone.peerName = client.peerName ?? name
        if alone.verification == .full, alone.peerName == nil { alone.peerName = "" }
        let sent = try certificate.identity(chain: chain).certificates
        let verdict = Result { () throws(StreamError) in try alone.verifiedChain(of: sent) }
        switch verdict {
        case .success(let found): #expect(errors.client == nil && found.first == certificate.certificate)
        case .failure(let error):
            // The sentences of a certificate that is not valid now contain the time of each check.
            #expect(error.tlsFailure == errors.client?.tlsFailure && error.sentence.key == errors.client?.sentence.key)
        }
        return (errors.client, errors.server, pair.client.information)
    }

    /// Certificates of authorities that are used once do not push out the contexts of connections.
    @Test func aVerificationMakesNoContextOfConnections() throws {
        let authority = TestAuthority()
        let trust = authority.client.trust
        let makers = Locked<Set<ObjectIdentifier>>([])
        for cache in [TLSContextCache.shared, .verifications] {
            cache.observers.withLock { observers in
                observers.append { event, configuration in
                    guard event == .makes, configuration.trust == trust else { return }
                    makers.withLock { _ = $0.insert(ObjectIdentifier(cache)) }
                }
            }
        }
        var client = authority.client
        client.peerName = "www.example.org"
        for _ in 0..<2 { _ = try client.verifiedChain(of: authority.issue().identity().certificates) }
        #expect(makers.withLock { $0 } == [ObjectIdentifier(TLSContextCache.verifications)])
    }

    // MARK: Names

    @Test(arguments: [
        ("www.example.org", true),
        ("WWW.EXAMPLE.ORG.", true),
        ("a.example.com", true),
        ("192.0.2.7", true),
        ("2001:db8::7", true),
        ("2001:0DB8:0:0::0007", true),
        ("example.org", false),
        ("wwww.example.org", false),
        ("example.com", false),
        ("a.b.example.com", false),
        ("192.0.2.8", false),
        ("2001:db8::8", false),
        // Only the subject contains the name, and a subject names no host.
        ("subject.example.org", false),
    ])
    func namesAreChecked(name: String, isRight: Bool) throws {
        let authority = TestAuthority()
        let certificate = authority.issue { $0.subject = "subject.example.org" }
        let result = try open(certificate, client: authority.client, name: name)
        if isRight {
            #expect(result.client == nil)
            #expect(result.information?.isVerified == true)
            #expect(result.information?.peerName == (try TLSPeer(authority.client, streamName: name, port: nil)).name)
        } else {
            #expect(result.client?.tlsFailure == .hostNameMismatch)
            #expect(result.client?.description.contains("*.example.com") == true)
            #expect(result.server?.tlsFailure == .peerBadCertificate)
        }
    }

    /// A wildcard stands for one label, whatever characters that has. OpenSSL matches no label with an underscore.
    @Test(arguments: [
        ("DNS:*.example.com", "my_app.example.com", true),
        ("DNS:*.Example.COM", "MY_APP.example.com", true),
        ("DNS:*.example.com", "_.example.com", true),
        ("DNS:*.my_app.example.com", "a.my_app.example.com", true),
        ("DNS:*.example.com", "my-page-.example.com", true),
        ("DNS:my_app.example.com", "my_app.example.com", true),
        ("DNS:*.example.com", "my_app.b.example.com", false),
        ("DNS:*.example.com", "my_app.example.org", false),
        ("DNS:*.example.com", "my_app.example.com.example.org", false),
        ("DNS:*.com", "my_app.com", false),
        ("DNS:*.example.com.", "my_app.example.com", false),
        ("DNS:*_app.example.com", "my_app.example.com", false),
        ("DNS:my_*.example.com", "my_app.example.com", false),
        ("DNS:*.*.example.com", "my_app.b.example.com", false),
        ("DNS:*", "my_app", false),
    ])
    func aWildcardStandsForOneLabel(pattern: String, name: String, isRight: Bool) throws {
        let authority = TestAuthority()
        let result = try open(authority.issue([pattern]), client: authority.client, name: name)
        #expect(result.client?.tlsFailure == (isRight ? nil : .hostNameMismatch))
        if isRight { #expect(result.information?.isVerified == true && result.information?.allowedFailures == []) }
    }

    @Test(arguments: ["DNS:w*.example.org", "DNS:*", "DNS:*.org.", "DNS:www.*.org"])
    func partialWildcardsMatchNothing(pattern: String) throws {
        let authority = TestAuthority()
        let result = try open(authority.issue([pattern]), client: authority.client)
        #expect(result.client?.tlsFailure == .hostNameMismatch)
    }

    @Test func anAddressIsNeverMatchedByAName() throws {
        let authority = TestAuthority()
        let result = try open(authority.issue(["DNS:192.0.2.7"]), client: authority.client, name: "192.0.2.7")
        #expect(result.client?.tlsFailure == .hostNameMismatch)
    }

    @Test func aCertificateWithoutNames() throws {
        let authority = TestAuthority()
        let certificate = authority.issue([]) { $0.subject = "www.example.org" }
        let result = try open(certificate, client: authority.client)
        #expect(result.client?.tlsFailure == .hostNameMismatch)
        #expect(result.client?.description.contains("names no host at all") == true)
    }

    @Test func theConfigurationsNameTakesPrecedence() throws {
        let authority = TestAuthority()
        var client = authority.client
        client.peerName = "www.example.org"
        #expect(try open(authority.issue(), client: client, name: "10.0.0.1").client == nil)
        #expect(try open(authority.issue(), client: client, name: nil).client == nil)
        client.peerName = "other.test"
        #expect(try open(authority.issue(), client: client).client?.tlsFailure == .hostNameMismatch)
    }

    // MARK: Chains

    @Test func anUnknownRoot() throws {
        let result = try open(TestAuthority("Strange Root").issue(), client: TestAuthority("Own Root").client)
        #expect(result.client?.tlsFailure == .unknownRoot)
        #expect(result.client?.description.contains("CN=Strange Root") == true)
        #expect(result.server?.tlsFailure == .peerUnknownAuthority)
    }

    @Test func anotherRootOfTheSameName() throws {
        let result = try open(TestAuthority("Root").issue(), client: TestAuthority("Root").client)
        #expect(result.client?.tlsFailure != nil)
    }

    @Test func signedByItself() throws {
        var options = TestCertificate.Options()
        options.names = ["DNS:www.example.org"]
        let certificate = TestCertificate(options)
        let refused = try open(certificate, client: TestAuthority().client)
        #expect(refused.client?.tlsFailure == .noRoot)
        let fingerprint = X509Text.hexadecimal(certificate.certificate.sha256)
        #expect(refused.client?.description.contains(fingerprint) == true)
        // Trusted explicitly, it is accepted, but only for its names.
        var client = TLSConfiguration()
        client.trust = .only([certificate.certificate])
        #expect(try open(certificate, client: client).client == nil)
        #expect(try open(certificate, client: client, name: "other.test").client?.tlsFailure == .hostNameMismatch)
    }

    @Test func aTrustedIntermediateIsEnough() throws {
        let authority = TestAuthority()
        let intermediate = authority.issue([]) {
            $0.subject = "Intermediate"
            $0.isAuthority = true
        }
        var options = TestCertificate.Options()
        options.names = ["DNS:www.example.org"]
        let leaf = TestCertificate(options, issuer: intermediate)
        #expect(try open(leaf, chain: [intermediate], client: authority.client).client == nil)
        // If the intermediate is not sent, the issuer is unknown.
        let lonely = try open(leaf, client: authority.client)
        #expect(lonely.client?.tlsFailure == .unknownRoot)
        #expect(lonely.client?.description.contains("CN=Intermediate") == true)
        var client = TLSConfiguration()
        client.trust = .only([intermediate.certificate])
        #expect(try open(leaf, client: client).client == nil)
        let sent = try open(leaf, chain: [intermediate], client: authority.client)
        #expect(sent.information?.peerCertificates == [leaf.certificate, intermediate.certificate])
    }

    @Test func aCertificateThatMayNotSign() throws {
        let authority = TestAuthority()
        let noAuthority = authority.issue()
        var options = TestCertificate.Options()
        options.names = ["DNS:www.example.org"]
        let leaf = TestCertificate(options, issuer: noAuthority)
        #expect(try open(leaf, chain: [noAuthority], client: authority.client).client?.tlsFailure == .invalidChain)
    }

    @Test func aCertificateForSomethingElse() throws {
        let authority = TestAuthority()
        let result = try open(authority.issue { $0.purpose = "clientAuth" }, client: authority.client)
        #expect(result.client?.tlsFailure == .invalidChain)
        #expect(result.client?.description.contains("extended key usage") == true)
    }

    // MARK: Chains that OpenSSL accepts

    /// A certificate that the user names is trusted, root or not. One that claims to be a root must be one.
    @Test(arguments: ["", "Root"])
    func aFalseRootIsRefused(name: String) throws {
        var options = TestCertificate.Options()
        options.subject = name
        options.isAuthority = true
        options.namesIssuersCertificate = true
        // Issued under its own name, with another key.
        let stranger = TestAuthority(name.isEmpty ? "Stranger" : name)
        let posing = TestCertificate(options, issuer: stranger.root)
        options.names = ["DNS:www.example.org"]
        options.isAuthority = false
        options.namesIssuersCertificate = false
        options.subject = "Server"
        let leaf = TestCertificate(options, issuer: posing)
        var client = TLSConfiguration()
        client.trust = .only([posing.certificate])
        let refused = try open(leaf, client: client).client
        #expect(refused?.tlsFailure == .invalidChain)
        #expect(refused?.description.contains(name.isEmpty ? "without a name" : "claims to be a root") == true)
    }

    @Test(arguments: [
        ("ann@example.org", true), ("\"a@b\"@example.org", true), ("ann@evil.test@example.org", false),
        ("@example.org", false), ("ann", false), ("ann@", false),
        // U+0301 forms one character with the @ before it.
        ("ann@\u{301}evil.test@example.org", false), ("\"a@b\"\u{301}@evil.test@example.org", false),
    ])
    func mailAddressesMustBeValid(_ address: String, _ isRight: Bool) throws {
        let authority = TestAuthority()
        var server = TLSConfiguration(server: try authority.issue().identity())
        server.clientAuthentication = .required
        server.trust = authority.client.trust
        var client = authority.client
        client.identity = try authority.issue([address.contains("\"") ? "email:\(address)" : "email:" + address]) {
            $0.subject = "A User"
        }.identity()
        let errors = try TLSPair(client: client, server: server).open()
        #expect((errors.server == nil) == isRight)
        if !isRight { #expect(errors.server?.description.contains("mail address") == true) }
    }

    // MARK: Dates

    @Test func expiredAndNotYetValid() throws {
        let authority = TestAuthority()
        let expired = authority.issue { $0.notAfter = -60 }
        let result = try open(expired, client: authority.client)
        #expect(result.client?.tlsFailure == .certificateExpired)
        #expect(result.client?.description.contains(X509Text.date(expired.certificate.notAfter)) == true)
        #expect(result.server?.tlsFailure == .peerCertificateExpired)
        let early = try open(authority.issue { $0.notBefore = 60 }, client: authority.client)
        #expect(early.client?.tlsFailure == .certificateNotYetValid)
        #expect(early.client?.description.contains("clock") == true)
    }

    @Test func anotherTimeThanNow() throws {
        let authority = TestAuthority()
        let certificate = authority.issue()
        var client = authority.client
        client.verificationTime = certificate.certificate.notAfter - 1
        #expect(try open(certificate, client: client).client == nil)
        client.verificationTime = certificate.certificate.notAfter + 1
        let late = try open(certificate, client: client)
        #expect(late.client?.tlsFailure == .certificateExpired)
        // The message contains that time, not the clock's.
        #expect(late.client?.description.contains(X509Text.date(certificate.certificate.notAfter + 1)) == true)
        client.verificationTime = certificate.certificate.notBefore - 1
        #expect(try open(certificate, client: client).client?.tlsFailure == .certificateNotYetValid)
    }

    @Test func anExpiredRoot() throws {
        let authority = TestAuthority("Old Root", notAfter: -60)
        // Trusted explicitly, its dates still count.
        let result = try open(authority.issue(), chain: [authority.root], client: authority.client)
        #expect(result.client?.tlsFailure == .certificateExpired)
        #expect(result.client?.description.contains("CN=Old Root") == true)
    }

    // MARK: Relaxations

    @Test func eachRelaxationForgivesItsFaultOnly() throws {
        let authority = TestAuthority()
        let expired = authority.issue { $0.notAfter = -60 }
        let oldRoot = TestAuthority("Old Root", notAfter: -60)
        let stranger = TestAuthority("Strange Root").issue()
        func result(
            _ certificate: TestCertificate, _ client: TLSConfiguration, _ change: (inout TLSConfiguration) -> Void
        )
            throws -> (StreamError?, TLSInformation?)
        {
            var client = client
            change(&client)
            let result = try open(certificate, client: client)
            return (result.client, result.information)
        }
        let forgiven = try result(expired, authority.client) { $0.insecureAllowsExpiredCertificates = true }
        #expect(forgiven.0 == nil)
        #expect(forgiven.1?.allowedFailures == [.certificateExpired])
        #expect(forgiven.1?.isVerified == false)
        #expect(try result(expired, authority.client) { $0.insecureAllowsExpiredRoots = true }.0 != nil)
        #expect(try result(expired, authority.client) { $0.insecureAllowsAnyRoot = true }.0 != nil)

        #expect(try result(oldRoot.issue(), oldRoot.client) { $0.insecureAllowsExpiredRoots = true }.0 == nil)
        #expect(try result(oldRoot.issue(), oldRoot.client) { $0.insecureAllowsExpiredCertificates = true }.0 != nil)

        let anyRoot = try result(stranger, authority.client) { $0.insecureAllowsAnyRoot = true }
        #expect(anyRoot.0 == nil)
        #expect(anyRoot.1?.allowedFailures == [.unknownRoot])
        #expect(try result(stranger, authority.client) { $0.insecureAllowsExpiredCertificates = true }.0 != nil)
        // The name still counts.
        let wrongName = TestAuthority("Strange Root").issue(["DNS:other.test"])
        #expect(
            try result(wrongName, authority.client) { $0.insecureAllowsAnyRoot = true }.0?.tlsFailure
                == .hostNameMismatch)
    }

    @Test func verificationInThreeSteps() throws {
        let authority = TestAuthority()
        let wrongName = authority.issue(["DNS:other.test"])
        let stranger = TestAuthority("Strange Root").issue(["DNS:other.test"])
        var client = authority.client
        client.verification = .insecureNoNameCheck
        #expect(try open(wrongName, client: client).client == nil)
        #expect(try open(wrongName, client: client, name: nil).client == nil)
        #expect(try open(stranger, client: client).client?.tlsFailure == .unknownRoot)
        client.verification = .insecureNone
        let blind = try open(stranger, client: client)
        #expect(blind.client == nil)
        #expect(blind.information?.isVerified == false)
        #expect(blind.information?.peerCertificates.first == stranger.certificate)
    }

    // MARK: Pins and rules

    @Test func pins() throws {
        let authority = TestAuthority()
        let certificate = authority.issue()
        var client = authority.client
        client.pins = [TLSPin(certificate.certificate)]
        #expect(try open(certificate, client: client).client == nil)
        client.pins = [TLSPin(authority.root.certificate)]
        #expect(try open(certificate, client: client).client == nil)
        client.pins = [TLSPin(TestAuthority().root.certificate)]
        let refused = try open(certificate, client: client)
        #expect(refused.client?.tlsFailure == .invalidChain)
        #expect(refused.client?.description.contains(TLSPin(certificate.certificate).description) == true)
        #expect(refused.server != nil)
        // A pin is no substitute for the name.
        client.pins = [TLSPin(certificate.certificate)]
        #expect(try open(certificate, client: client, name: "other.test").client?.tlsFailure == .hostNameMismatch)
    }

    @Test func aPinAloneMustBeThePeersOwnKey() throws {
        let authority = TestAuthority()
        let certificate = authority.issue()
        var client = TLSConfiguration()
        client.verification = .insecureNone
        client.pins = [TLSPin(certificate.certificate)]
        #expect(try open(certificate, client: client).client == nil)
        // A peer can send another owner's certificate along.
        let attacker = TestAuthority().issue()
        #expect(try open(attacker, chain: [certificate], client: client).client?.tlsFailure == .invalidChain)
    }

    @Test func aVerifierOfYourOwn() throws {
        let authority = TestAuthority()
        let certificate = authority.issue()
        let names = LineRecorder()
        for verdict in [true, false] {
            var client = authority.client
            client.verifier = TLSVerifier { chain, name in
                names.append("\(chain.count) \(name ?? "-")")
                return verdict
            }
            let result = try open(certificate, client: client)
            #expect(result.client?.tlsFailure == (verdict ? nil : .invalidChain))
        }
        #expect(names.all == ["2 www.example.org", "2 www.example.org"])
    }

    // MARK: Clients

    @Test(arguments: TLSVersion.allCases, [TLSConfiguration.ClientAuthentication.requested, .required])
    func clientsWithAndWithoutAnIdentity(
        version: TLSVersion, authentication: TLSConfiguration.ClientAuthentication
    ) throws {
        let authority = TestAuthority()
        var server = TLSConfiguration(server: try authority.issue().identity())
        server.clientAuthentication = authentication
        server.trust = .only([authority.root.certificate])
        server.maximumVersion = version
        let user = authority.issue([]) { $0.subject = "A User" }
        var client = authority.client
        client.identity = try user.identity()
        let known = try TLSPair(client: client, server: server)
        #expect(try known.open() == (nil, nil))
        #expect(known.server.information?.peerCertificates == [user.certificate])
        #expect(known.server.information?.isVerified == true)

        client.identity = try TestAuthority("Strange Root").issue([]).identity()
        let stranger = try TLSPair(client: client, server: server)
        #expect(try outcome(stranger).server?.tlsFailure == .unknownRoot)
        #expect(try outcome(stranger).client?.tlsFailure == .peerUnknownAuthority)

        client.identity = nil
        let anonymous = try TLSPair(client: client, server: server)
        if authentication == .requested {
            #expect(try anonymous.open() == (nil, nil))
        } else {
            let outcomes = try outcome(anonymous)
            #expect(outcomes.server?.tlsFailure == .certificateRequired)
            #expect(outcomes.client?.tlsFailure == (version == .tls13 ? .certificateRequired : .peerHandshakeFailure))
            #expect(outcomes.client?.description.contains("client certificate") == true)
        }
    }

    /// In TLS 1.3, a client completes before the server has seen its certificate: the first read reports the refusal.
    private func outcome(_ pair: TLSPair) throws -> (client: StreamError?, server: StreamError?) {
        let errors = try pair.open()
        if errors.client != nil { return errors }
        var buffer = [UInt8](repeating: 0, count: 10)
        do throws(StreamError) {
            _ = try pair.client.read(&buffer)
            return errors
        } catch {
            return (error, errors.server)
        }
    }
}
