@_spi(Keychain) import CredentialStores
import Security
import StreamKit
import StreamKitTesting
import Testing

@testable import CFNetworkEngine
@testable import SecurityEngine

/// Security in Swift, as sources for Apple's systems use it. The programs in C test its behaviour.
@Suite(.timeLimit(.minutes(5)))
struct SecurityTests {
    @Test func sourceAsOnApplesSystems() async {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory.appending(path: "security-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            setenv("XDG_DATA_HOME", folder.path, 1)
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent", 1)
            let item: [String: Any] = [
                kSecClass as String: kSecClassInternetPassword, kSecAttrServer as String: "example.org",
                kSecAttrProtocol as String: kSecAttrProtocolHTTPS, kSecAttrAccount as String: "joe",
                kSecAttrPort as String: 8443, kSecValueData as String: Data("open sesame".utf8),
            ]
            var status = SecItemAdd(item as CFDictionary, nil)
            precondition(status == errSecSuccess)
            var query: [String: Any] = [
                kSecClass as String: kSecClassInternetPassword, kSecAttrServer as String: "example.org",
                kSecMatchLimit as String: kSecMatchLimitOne, kSecReturnAttributes as String: true,
                kSecReturnData as String: true, kSecReturnRef as String: true,
            ]
            var result: CFTypeRef?
            status = SecItemCopyMatching(query as CFDictionary, &result)
            guard status == errSecSuccess, let found = result as? [String: Any] else { preconditionFailure() }
            precondition(found[kSecValueData as String] as? Data == Data("open sesame".utf8))
            precondition(found[kSecAttrAccount as String] as? String == "joe")
            precondition(found[kSecAttrPort as String] as? Int == 8443)
            precondition(
                found[kSecAttrModificationDate as String] as? Date ?? .distantPast > Date(timeIntervalSinceNow: -600))
            query = [kSecClass as String: kSecClassInternetPassword, kSecAttrServer as String: "example.org"]
            let change = [kSecValueData as String: Data("new".utf8)]
            precondition(SecItemUpdate(query as CFDictionary, change as CFDictionary) == errSecSuccess)
            var length: UInt32 = 0
            var bytes: UnsafeMutableRawPointer?
            var reference: SecKeychainItem?
            status = SecKeychainFindInternetPassword(
                nil, 11, "example.org", 0, nil, 0, nil, 0, nil, 8443, .HTTPS, .any, &length, &bytes, &reference)
            precondition(status == errSecSuccess && length == 3 && reference != nil)
            precondition(SecKeychainItemFreeContent(nil, bytes) == errSecSuccess)
            precondition(SecItemDelete(query as CFDictionary) == errSecSuccess)
            precondition(SecItemDelete(query as CFDictionary) == errSecItemNotFound)
            precondition(
                SecCopyErrorMessageString(errSecItemNotFound, nil) == "The keychain has no such item." as CFString)
        }
    }

    /// An item that another program has removed is left out, and no item after the last one is touched.
    @Test func itemsUpToALimit() throws {
        func numbers(of items: [Int], limit: Int) throws(Status) -> [Int] {
            var read: [Int] = []
            try withEach(items, limit: limit) { item throws(Status) in
                read.append(item)
                if item < 0 { throw .itemNotFound }
            }
            return read
        }
        #expect(try numbers(of: [-1, 2, 3, 4], limit: 1) == [-1, 2])
        #expect(try numbers(of: [1, -2, 3, 4], limit: 2) == [1, -2, 3])
        #expect(try numbers(of: [1, -2], limit: .max) == [1, -2])
        #expect(throws: Status.itemNotFound) { try numbers(of: [-1, -2], limit: 1) }
    }

    @Test func errorsOfALockedKeyRing() {
        #expect(Status(HTTPAuthError(.storeLocked, detail: HTTPAuthError.declined)).rawValue == errSecUserCanceled)
        #expect(Status(HTTPAuthError(.storeLocked)).rawValue == errSecInteractionNotAllowed)
    }

