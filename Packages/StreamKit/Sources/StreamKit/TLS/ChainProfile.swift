internal import COpenSSL

/// What a verified chain must be besides, where OpenSSL asks for less.
///
/// OpenSSL takes anything that the user trusts for the end of a chain (`X509_V_FLAG_PARTIAL_CHAIN`), so that an intermediate
/// authority or one server's own certificate can be trusted. Then it no longer looks whether a root is one.
enum ChainProfile {
    /// What a chain breaks, and which of its certificates does.
    struct Violation {
        let certificate: Certificate
        let reason: String
    }

    /// The first rule that a chain breaks, own certificate first; nil for none.
    ///
    /// - Parameter isAnchored: whether the chain must end at something trusted.
    static func violation(of chain: [Certificate], isAnchored: Bool) -> Violation? {
        // RFC 5280 §4.1.2.6; else all who sign without a name would be one authority.
        if let nameless = chain.dropFirst().first(where: { !$0.hasSubject }) {
            return Violation(certificate: nameless, reason: "an authority without a name signed it")
        }
        if isAnchored, let last = chain.last, last.isSelfIssued, !last.isSelfSigned {
            return Violation(certificate: last, reason: "it poses as a root, but names another key as its signer's")
        }
        // RFC 5280 §4.2.1.6. A second @ would make name constraints look at another domain than mail does.
        if let own = chain.first, !own.mailNames.allSatisfy(isMail) {
            return Violation(certificate: own, reason: "it holds a malformed mail address")
        }
        return nil
    }

    /// `name@domain`; in a quoted name everything is allowed.
    private static func isMail(_ text: String) -> Bool {
        guard let mark = text.lastIndex(of: "@") else { return false }
        let name = text[..<mark]
        let isQuoted = name.count > 2 && name.hasPrefix("\"") && name.hasSuffix("\"")
        return !name.isEmpty && (isQuoted || !name.contains("@")) && text.index(after: mark) != text.endIndex
    }
}
