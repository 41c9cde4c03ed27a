import Peers
import Testing

@Suite struct CertificateAuthorityTests {
    /// The verdict of `openssl verify` on each certificate, in OpenSSL's words.
    @Test(arguments: [
        (ServerCertificate.good, "OK"), (.intercepted, "unable to get local issuer certificate"),
        (.expired, "certificate has expired"),
        (.notYetValid, "certificate is not yet valid"),
        (.wrongHost, "hostname mismatch"),
        (.selfSigned, "self-signed certificate"),
        (.unknownRoot, "self-signed certificate in certificate chain"),
        (.missingIntermediate, "unable to get local issuer certificate"),
    ])
    func eachCertificateHasItsOneFault(certificate: ServerCertificate, verdict: String) async throws {
        let authority = try CertificateAuthority.shared()
        let chain = authority.server(certificate).chain
        let result = try await Command(
            "openssl", "verify", "-CAfile", authority.root, "-untrusted", chain, "-verify_hostname", "localhost", chain
        ).run()
        #expect((result.text + result.errors).contains(verdict), "\(result)")
        #expect((result.status == 0) == (certificate == .good))
    }

    @Test(arguments: ServerCertificate.allCases)
    func eachKeyBelongsToItsCertificate(certificate: ServerCertificate) async throws {
        let identity = try CertificateAuthority.shared().server(certificate)
        let fromKey = try await Command("openssl", "pkey", "-in", identity.key, "-pubout").run()
        let fromCertificate = try await Command("openssl", "x509", "-in", identity.chain, "-noout", "-pubkey").run()
        #expect(fromKey.text.contains("PUBLIC KEY"))
        #expect(fromKey.text == fromCertificate.text)
    }

    @Test func theClientKeyOpensWithThePassphraseOnly() async throws {
        let authority = try CertificateAuthority.shared()
        let plain = try await Command("openssl", "pkey", "-in", authority.client.key).run()
        for (passphrase, opens) in [(authority.passphrase, true), ("wrong", false)] {
            let key = try await Command(
                "openssl", "pkey", "-in", authority.encryptedClientKey, "-passin", "pass:\(passphrase)"
            ).run()
            #expect((key.status == 0) == opens)
            #expect((key.text == plain.text) == opens)
            let bundle = try await Command(
                "openssl", "pkcs12", "-in", authority.clientPKCS12, "-nodes", "-passin", "pass:\(passphrase)"
            ).run()
            #expect((bundle.status == 0) == opens)
        }
    }
}
