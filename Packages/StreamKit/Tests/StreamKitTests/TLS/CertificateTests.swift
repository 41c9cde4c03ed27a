import HostResolver
import Testing

@testable import StreamKit
@testable import StreamTLS

@Suite struct CertificateTests {
    // Parity: SK-099
    @Test func everythingIsRead() throws {
        let authority = TestAuthority("Röt")
        let certificate = authority.issue([
            "DNS:www.example.org", "IP:192.0.2.7", "IP:2001:db8::7", "email:a@example.org", "URI:https://example.org/",
        ]).certificate
        #expect(certificate.subject == "CN=Test Server")
        #expect(certificate.issuer == "CN=Röt")
        #expect(certificate.description == "CN=Test Server")
        #expect(
            certificate.names == [
                .host("www.example.org"), .address(.v4(IPv4Address(192, 0, 2, 7))),
                .address(try #require(IPAddress("2001:db8::7"))), .mail("a@example.org"), .uri("https://example.org/"),
            ])
        #expect(certificate.notAfter - certificate.notBefore == 7200)
        #expect(certificate.sha256.count == 32)
        #expect(certificate.publicKeySHA256.count == 32)
        #expect(certificate.serialNumber.count == 8)
        #expect(!certificate.isSelfIssued)
        #expect(authority.root.certificate.isSelfIssued)
    }

    @Test func aNulInANameStaysVisible() {
        let certificate = TestAuthority().issue(["DNS:www.example.org\u{1}.evil.test"]).certificate
        #expect(certificate.names == [.host("www.example.org\\01.evil.test")])
    }

    @Test func encodedFormsRoundTrip() throws {
        let authority = TestAuthority()
        let issued = authority.issue()
        let certificate = issued.certificate
        #expect(try Certificate(der: certificate.der) == certificate)
        #expect(try Certificate.all(in: certificate.der) == [certificate])
        let text = Array("a comment\n".utf8) + issued.pem + authority.root.pem
        #expect(try Certificate.all(in: text) == [certificate, authority.root.certificate])
        #expect(Set([certificate, certificate, authority.root.certificate]).count == 2)
    }

    /// A block that is damaged costs no other one, before or after it, whatever the damage.
    @Test(arguments: ["not base64 at all!", "AAAA", "MIIBAA==", ""], [true, false])
    func aDamagedBlockIsSkipped(_ contents: String, hasEnd: Bool) throws {
        let authority = TestAuthority()
        let damaged = Array(
            "-----BEGIN CERTIFICATE-----\n\(contents)\n\(hasEnd ? "-----END CERTIFICATE-----\n" : "")".utf8)
        let (one, two) = (authority.root.pem, authority.issue().pem)
        let expected = try Certificate.all(in: one + two)
        #expect(expected.count == 2)
        for (text, numbers) in [
            (damaged + one + two, [1]), (one + damaged + two, [2]), (one + two + damaged, [3]),
            (damaged + one + damaged + damaged + two, [1, 3, 4]), (one + two, []),
        ] {
            #expect(try Certificate.all(in: text) == expected)
            #expect(Certificate.unreadableBlocks(in: text) == numbers)
        }
        #expect(
            throws: StreamError(
                .badConfiguration,
                .certificateUnreadable("the given bytes", reason: "each of its certificates is damaged"))
        ) { try Certificate.all(in: damaged) }
    }

    /// A byte order mark of an editor does not hide the first certificate.
    @Test func aByteOrderMarkIsSkipped() throws {
        let authority = TestAuthority()
        let text = authority.root.pem + authority.issue().pem
        #expect(try Certificate.all(in: [0xef, 0xbb, 0xbf] + text) == Certificate.all(in: text))
        #expect(Certificate.unreadableBlocks(in: [0xef, 0xbb, 0xbf] + text) == [])
    }

    /// What OpenSSL's own form says against a certificate would be lost, so it is reported instead of being skipped in silence.
    @Test func aCertificateInOpenSSLsFormIsReported() throws {
        let authority = TestAuthority()
        let pem = String(decoding: authority.root.pem, as: UTF8.self)
        let trusted = Array(pem.replacing(" CERTIFICATE-", with: " TRUSTED CERTIFICATE-").utf8)
        #expect(Certificate.unreadableBlocks(in: authority.issue().pem + trusted) == [2])
        #expect(throws: StreamError.self) { try Certificate.all(in: trusted) }
    }

    /// The key is behind the certificates, one of which is damaged.
    @Test func aDamagedBlockDoesNotHideTheKey() throws {
        let issued = TestAuthority().issue()
        let damaged = Array("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".utf8)
        let identity = try TLSIdentity(pem: damaged + issued.pem + issued.keyPEM())
        #expect(identity.certificates == [issued.certificate])
    }

    @Test func everyPrefixAndEveryTrailingByteIsRefused() {
        let der = TestAuthority().issue().certificate.der
        for count in 0..<der.count {
            #expect(throws: StreamError.self) { try Certificate(der: Array(der.prefix(count))) }
        }
        #expect(throws: StreamError.self) { try Certificate(der: der + [0]) }
    }

    @Test func changedBytesNeverDoMoreThanFail() {
        let der = TestAuthority().issue().certificate.der
        for index in der.indices {
            var changed = der
            changed[index] ^= 0x55
            if let certificate = try? Certificate(der: changed) { #expect(certificate.der == changed) }
        }
    }

    /// BER permits a length with leading zeros, and DER the shortest one only.
    @Test func anotherEncodingIsRefused() {
        let der = TestAuthority().issue().certificate.der
        #expect(der.starts(with: [0x30, 0x82]))
        #expect(throws: StreamError.self) { try Certificate(der: [0x30, 0x83, 0] + der[2...]) }
    }

    @Test func pinsReadAndWrite() throws {
        let pin = TLSPin(TestAuthority().root.certificate)
        #expect(try TLSPin(pin.description) == pin)
        #expect(try TLSPin(pin.description.replacing("sha256//", with: "sha256/")) == pin)
        for text in ["", "sha256//", "sha1//AAAA", "sha256//" + String(repeating: "A", count: 44), "sha256//AAAA="] {
            #expect(throws: StreamError(.badConfiguration, .pinUnreadable(text))) { try TLSPin(text) }
        }
        // The base64 of this hash begins with a slash.
        let slash = "/" + String(repeating: "A", count: 42) + "="
        #expect(try TLSPin("sha256//" + slash).sha256.first == 0xFC)
        #expect(try TLSPin("sha256/" + slash).sha256.first == 0xFC)
    }

    @Test(arguments: [(0, "1970-01-01 00:00:00 UTC"), (1_795_250_362, "2026-11-21 08:39:22 UTC")])
    func dates(seconds: Int64, text: String) {
        #expect(X509Text.date(seconds) == text)
    }
}

