internal import COpenSSL

/// A fault of one certificate other than its dates, name and root: a table from OpenSSL's error codes to our messages.
enum CertificateFault: String {
    case purpose
    case shortKey
    case weakSignature
    case noAuthority
    case pathLength
    case excludedName
    case foreignName
    case unknownCritical
    case signature
    case chainLength

    /// Returns nil for an error that only OpenSSL's own text describes.
    init?(x509Error error: CInt) {
        switch error {
        case X509_V_ERR_INVALID_PURPOSE: self = .purpose
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL: self = .shortKey
        case X509_V_ERR_CA_MD_TOO_WEAK: self = .weakSignature
        case X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN: self = .noAuthority
        case X509_V_ERR_PATH_LENGTH_EXCEEDED: self = .pathLength
        case X509_V_ERR_EXCLUDED_VIOLATION: self = .excludedName
        case X509_V_ERR_PERMITTED_VIOLATION: self = .foreignName
        case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION: self = .unknownCritical
        case X509_V_ERR_CERT_SIGNATURE_FAILURE: self = .signature
        case X509_V_ERR_CERT_CHAIN_TOO_LONG: self = .chainLength
        default: return nil
        }
    }

    /// The code of the error: for a fault of the certificate itself, or of its chain.
    var failure: TLSFailure {
        switch self {
        case .shortKey, .weakSignature, .signature: .badCertificate
        case .purpose, .noAuthority, .pathLength, .excludedName, .foreignName, .unknownCritical, .chainLength:
            .invalidChain
        }
    }

    /// The end of a message about a certificate.
    var text: String {
        switch self {
        case .purpose: "its extended key usage does not allow this use (a server needs serverAuth, a client clientAuth)"
        case .shortKey: "its key is too short to be safe"
        case .weakSignature: "it is signed with a hash function that can be forged"
        case .noAuthority: "it signed another certificate, but is not an authority's"
        case .pathLength: "an authority above it allows no further authorities below (path length)"
        case .excludedName: "an authority above it must not issue for a name in it (excluded by name constraints)"
        case .foreignName: "an authority above it may issue for other names only (not permitted by name constraints)"
        case .unknownCritical: "it has an unknown critical extension"
        case .signature: "its signature is wrong: it was altered, or its issuer did not sign it"
        case .chainLength: "its chain of authorities is too long"
        }
    }
}
