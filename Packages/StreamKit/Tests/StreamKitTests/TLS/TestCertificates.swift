internal import COpenSSL
internal import Glibc

@testable import StreamKit
@testable import StreamTLS

/// Makes certificates, with any fault that a test needs.
///
/// A certificate's OpenSSL objects stay until the process ends; a test makes only a few.
final class TestCertificate {
    let x509: OpaquePointer
    let key: OpaquePointer

    struct Options {
        var subject = "Test"
        var names: [String] = []
        var isAuthority = false
        var notBefore: Int64 = -3600
        var notAfter: Int64 = 3600
        var group = "P-256"
        var purpose: String?
        /// Identifies its issuer's certificate (RFC 5280 §4.2.1.1).
        var namesIssuersCertificate = false
    }

    /// - Parameter issuer: the issuer; nil for a self-signed certificate.
    init(_ options: Options, issuer: TestCertificate? = nil) {
        key = TestCertificate.makeKey(group: options.group)
        x509 = X509_new()
        X509_set_version(x509, 2)
        // Eight bytes: the first one is not 0.
        var serial = UInt64.random(in: 1 << 56...UInt64.max >> 1).bigEndian
        withUnsafeBytes(of: &serial) { bytes in
            let number = BN_bin2bn(bytes.baseAddress, CInt(bytes.count), nil)
            BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509))
            BN_free(number)
        }
        let now = Int64(time(nil))
        ASN1_TIME_set(X509_getm_notBefore(x509), time_t(now + options.notBefore))
        ASN1_TIME_set(X509_getm_notAfter(x509), time_t(now + options.notAfter))
        X509_set_pubkey(x509, key)
        let name = X509_get_subject_name(x509)
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, options.subject, -1, -1, 0)
        X509_set_issuer_name(x509, issuer.map { X509_get_subject_name($0.x509) } ?? name)
        var extensions: [(CInt, String)] = [
            (NID_basic_constraints, options.isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE")
        ]
        if !options.names.isEmpty { extensions.append((NID_subject_alt_name, options.names.joined(separator: ","))) }
        if let purpose = options.purpose { extensions.append((NID_ext_key_usage, purpose)) }
        if options.namesIssuersCertificate { extensions.append((NID_authority_key_identifier, "issuer:always")) }
        for (kind, text) in extensions {
            var context = X509V3_CTX()
            X509V3_set_ctx(&context, issuer?.x509 ?? x509, x509, nil, nil, 0)
            guard let made = X509V3_EXT_conf_nid(nil, &context, kind, text) else { preconditionFailure(text) }
            X509_add_ext(x509, made, -1)
            X509_EXTENSION_free(made)
        }
        let digest = options.group == "ED25519" ? nil : EVP_sha256()
        precondition(X509_sign(x509, issuer?.key ?? key, issuer == nil ? digest : EVP_sha256()) > 0)
    }

    deinit {
        X509_free(x509)
        EVP_PKEY_free(key)
    }

    private static func makeKey(group: String) -> OpaquePointer {
        OpenSSLSetup.perform()
        let kind = group == "ED25519" ? "ED25519" : "EC"
        let context = EVP_PKEY_CTX_new_from_name(nil, kind, nil)
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_keygen_init(context)
        if kind == "EC" { EVP_PKEY_CTX_set_group_name(context, group) }
        var key: OpaquePointer?
        precondition(EVP_PKEY_generate(context, &key) == 1)
        return key!
    }

    // MARK: Conversions for StreamKit

    var certificate: Certificate { Certificate(X509Handle(sharing: x509)) }

    var pem: [UInt8] {
        TestCertificate.text { PEM_write_bio_X509($0, x509) }
    }

    /// PKCS#8, encrypted if there is a password.
    func keyPEM(password: String? = nil) -> [UInt8] {
        TestCertificate.text { bio in
            guard let password else { return PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil) }
            return PEM_write_bio_PKCS8PrivateKey(
                bio, key, EVP_aes_256_cbc(), password, CInt(password.utf8.count), nil, nil)
        }
    }

    func identity(chain: [TestCertificate] = []) throws -> TLSIdentity {
        try TLSIdentity(pem: pem + chain.flatMap(\.pem), key: keyPEM())
    }

    /// - Parameters:
    ///   - iterations: of the derivation of keys; 0 for OpenSSL's default.
    ///   - codeIterations: of the code over the whole; 0 for OpenSSL's default, -1 for no code.
    func pkcs12(password: String, iterations: CInt = 0, codeIterations: CInt = 0) -> [UInt8] {
        let bundle = PKCS12_create(password, "test", key, x509, nil, 0, 0, iterations, codeIterations, 0)
        defer { PKCS12_free(bundle) }
        return X509Handle.encoded { i2d_PKCS12(bundle, $0) }
    }

    private static func text(_ write: (OpaquePointer?) -> CInt) -> [UInt8] {
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        precondition(write(bio) == 1)
        var start: UnsafeMutablePointer<CChar>?
        let count = netkit_BIO_get_mem_data(bio, &start)
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }
}