@Suite struct TLSIdentityTests {
    private let authority = TestAuthority()

    private func reason(_ body: () throws -> TLSIdentity) -> String {
        let error = #expect(throws: StreamError.self) { _ = try body() }
        #expect(error?.tlsFailure == .badConfiguration)
        return error?.description ?? ""
    }

    @Test func certificatesInAnyOrderAndTheKeyBeside() throws {
        let leaf = authority.issue()
        let expected = [leaf.certificate, authority.root.certificate]
        #expect(try TLSIdentity(pem: leaf.pem + authority.root.pem, key: leaf.keyPEM()).certificates == expected)
        #expect(try TLSIdentity(pem: authority.root.pem + leaf.pem, key: leaf.keyPEM()).certificates == expected)
        let together = try TLSIdentity(pem: leaf.keyPEM() + leaf.pem + authority.root.pem)
        #expect(together.certificates == expected)
        #expect(try together == TLSIdentity(pem: authority.root.pem + leaf.pem, key: leaf.keyPEM()))
    }

    @Test func encryptedKeys() throws {
        let leaf = authority.issue()
        let key = leaf.keyPEM(password: "open sesame")
        #expect(try TLSIdentity(pem: leaf.pem, key: key, password: "open sesame").certificates == [leaf.certificate])
        #expect(reason { try TLSIdentity(pem: leaf.pem, key: key, password: "guess") }.contains("password is wrong"))
        #expect(reason { try TLSIdentity(pem: leaf.pem, key: key) }.contains("no password was given"))
        for (password, reason) in [(nil, StreamErrorReason.encryptedKey), ("guess", .wrongPassword)]
            as [(String?, StreamErrorReason?)]
        {
            let error = #expect(throws: StreamError.self) {
                try TLSIdentity(pem: leaf.pem, key: key, password: password)
            }
            #expect(error?.reason == reason)
        }
        let long = String(repeating: "x", count: 5000)
        #expect(reason { try TLSIdentity(pem: leaf.pem, key: key, password: long) }.contains("password"))
    }

    @Test func inputsThatAreInvalidTogether() {
        let leaf = authority.issue()
        let other = authority.issue()
        #expect(reason { try TLSIdentity(pem: leaf.pem, key: other.keyPEM()) }.contains("does not match any"))
        #expect(reason { try TLSIdentity(pem: leaf.pem) }.contains("no private key found"))
        #expect(reason { try TLSIdentity(pem: leaf.keyPEM()) }.contains("certificate"))
        #expect(reason { try TLSIdentity(pem: Array("nonsense".utf8)) }.contains("certificate"))
        #expect(reason { try TLSIdentity(pem: []) }.contains("certificate"))
        let broken = Array("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".utf8)
        #expect(reason { try TLSIdentity(pem: leaf.pem, key: broken) }.contains("cannot be read"))
    }

    @Test func bundles() throws {
        let leaf = authority.issue()
        let bundle = leaf.pkcs12(password: "secret")
        #expect(try TLSIdentity(pkcs12: bundle, password: "secret").certificates == [leaf.certificate])
        #expect(reason { try TLSIdentity(pkcs12: bundle, password: "guess") }.contains("password is wrong"))
        _ = reason { try TLSIdentity(pkcs12: Array(bundle.prefix(100)), password: "secret") }
        _ = reason { try TLSIdentity(pkcs12: [], password: "secret") }
        #expect(reason { try TLSIdentity(pkcs12: leaf.pkcs12(password: ""), password: "x") }.contains("wrong"))
        #expect(try TLSIdentity(pkcs12: leaf.pkcs12(password: ""), password: "").certificates == [leaf.certificate])
    }

    /// A bundle says itself how much work its password is, before anything checks the password.
    @Test func aBundleThatIsTooMuchWork() throws {
        let leaf = authority.issue()
        let bundle = leaf.pkcs12(password: "secret")
        let maximum: Int64 = 1_000_000
        let reader = try PKCS12Reader(bundle, password: "secret", maximumIterations: maximum)
        let spent = maximum - reader.remainingIterations
        #expect(spent > 4096, "the certificates and the key take 2,048 each, and the code at least one")
        _ = try PKCS12Reader(bundle, password: "secret", maximumIterations: spent)
        for limit in [0, 1, 2048, spent - 1] {
            #expect(throws: PKCS12Reader.Fault.tooMuchWork) {
                _ = try PKCS12Reader(bundle, password: "secret", maximumIterations: limit)
            }
        }
        #expect(throws: PKCS12Reader.Fault.passwordWrong) { _ = try PKCS12Reader(bundle, password: "guess") }
        // Without a code over the whole, the end of what is decrypted tells. One of 256 wrong passwords has a right end.
        let faults = (0..<8).map { number -> PKCS12Reader.Fault? in
            let bundle = leaf.pkcs12(password: "secret", iterations: 1, codeIterations: -1)
            do throws(PKCS12Reader.Fault) {
                _ = try PKCS12Reader(bundle, password: "guess \(number)")
                return nil
            } catch {
                return error
            }
        }
        #expect(faults.contains(.passwordWrong))
    }

    /// Each prefix of a bundle, and each octet changed, is an error or read, and never a trap. Without a code over the whole, the damage
    /// reaches the innermost part.
    @Test(arguments: [1, -1] as [CInt])
    func damagedBundles(codeIterations: CInt) throws {
        let bundle = authority.issue().pkcs12(password: "secret", iterations: 1, codeIterations: codeIterations)
        _ = try PKCS12Reader(bundle, password: "secret", maximumIterations: 10)
        for index in bundle.indices {
            _ = try? PKCS12Reader(Array(bundle.prefix(index)), password: "secret", maximumIterations: 10_000)
            var damaged = bundle
            damaged[index] ^= 0xFF
            _ = try? PKCS12Reader(damaged, password: "secret", maximumIterations: 10_000)
        }
    }

    @Test func anEncryptedKeyThatIsTooMuchWork() throws {
        let leaf = authority.issue()
        let key = leaf.keyPEM(password: "secret")
        #expect(PEMReader.iterations(ofEncrypted: key[...]) == 2048)
        #expect(PEMReader.iterations(ofEncrypted: Array(leaf.pem)[...]) == 0)
    }

    @Test func missingFiles() {
        #expect(throws: StreamError(posix: 2)) { try TLSIdentity(file: "/nowhere/at/all.pem") }
        #expect(throws: StreamError(posix: 21)) { try TLSIdentity(file: "/tmp") }
    }

    @Test func noKeyInTexts() throws {
        let identity = try authority.issue().identity()
        #expect("\(identity)" == "CN=Test Server")
        var configuration = TLSConfiguration()
        configuration.identity = identity
        var text = ""
        dump(configuration, to: &text)
        #expect(!text.contains("PrivateKey"))
    }
}
