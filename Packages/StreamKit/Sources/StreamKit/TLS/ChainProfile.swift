internal import COpenSSL

/// Rules for a verified chain where OpenSSL is more lenient.
///
/// OpenSSL accepts any certificate that the user trusts as the end of a chain (`X509_V_FLAG_PARTIAL_CHAIN`), so that an
/// intermediate authority, or one server's own certificate, can be trusted. It then no longer checks that a root is
/// one.
enum ChainProfile {
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
        guard let mark = text.lastIndex(of: "@") else { return false }
        let name = text[..<mark]
        let isQuoted = name.count > 2 && name.hasPrefix("\"") && name.hasSuffix("\"")
        return !name.isEmpty && (isQuoted || !name.contains("@")) && text.index(after: mark) != text.endIndex
    }
}
