internal import COpenSSL
internal import Glibc

@testable import StreamKit

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