    @Test func certificatesInSwift() throws {
        let der = Data(try TestIdentity.make().certificates[0].der)
        let certificate = try #require(SecCertificateCreateWithData(nil, der as CFData))
        #expect(SecCertificateCopyData(certificate) as Data? == der)
        #expect(SecCertificateCopySubjectSummary(certificate) as String? == "NetKitTests")
        var name: CFString?
        #expect(SecCertificateCopyCommonName(certificate, &name) == errSecSuccess && name as String? == "NetKitTests")
        var trust: SecTrust?
        let policy = SecPolicyCreateSSL(true, "127.0.0.1" as CFString)
        #expect(SecTrustCreateWithCertificates(certificate, policy, &trust) == errSecSuccess)
        let found = try #require(trust)
        #expect(SecTrustSetAnchorCertificates(found, [certificate] as CFArray) == errSecSuccess)
        var error: CFError?
        #expect(SecTrustEvaluateWithError(found, &error) && error == nil)
        var result = SecTrustResultType.invalid
        #expect(SecTrustGetTrustResult(found, &result) == errSecSuccess && result == .unspecified)
        #expect(SecTrustCopyCertificateChain(found)?.count == 1)
        #expect(SecTrustSetVerifyDate(found, Date.distantPast as NSDate) == errSecSuccess)
        #expect(!SecTrustEvaluateWithError(found, &error))
        #expect(error.map { CFErrorGetCode($0) } == Int(errSecCertificateNotValidYet))
        var items: CFArray?
        let options = [kSecImportExportPassphrase as String: "x"]
        #expect(SecPKCS12Import(der as CFData, options as CFDictionary, &items) == errSecDecode)
    }

    /// The functions that write an object take nil where those in C take NULL.
    @Test func missingArgumentsInSwift() {
        #expect(SecItemAdd(nil, nil) == errSecParam && SecItemCopyMatching(nil, nil) == errSecParam)
        #expect(SecCertificateCopyCommonName(nil, nil) == errSecParam && SecPKCS12Import(nil, nil, nil) == errSecParam)
        var (name, items, error) = ("a" as NSString?, NSArray(object: 1) as NSArray?, CFError?.none)
        #expect(SecCertificateCopyCommonName(nil, &name) == errSecParam && name == "a")
        #expect(SecPKCS12Import(nil, nil, &items) == errSecParam && items?.count == 1)
        #expect(!SecTrustEvaluateWithError(nil, nil) && !SecTrustEvaluateWithError(nil, &error))
        #expect(error.map { CFErrorGetCode($0) } == Int(errSecParam))
    }

    /// A verdict for the present time does not outlive the certificates; one for a date of the program does.
    @Test func aVerdictExpiresWithTheCertificate() throws {
        let certificate = try TestIdentity.make().certificates[0]
        let object: Unmanaged<SecTrust>? = TrustContent.make([certificate], [.any])
        let trust = try #require(object).takeRetainedValue()
        let content: TrustContent = try content(trust, TrustContent.typeID)
        content.change { ($0.anchors, $0.isAnchoredOnly) = ([certificate], true) }
        func failure(at time: Int64) -> TLSFailure? {
            if case .failure(let error) = content.evaluate(at: time) { error.tlsFailure } else { nil }
        }
        let (first, last) = (certificate.notBefore, certificate.notAfter - 1)
        #expect(content.lastVerdict() == nil)
        #expect(failure(at: first) == nil && failure(at: last) == nil)
        #expect(content.lastVerdict(at: first) != nil && content.lastVerdict(at: last) != nil)
        #expect(content.lastVerdict(at: first - 1) == nil && content.lastVerdict(at: last + 1) == nil)
        #expect(failure(at: last + 1) == .certificateExpired)
        #expect(failure(at: first - 1) == .certificateNotYetValid)
        #expect(failure(at: first) == nil)
        // The date of the program counts, and each change of it.
        content.change { $0.time = last }
        #expect(content.lastVerdict(at: last) == nil && failure(at: last + 1) == nil)
        #expect(content.lastVerdict(at: last + 1) != nil)
        content.change { $0.time = last + 1 }
        #expect(failure(at: last) == .certificateExpired)
        content.change { $0.time = nil }
        #expect(failure(at: last) == nil)
    }