/// A root unknown elsewhere, and the certificates it issues.
struct TestAuthority {
    let root: TestCertificate

    init(_ name: String = "Test Root", notAfter: Int64 = 3600) {
        var options = TestCertificate.Options()
        options.subject = name
        options.isAuthority = true
        options.notAfter = notAfter
        root = TestCertificate(options)
    }

    /// A certificate for hosts, with the changes that a test needs.
    func issue(
        _ names: [String] = ["DNS:www.example.org", "DNS:*.example.com", "IP:192.0.2.7", "IP:2001:db8::7"],
        change: (inout TestCertificate.Options) -> Void = { _ in }
    ) -> TestCertificate {
        var options = TestCertificate.Options()
        options.subject = "Test Server"
        options.names = names
        change(&options)
        return TestCertificate(options, issuer: root)
    }

    /// A client that trusts only this root.
    var client: TLSConfiguration {
        var configuration = TLSConfiguration()
        configuration.trust = .only([root.certificate])
        return configuration
    }
}

/// An authority and a server made once, for all tests without special needs.
struct SharedAuthority: Sendable {
    let client: TLSConfiguration
    let server: TLSConfiguration
    let certificate: Certificate

    init() {
        let authority = TestAuthority()
        let issued = authority.issue()
        guard let identity = try? issued.identity() else { preconditionFailure("no identity") }
        client = authority.client
        server = TLSConfiguration(server: identity)
        certificate = issued.certificate
    }
}

/// An authority's statements about certificates that it issued.
extension TestAuthority {
    /// A list of revoked certificates, in PEM or DER.
    func revocationList(_ revoked: [TestCertificate], from: Int64 = -60, until: Int64 = 3600, isDER: Bool = false)
        -> [UInt8]
    {
        let list = X509_CRL_new()
        defer { X509_CRL_free(list) }
        let now = Int64(time(nil))
        X509_CRL_set_version(list, 1)
        X509_CRL_set_issuer_name(list, X509_get_subject_name(root.x509))
        for (offset, set) in [(from, X509_CRL_set1_lastUpdate), (until, X509_CRL_set1_nextUpdate)] {
            let date = ASN1_TIME_set(nil, time_t(now + offset))
            _ = set(list, date)
            ASN1_TIME_free(date)
        }
        for certificate in revoked {
            let entry = X509_REVOKED_new()
            X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate.x509))
            let date = ASN1_TIME_set(nil, time_t(now - 120))
            X509_REVOKED_set_revocationDate(entry, date)
            ASN1_TIME_free(date)
            X509_CRL_add0_revoked(list, entry)
        }
        X509_CRL_sort(list)
        precondition(X509_CRL_sign(list, root.key, EVP_sha256()) > 0)
        if isDER { return X509Handle.encoded { i2d_X509_CRL(list, $0) } }
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        PEM_write_bio_X509_CRL(bio, list)
        var start: UnsafeMutablePointer<CChar>?
        let count = netkit_BIO_get_mem_data(bio, &start)
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// An OCSP response about a certificate, signed by this authority.
    func status(
        of certificate: TestCertificate, _ status: CInt = V_OCSP_CERTSTATUS_GOOD, from: Int64 = -60,
        until: Int64 = 3600,
        digest: OpaquePointer? = EVP_sha1()
    ) -> [UInt8] {
        let basic = OCSP_BASICRESP_new()
        defer { OCSP_BASICRESP_free(basic) }
        let name = OCSP_cert_to_id(digest, certificate.x509, root.x509)
        defer { OCSP_CERTID_free(name) }
        let now = Int64(time(nil))
        let dates = [-120, from, until].map { ASN1_TIME_set(nil, time_t(now + $0)) }
        defer { for date in dates { ASN1_TIME_free(date) } }
        let isRevoked = status == V_OCSP_CERTSTATUS_REVOKED
        OCSP_basic_add1_status(basic, name, status, 0, isRevoked ? dates[0] : nil, dates[1], dates[2])
        precondition(OCSP_basic_sign(basic, root.x509, root.key, EVP_sha256(), nil, 0) == 1)
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
        defer { OCSP_RESPONSE_free(response) }
        return X509Handle.encoded { i2d_OCSP_RESPONSE(response, $0) }
    }
}
