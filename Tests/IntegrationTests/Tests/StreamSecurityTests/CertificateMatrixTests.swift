import HostResolver
import Peers
import StreamKit
import Testing

/// Certificates with one fault each, presented by a real server: each is refused with its own message.
@Suite struct CertificateMatrixTests {
    /// Connects to a server with these certificates; nil if it is accepted.
    private func verdict(
        on identity: Identity, name: String = "localhost", root: String, isVerified: Bool = true,
        change: (inout TLSConfiguration) -> Void = { _ in }
    ) async throws -> StreamError? {
        // The server may present weak certificates; the client decides, with the system's policy.
        let server = OpenSSLServer(
            .statusPage, identity: identity, options: ["-cipher", "DEFAULT:@SECLEVEL=0", "-no_ticket"])
        try server.start()
        defer { server.stop() }
        var configuration = TLSConfiguration()
        configuration.trust = .only(file: root)
        change(&configuration)
        var properties = StreamProperties()
        properties[.tls] = configuration
        let address = SocketAddress.ip(.v4(.loopback), port: UInt16(server.port))
        let pair = StreamPair(addresses: [address], name: name, properties: properties)
        defer { pair.close() }
        do throws(StreamError) {
            try pair.open()
            try await pair.output.opened()
            #expect(pair[.tlsInformation]?.isVerified == isVerified)
            return nil
        } catch {
            return error
        }
    }

    static let faults: [(CertificateMatrix.Entry, name: String, TLSFailure, words: String)] = [
        (.clientPurpose, "localhost", .invalidChain, "extended key usage does not allow"),
        (.commonNameOnly, "localhost", .hostNameMismatch, "names no host at all"),
        (.commonNameBesideOthers, "localhost", .hostNameMismatch, "names other.example"),
        (.addressAsName, "127.0.0.1", .hostNameMismatch, "not for 127.0.0.1"),
        (.otherAddress, "127.0.0.1", .hostNameMismatch, "127.0.0.2"),
        (.nulInName, "localhost", .hostNameMismatch, "localhost\\00.evil.test"),
        (.wildcard, "peers.test", .hostNameMismatch, "*.peers.test"),
        (.wildcard, "a.b.peers.test", .hostNameMismatch, "*.peers.test"),
        (.partialWildcard, "ab.peers.test", .hostNameMismatch, "a*.peers.test"),
        (.wildWildcard, "localhost", .hostNameMismatch, "not for localhost"),
        (.wildWildcard, "www.peers.test", .hostNameMismatch, "not for www.peers.test"),
        (.weakKey, "localhost", .badCertificate, "localhost cannot be accepted: its key is too short"),
        (.weakIssuer, "localhost", .badCertificate, "CN=Issuer With A Short Key"),
        (.weakDigest, "localhost", .badCertificate, "hash function that can be forged"),
        (.issuedByServer, "localhost", .invalidChain, "CN=other cannot be accepted: it signed another certificate"),
        (.issuerMayNotSign, "localhost", .invalidChain, "CN=Issuer Without Signing"),
        (.issuedByVersion1, "localhost", .invalidChain, "CN=Version 1"),
        (.pathTooLong, "localhost", .invalidChain, "no further authorities below"),
        (.excludedName, "localhost", .invalidChain, "must not issue for a name in it"),
        (.notPermittedName, "localhost", .invalidChain, "may issue for other names only"),
        (.expiredIssuer, "localhost", .certificateExpired, "CN=expired-issuer-own expired on 2021-01-01"),
        (.unknownCritical, "localhost", .invalidChain, "critical extension"),
        (.brokenSignature, "localhost", .badCertificate, "signature is wrong"),
    ]

    @Test(arguments: faults)
    func eachFaultIsRefusedWithItsOwnMessage(
        _ fault: (CertificateMatrix.Entry, name: String, failure: TLSFailure, words: String)
    ) async throws {
        let matrix = try CertificateMatrix.shared()
        let error = try await verdict(on: matrix.identity(fault.0), name: fault.name, root: matrix.root)
        #expect(error?.tlsFailure == fault.failure, "\(error?.description ?? "accepted")")
        #expect(error?.description.contains(fault.words) == true, "\(error?.description ?? "accepted")")
    }

    /// Certificates that must be accepted, or users would disable verification.
    @Test(arguments: [
        (CertificateMatrix.Entry.fromRoot, "localhost"), (.anyPurpose, "localhost"), (.otherAddress, "localhost"),
        (.otherAddress, "127.0.0.2"), (.wildcard, "a.peers.test"), (.wildcard, "A.Peers.Test."),
    ])
    func unusualValidCertificatesAreAccepted(_ entry: CertificateMatrix.Entry, _ name: String) async throws {
        let matrix = try CertificateMatrix.shared()
        let error = try await verdict(on: matrix.identity(entry), name: name, root: matrix.root)
        #expect(error == nil)
    }

    @Test func anExpiredRootIsRefusedUnlessAllowed() async throws {
        let matrix = try CertificateMatrix.shared()
        let refused = try await verdict(on: matrix.ofExpiredRoot, root: matrix.expiredRoot)
        #expect(refused?.tlsFailure == .certificateExpired)
        #expect(refused?.description.contains("CN=expired-root expired on 2021-01-01") == true)
        let allowed = try await verdict(on: matrix.ofExpiredRoot, root: matrix.expiredRoot, isVerified: false) {
            $0.insecureAllowsExpiredRoots = true
        }
        #expect(allowed == nil)
        // The option for expired certificates does not allow expired roots, and vice versa.
        let mistaken = try await verdict(on: matrix.ofExpiredRoot, root: matrix.expiredRoot) {
            $0.insecureAllowsExpiredCertificates = true
        }
        #expect(mistaken?.tlsFailure == .certificateExpired)
        let leaf = try await verdict(on: matrix.identity(.expiredIssuer), root: matrix.root) {
            $0.insecureAllowsExpiredRoots = true
        }
        #expect(leaf?.tlsFailure == .certificateExpired)
    }

    /// Every row of the table above, verified by `openssl` as well: it must also refuse each certificate.
    @Test(arguments: faults)
    func opensslRefusesTheSameCertificates(
        _ fault: (CertificateMatrix.Entry, name: String, failure: TLSFailure, words: String)
    ) async throws {
        let matrix = try CertificateMatrix.shared()
        let chain = matrix.identity(fault.0).chain
        let kind = fault.name.last?.isNumber == true ? "-verify_ip" : "-verify_hostname"
        let result = try await Command(
            "openssl", "verify", "-purpose", "sslserver", "-auth_level", "2", kind, fault.name, "-CAfile", matrix.root,
            "-untrusted", chain, chain
        ).run()
        // Without names the command falls back to the subject, and accepts wildcards within labels, which RFC 9525 forbids.
        let isLaxer = [.commonNameOnly, .partialWildcard].contains(fault.0)
        #expect((result.status == 0) == isLaxer, "\(result.text)\(result.errors)")
    }
}