    /// A verdict for several policies ends with the first certificate of any chain to expire.
    @Test func aVerdictExpiresWithEachChain() throws {
        let (short, long) = (try Certificate.all(in: shortLived)[0], try TestIdentity.make().certificates[0])
        #expect(long.notBefore < short.notBefore && short.notAfter < long.notAfter)
        for chains in [[[short], [long]], [[long], [short]], [[long, short], [long]]] {
            let evaluation = TrustContent.Evaluation(chains: .success(chains), isOfPresentTime: true)
            #expect(evaluation.holds(at: short.notBefore) && evaluation.holds(at: short.notAfter - 1))
            #expect(!evaluation.holds(at: short.notBefore - 1) && !evaluation.holds(at: short.notAfter))
            let dated = TrustContent.Evaluation(chains: .success(chains), isOfPresentTime: false)
            #expect(dated.holds(at: short.notAfter))
        }
        // Each policy has its chain.
        var settings = TrustContent.Settings(policies: [.server(nil), .client(nil), .any])
        (settings.anchors, settings.isAnchoredOnly, settings.time) = ([short], true, short.notBefore)
        #expect(try TrustContent.chains(of: [short], settings) == [[short], [short], [short]])
    }

    /// Each protocol and type has a name of its own, under which other programs know it.
    @Test func codes() throws {
        for (codes, code, name) in [
            (KeychainCodes.protocols, SecProtocolType.HTTPS.rawValue, "https"), (.protocols, 0x6874_7078, "http-proxy"),
            (.authenticationTypes, SecAuthenticationType.httpDigest.rawValue, "digest"),
        ] {
            #expect(try codes.name(of: code) == name && codes.code(of: name) == code)
        }
        #expect(try KeychainCodes.protocols.name(of: UInt32(0)) == nil)
        #expect(throws: Status.self) { try KeychainCodes.protocols.name(of: UInt32(1)) }
        #expect(KeychainCodes.protocols.code(of: "gopher") == 0 && KeychainCodes.protocols.text(of: "gopher") == nil)
    }
}

/// A self-signed certificate that is valid for 30 days of 2026.
private let shortLived = Array(
    """
    -----BEGIN CERTIFICATE-----
    MIIBgjCCASegAwIBAgIUOvB/C+H6T6CR+3wo9E/NpCVLi94wCgYIKoZIzj0EAwIw
    FjEUMBIGA1UEAwwLTmV0S2l0VGVzdHMwHhcNMjYxMTI5MTE0NDMwWhcNMjYxMjI5
    MTE0NDMwWjAWMRQwEgYDVQQDDAtOZXRLaXRUZXN0czBZMBMGByqGSM49AgEGCCqG
    SM49AwEHA0IABLjxuhzqoD1vj6WhJi9V/6TnXbBZqh1D+qzLRkgDkfBrKOcJEu8w
    Z9oWSrhflHqo0PaV3ZzFsZqBPbnPwufrB52jUzBRMB0GA1UdDgQWBBQdvivAq7Jo
    xVNxHWdf+DdaXYApsDAfBgNVHSMEGDAWgBQdvivAq7JoxVNxHWdf+DdaXYApsDAP
    BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQDR6OC563MF/P9A7/Zh
    zDPdoBEbI2jDYEpoFYXc5/14MwIhAJwCAGVphuhwTqKtLTN9YCEkeh7uUKi0O2jN
    xrgLuD+f
    -----END CERTIFICATE-----
    """.utf8)
