internal import COpenSSL
internal import Glibc

/// An OCSP response about one certificate, as stapled by a server.
struct OCSPResponse {
    enum Verdict: Equatable {
        case good
        case revoked
        /// Why the response proves nothing.
        case unusable(String)
    }

    /// The accepted error of a clock, in seconds.
    static let tolerance: Int64 = 300

    let der: [UInt8]

    /// Evaluates the response.
    ///
    /// - Parameters:
    ///   - certificate: the certificate in question, and `issuer`, the certificate of its issuer.
    ///   - chain: certificates among which the signer of the response may be found.
    ///   - store: the trusted certificates.
    ///   - time: the time at which the response must be valid, in seconds since 1970.
    func verdict(
        about certificate: OpaquePointer, issuer: OpaquePointer, chain: OpaquePointer?, store: OpaquePointer?,
        at time: Int64
    ) -> Verdict {
        defer { ERR_clear_error() }
        let parsed = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var position = bytes.baseAddress
            return d2i_OCSP_RESPONSE(nil, &position, bytes.count)
        }
        guard let parsed else { return .unusable("it is malformed") }
        defer { OCSP_RESPONSE_free(parsed) }
        guard OCSP_response_status(parsed) == OCSP_RESPONSE_STATUS_SUCCESSFUL,
            let basic = OCSP_response_get1_basic(parsed)
        else { return .unusable("the authority reports an error") }
        defer { OCSP_BASICRESP_free(basic) }
        guard OCSP_basic_verify(basic, chain, store, 0) > 0 else {
            return .unusable("it is not signed by an authorized responder: \(OpenSSLErrors.take().text)")
        }
        // The response identifies the certificate by hashes, and the authority chooses the hash function.
        for digest in [EVP_sha1(), EVP_sha256()] {
            guard let name = OCSP_cert_to_id(digest, certificate, issuer) else { continue }
            defer { OCSP_CERTID_free(name) }
            var status: CInt = 0
            var from: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            var until: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
            guard OCSP_resp_find_status(basic, name, &status, nil, nil, &from, &until) == 1 else { continue }
            guard OCSPResponse.isValid(from, until, at: time) else { return .unusable("it is out of date") }
            switch status {
            case V_OCSP_CERTSTATUS_GOOD: return .good
            case V_OCSP_CERTSTATUS_REVOKED: return .revoked
            default: return .unusable("the authority does not know the certificate")
            }
        }
        return .unusable("it is about another certificate")
    }

    /// Whether a time lies between two others or, without an end, after the first one (RFC 6960 §4.2.2.1).
    private static func isValid(
        _ from: UnsafePointer<ASN1_GENERALIZEDTIME>?, _ until: UnsafePointer<ASN1_GENERALIZEDTIME>?, at time: Int64
    ) -> Bool {
        var latest = time_t(time &+ tolerance)
        var earliest = time_t(time &- tolerance)
        // X509_cmp_time returns -1 for "not after", 1 for "after" and 0 for an invalid time.
        guard X509_cmp_time(from, &latest) == -1 else { return false }
        guard let until else { return true }
        return X509_cmp_time(until, &earliest) == 1 && ASN1_TIME_compare(from, until) <= 0
    }
}

/// Reads certificate revocation lists (RFC 5280 §5) into a store.
enum RevocationList {
    /// Adds all lists in PEM text, or one in DER. Returns how many were added. One that cannot be read is skipped: the certificates of its
    /// issuer are then refused.
    static func add(_ bytes: [UInt8], to store: OpaquePointer) -> Int {
        defer { ERR_clear_error() }
        let isDER = bytes.first == 0x30
        let blocks = isDER ? [bytes[...]] : PEMReader.blocks(in: bytes) { $0 == "X509 CRL" }
        return blocks.count { block in
            PEMReader.withMemory(block) { bio in
                guard let list = isDER ? d2i_X509_CRL_bio(bio, nil) : PEM_read_bio_X509_CRL(bio, nil, nil, nil) else {
                    return false
                }
                defer { X509_CRL_free(list) }
                return X509_STORE_add_crl(store, list) == 1
            }
        }
    }
}
