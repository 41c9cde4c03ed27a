import Testing

@testable import StreamKit

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
        let long = String(repeating: "x", count: 5000)
        #expect(reason { try TLSIdentity(pem: leaf.pem, key: key, password: long) }.contains("password"))
    }

    @Test func whatDoesNotFit() {
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
    }

    @Test func filesThatAreNotThere() {
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
