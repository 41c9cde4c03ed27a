internal import COpenSSL
internal import Glibc

/// Verifies one peer's certificates: OpenSSL's verification with the relaxations, pins and verifier of a configuration.
final class PeerVerification {
    /// Why the peer was rejected.
    private(set) var failure: StreamError?
    /// The failures that the configuration's relaxations allowed.
    private(set) var allowedFailures: [TLSFailure] = []

    private let context: TLSContext
    private let peer: TLSPeer

    init(_ context: TLSContext, _ peer: TLSPeer) {
        self.context = context
        self.peer = peer
    }

    /// Verifies the chain that the peer sent. OpenSSL calls it once in each full handshake.
    func verify(_ store: OpaquePointer) -> Bool {
        let isChecked = context.configuration.verification != .insecureNone
        if isChecked, X509_verify_cert(store) != 1 {
            if failure == nil { failure = describe(store) }
            return false
        }
        guard !isChecked || matchesProfile(store), matchesPin(store, isChecked: isChecked),
            passesVerifier(store, isChecked: isChecked)
        else {
            X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
            return false
        }
        // A relaxation may leave an earlier error in the store, and the session would keep it.
        X509_STORE_CTX_set_error(store, X509_V_OK)
        return true
    }

    /// Removes the current error from the store if the configuration allows it, and notes the error otherwise. Returns whether to
    /// continue. OpenSSL calls it for each error that it finds.
    func allowError(in store: OpaquePointer) -> Bool {
        let error = X509_STORE_CTX_get_error(store)
        if error == X509_V_ERR_HOSTNAME_MISMATCH, matchesWildcard(store) {
            X509_STORE_CTX_set_error(store, X509_V_OK)
            return true
        }
        let found = describe(store)
        guard isAllowed(error, of: store) else {
            if failure == nil { failure = found }
            return false
        }
        if let kind = found.tlsFailure, !allowedFailures.contains(kind) { allowedFailures.append(kind) }
        X509_STORE_CTX_set_error(store, X509_V_OK)
        return true
    }

    /// Records a reason to reject the peer that is not its chain.
    func reject(_ error: StreamError) {
        if failure == nil { failure = error }
    }

    private func isAllowed(_ error: CInt, of store: OpaquePointer) -> Bool {
        switch error {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            let isRoot =
                X509_STORE_CTX_get_error_depth(store) > 0
                && X509_STORE_CTX_get_current_cert(store).map { Certificate(X509Handle(sharing: $0)).isSelfIssued }
                    == true
            return isRoot
                ? context.configuration.insecureAllowsExpiredRoots
                : context.configuration.insecureAllowsExpiredCertificates
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            return context.configuration.insecureAllowsAnyRoot
        default:
            return false
        }
    }

    /// The chain to judge: the verified one or, without verification, the one that was sent. Only the first certificate
    /// of the latter is proven to be the peer's own.
    private func chain(_ store: OpaquePointer, isChecked: Bool) -> [Certificate] {
        let verified = isChecked ? X509Handle.values(of: X509_STORE_CTX_get0_chain(store)) : []
        if !verified.isEmpty { return verified }
        return X509Handle.values(of: X509_STORE_CTX_get0_untrusted(store))
    }

    private func matchesProfile(_ store: OpaquePointer) -> Bool {
        let chain = chain(store, isChecked: true)
        let isAnchored = !context.configuration.insecureAllowsAnyRoot
        guard let violation = ChainProfile.violation(of: chain, isAnchored: isAnchored) else { return true }
        let isLeaf = violation.certificate == chain.first
        let subject = isLeaf || violation.certificate.subject.isEmpty ? peer.name : violation.certificate.description
        failure = StreamError(.invalidChain, .badCertificate(subject, reason: violation.reason))
        return false
    }

    private func matchesPin(_ store: OpaquePointer, isChecked: Bool) -> Bool {
        if context.configuration.pins.isEmpty { return true }
        let chain = chain(store, isChecked: isChecked)
        let candidates = isChecked ? chain[...] : chain.prefix(1)
        if candidates.contains(where: { context.configuration.pins.contains(TLSPin($0)) }) { return true }
        failure = StreamError(
            .invalidChain, .pinMissing(peer.name, found: chain.first.map { TLSPin($0).description } ?? "unknown"))
        return false
    }

    private func passesVerifier(_ store: OpaquePointer, isChecked: Bool) -> Bool {
        guard let verifier = context.configuration.verifier else { return true }
        if verifier.accepts(chain(store, isChecked: isChecked), name: peer.subject?.text) { return true }
        failure = StreamError(.invalidChain, .rejectedByVerifier(peer.name))
        return false
    }

    /// Whether a name of the certificate with a wildcard matches the peer's name. OpenSSL refuses to match labels with an underscore,
    /// which hosting services give to their users.
    private func matchesWildcard(_ store: OpaquePointer) -> Bool {
        guard case .host(let host)? = peer.subject, let pointer = X509_STORE_CTX_get_current_cert(store) else {
            return false
        }
        return CertificateName.all(of: pointer, type: GEN_DNS).contains {
            WildcardName($0.description)?.matches(host) == true
        }
    }

    // MARK: Messages

