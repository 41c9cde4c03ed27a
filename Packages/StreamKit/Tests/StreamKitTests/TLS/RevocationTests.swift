internal import COpenSSL
import Glibc
import Testing

@testable import StreamKit
@testable import StreamTLS

/// Revoked certificates: lists in files, and stapled OCSP responses.
@Suite struct RevocationTests {
    private let authority = TestAuthority()
    private let certificate: TestCertificate

    init() {
        certificate = authority.issue()
    }

    /// The client's error, if it rejects the server.
    private func failure(_ client: TLSConfiguration, _ server: TLSConfiguration) throws -> StreamError? {
        try TLSPair(client: client, server: server, name: "www.example.org").open().client
    }

    // MARK: Lists

    private func withList<Result>(_ bytes: [UInt8], _ body: (String) throws -> Result) throws -> Result {
        let path = "/tmp/netkit-crl-\(getpid())-\(UInt64.random(in: 0...(.max)))"
        let file = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        defer { unlink(path) }
        try #require(write(file, bytes, bytes.count) == bytes.count)
        close(file)
        return try body(path)
    }

    @Test("A list in PEM or DER: exactly the certificates on it are refused", arguments: [true, false], [true, false])
    func lists(_ isRevoked: Bool, _ isDER: Bool) throws {
        let bytes = authority.revocationList([isRevoked ? certificate : authority.issue()], isDER: isDER)
        try withList(bytes) { path in
            var client = authority.client
            client.trust.revocationLists = [path]
            let error = try failure(client, TLSConfiguration(server: certificate.identity()))
            #expect(error?.tlsFailure == (isRevoked ? .certificateRevoked : nil))
            if isRevoked { #expect(error?.description.contains("revoked by its issuer") == true) }
        }
    }

    @Test("A list that is out of date, by another authority, or forged proves nothing; every certificate is refused")
    func worthlessLists() throws {
        let forger = TestAuthority()  // of the same name
        for (bytes, words) in [
            (authority.revocationList([], from: -7200, until: -3600), "out of date"),
            (authority.revocationList([], from: 3600, until: 7200), "out of date"),
            (TestAuthority("Another Authority").revocationList([]), "no revocation list of"),
            (forger.revocationList([]), "not genuine"),
        ] {
            try withList(bytes) { path in
                var client = authority.client
                client.trust.revocationLists = [path]
                let error = try failure(client, TLSConfiguration(server: certificate.identity()))
                #expect(error?.tlsFailure == .invalidChain)
                #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
            }
        }
    }

    @Test func aFileWithoutAList() throws {
        try withList(Array("no list".utf8)) { path in
            var client = authority.client
            client.trust.revocationLists = [path]
            let error = #expect(throws: StreamError.self) { try TLSContext(client) }
            #expect(error?.tlsFailure == .badConfiguration && error?.description.contains(path) == true)
        }
        var client = authority.client
        client.trust.revocationLists = ["/nowhere/list.pem"]
        #expect(throws: StreamError.self) { try TLSContext(client) }
        #expect(client != authority.client, "another context and other sessions")
    }

    @Test("A server checks its clients against the lists, too")
    func clients() throws {
        let user = authority.issue([]) { $0.subject = "A User" }
        try withList(authority.revocationList([user])) { path in
            var server = TLSConfiguration(server: try certificate.identity())
            server.clientAuthentication = .required
            server.trust = TLSTrust(
                includesSystemRoots: false, roots: [authority.root.certificate], revocationLists: [path])
            var client = authority.client
            client.identity = try user.identity()
            let pair = try TLSPair(client: client, server: server, name: "www.example.org")
            #expect(try pair.open().server?.tlsFailure == .certificateRevoked)
        }
    }

    // MARK: Stapling

    private var answers: [(name: String, der: [UInt8]?, verdict: TLSFailure?)] {
        [
            ("none", nil, nil),
            ("good", authority.status(of: certificate), nil),
            ("good, by SHA-256", authority.status(of: certificate, digest: EVP_sha256()), nil),
            ("revoked", authority.status(of: certificate, V_OCSP_CERTSTATUS_REVOKED), .certificateRevoked),
            ("unknown", authority.status(of: certificate, V_OCSP_CERTSTATUS_UNKNOWN), .badCertificateStatus),
            ("old", authority.status(of: certificate, from: -7200, until: -3600), .badCertificateStatus),
            ("not valid yet", authority.status(of: certificate, from: 900, until: 3600), .badCertificateStatus),
            ("of a clock that is ahead", authority.status(of: certificate, from: 120, until: 3600), nil),
            ("just over", authority.status(of: certificate, from: -7200, until: -120), nil),
            ("over before it began", authority.status(of: certificate, from: 60, until: -60), .badCertificateStatus),
            ("of another", authority.status(of: authority.issue()), .badCertificateStatus),
            ("by another", TestAuthority().status(of: certificate), .badCertificateStatus),
            ("rubbish", [0x30, 0x03, 1, 2], .badCertificateStatus),
        ]
    }

    @Test("Every response, with every setting, in both versions", arguments: TLSVersion.allCases)
    func stapling(_ version: TLSVersion) throws {
        for answer in answers {
            for wish in [OCSPStapling.off, .checked, .required] {
                var server = TLSConfiguration(server: try certificate.identity())
                server.ocspResponse = answer.der
                server.maximumVersion = version
                var client = authority.client
                client.ocspStapling = wish
                let error = try failure(client, server)
                let expected: TLSFailure? =
                    switch wish {
                    case .off: nil
                    case .checked: answer.verdict
                    case .required: answer.der == nil ? .badCertificateStatus : answer.verdict
                    }
                #expect(error?.tlsFailure == expected, "\(answer.name), \(wish): \(error?.description ?? "")")
            }
        }
    }

    @Test("A response must be valid at the verification time")
    func atAnotherMoment() throws {
        var server = TLSConfiguration(server: try certificate.identity())
        server.ocspResponse = authority.status(of: certificate, from: -60, until: 600)
        var client = authority.client
        client.ocspStapling = .required
        for (offset, verdict) in [(-1800, TLSFailure.badCertificateStatus), (300, nil), (1800, .badCertificateStatus)] {
            client.verificationTime = Int64(time(nil)) + Int64(offset)
            #expect(try failure(client, server)?.tlsFailure == verdict, "\(offset)")
        }
    }

    @Test("A resumed session is not checked again", arguments: TLSVersion.allCases)
    func resumed(_ version: TLSVersion) throws {
        var server = TLSConfiguration(server: try certificate.identity())
        server.ocspResponse = authority.status(of: certificate)
        server.maximumVersion = version
        var client = authority.client
        client.ocspStapling = .required
        for _ in 0..<2 { #expect(try failure(client, server) == nil) }
    }
}
