/// The part of a message that a digest covers: `qop`, the quality of protection (RFC 7616 §3.3).
enum DigestProtection: String, Sendable {
    /// The method and the target.
    case authentication = "auth"
    /// The method, the target and the body.
    case integrity = "auth-int"
}

extension DigestProtection {
    /// Returns the protections that a challenge offers, in order; empty if it has no `qop`, nil if all values are
    /// unknown.
    static func offered(in challenge: Challenge) -> [DigestProtection]? {
        let names = (challenge["qop"] ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        let protections = names.compactMap { DigestProtection(rawValue: String($0)) }
        return names.isEmpty || !protections.isEmpty ? protections : nil
    }
}

extension AuthenticationForm {
    /// Returns the form of a Digest challenge: what this client would use of it if the body is known.
    static func digest(_ challenge: Challenge, _ options: DigestOptions) -> AuthenticationForm {
        let offered = DigestProtection.offered(in: challenge) ?? []
        let signsBody =
            offered.contains(.integrity) && (options.prefersIntegrity || !offered.contains(.authentication))
        let isStrong = DigestAlgorithm(challenge["algorithm"]).map { $0.hash != .md5 } ?? false
        return AuthenticationForm(
            isStrong ? .digestSHA : .digestMD5, coverage: offered.isEmpty ? .nothing : signsBody ? .body : .request)
    }
}