    private func describe(_ store: OpaquePointer) -> StreamError {
        let error = X509_STORE_CTX_get_error(store)
        let certificate = X509_STORE_CTX_get_current_cert(store).map { Certificate(X509Handle(sharing: $0)) }
        let isLeaf = X509_STORE_CTX_get_error_depth(store) == 0
        let subject = isLeaf ? peer.name : certificate?.description ?? peer.name
        let now = X509Text.date(context.configuration.verificationTime ?? Int64(time(nil)))
        switch error {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            let date = X509Text.date(certificate?.notAfter ?? 0)
            return StreamError(.certificateExpired, .certificateExpired(subject, on: date, now: now))
        case X509_V_ERR_CERT_NOT_YET_VALID:
            let date = X509Text.date(certificate?.notBefore ?? 0)
            return StreamError(.certificateNotYetValid, .certificateNotYetValid(subject, from: date, now: now))
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return StreamError(.hostNameMismatch, .nameMismatch(peer.name, names: certificate?.hostNames ?? ""))
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            let fingerprint = X509Text.hexadecimal(certificate?.sha256 ?? [])
            return StreamError(.noRoot, .selfSigned(peer.name, fingerprint: fingerprint))
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
            X509_V_ERR_CERT_UNTRUSTED:
            return StreamError(
                .unknownRoot,
                context.hasRoots
                    ? .unknownRoot(peer.name, issuer: certificate?.issuer ?? "an unknown authority")
                    : .noTrustedRoots(peer.name))
        case X509_V_ERR_CERT_REVOKED:
            return StreamError(.certificateRevoked, .certificateRevoked(subject))
        case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_NOT_YET_VALID,
            X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER, X509_V_ERR_CRL_SIGNATURE_FAILURE:
            return StreamError(
                .invalidChain,
                .revocationUnknown(
                    subject, issuer: certificate?.issuer ?? "an unknown authority",
                    isMissing: error == X509_V_ERR_UNABLE_TO_GET_CRL))
        default:
            if let fault = CertificateFault(x509Error: error) {
                return StreamError(fault.failure, .badCertificate(subject, fault))
            }
            let reason = X509_verify_cert_error_string(Int(error)).map { String(cString: $0) } ?? "error \(error)"
            return StreamError(TLSFailure(x509Error: error), .badCertificate(subject, reason: reason))
        }
    }
}

extension TLSFailure {
    /// The code of an error that has no code of its own: of one certificate, or of the chain.
    fileprivate init(x509Error error: CInt) {
        switch error {
        case X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY, X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD,
            X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD:
            self = .badCertificate
        default:
            self = .invalidChain
        }
    }
}

/// A host name of a certificate whose first label is `*`, which stands for exactly one label (RFC 9525 §6.3). The rules compare labels,
/// whatever characters these have.
struct WildcardName {
    /// The labels after the wildcard, with the dot in front of them.
    private let rest: Substring.UTF8View

    /// Nil if the name has no such wildcard, or if the wildcard would stand for a whole top-level domain.
    init?(_ name: String) {
        let bytes = name.utf8
        guard bytes.starts(with: "*.".utf8) else { return nil }
        rest = bytes.dropFirst()
        let labels = rest.dropFirst().split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count >= 2, labels.allSatisfy({ !$0.isEmpty && !$0.contains(UInt8(ascii: "*")) }) else {
            return nil
        }
    }

    /// - Parameter host: a valid host name in lower case, without a final dot.
    func matches(_ host: String) -> Bool {
        guard let dot = host.utf8.firstIndex(of: UInt8(ascii: ".")), dot > host.utf8.startIndex else { return false }
        return host.utf8[dot...].elementsEqual(rest) { host, pattern in
            host == ((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(pattern) ? pattern | 0x20 : pattern)
        }
    }
}

/// Rules for a verified chain where OpenSSL is more lenient.
///
/// OpenSSL accepts any certificate that the user trusts as the end of a chain (`X509_V_FLAG_PARTIAL_CHAIN`), so that an
/// intermediate authority, or one server's own certificate, can be trusted. It then no longer checks that a root is
/// one.
private enum ChainProfile {
    /// The reason why a chain is rejected, and the certificate at fault.
    struct Violation {
        let certificate: Certificate
        let reason: String
    }

    /// Returns the first rule that the chain breaks, beginning with the peer's own certificate; nil if there is none.
    ///
    /// - Parameter isAnchored: whether the chain must end at a trusted certificate.
    static func violation(of chain: [Certificate], isAnchored: Bool) -> Violation? {
        // RFC 5280 §4.1.2.6. Otherwise all authorities without a name would count as one.
        if let nameless = chain.dropFirst().first(where: { !$0.hasSubject }) {
            return Violation(certificate: nameless, reason: "it is signed by an authority without a name")
        }
        if isAnchored, let last = chain.last, last.isSelfIssued, !last.isSelfSigned {
            return Violation(certificate: last, reason: "it claims to be a root, but names another key as its signer's")
        }
        // RFC 5280 §4.2.1.6. With a second @, name constraints would apply to another domain than mail delivery does.
        if let own = chain.first, !own.mailNames.allSatisfy(isMail) {
            return Violation(certificate: own, reason: "it contains a malformed mail address")
        }
        return nil
    }

    /// `name@domain`. A quoted name may contain any characters.
    private static func isMail(_ text: String) -> Bool {
        // By bytes: an `@` beside a combining mark is part of another `Character`.
        let (text, at, quote) = (text.utf8, UInt8(ascii: "@"), UInt8(ascii: "\""))
        guard let mark = text.lastIndex(of: at) else { return false }
        let name = text[..<mark]
        let isQuoted = name.count > 2 && name.first == quote && name.last == quote
        return !name.isEmpty && (isQuoted || !name.contains(at)) && text.index(after: mark) != text.endIndex
    }
}

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
