/// The validated parameters of a Digest challenge (RFC 7616 §3.3).
struct DigestChallenge: Sendable {
    let realm: [UInt8]
    let opaque: [UInt8]?
    let algorithm: DigestAlgorithm
    /// The algorithm name exactly as the server wrote it, to be returned; nil if it was omitted.
    let algorithmName: [UInt8]?
    let isStale: Bool
    let isUTF8: Bool
    let hashesUserNames: Bool
    /// The offered protections; empty for an RFC 2069 server, which has no `qop`.
    let protections: [DigestProtection]
    let domain: [String]
    let nonce: [UInt8]

    init(_ challenge: Challenge, limits: AuthenticationLimits) throws(HTTPAuthError) {
        func failure(_ code: HTTPAuthError.Code, _ detail: String) -> HTTPAuthError {
            HTTPAuthError(code, scheme: "Digest", detail: detail)
        }
        guard let realm = challenge.parameter("realm"), let nonce = challenge.parameter("nonce") else {
            throw failure(.malformedChallenge, "missing realm or nonce")
        }
        guard let algorithm = DigestAlgorithm(challenge["algorithm"]) else {
            throw failure(.unsupportedChallenge, "algorithm \(challenge["algorithm"] ?? "")")
        }
        guard let protections = DigestProtection.offered(in: challenge) else {
            throw failure(.unsupportedChallenge, "qop \(challenge["qop"] ?? "")")
        }
        self.protections = protections
        self.realm = realm.rawValue
        self.nonce = nonce.rawValue
        self.algorithm = algorithm
        algorithmName = challenge.parameter("algorithm")?.rawValue
        opaque = challenge.parameter("opaque")?.rawValue
        isStale = challenge["stale"]?.lowercased() == "true"
        isUTF8 = challenge["charset"]?.lowercased() == "utf-8"
        hashesUserNames = challenge["userhash"]?.lowercased() == "true"
        // A missing or empty list means the whole server (RFC 7616 §3.3).
        let listed = (challenge["domain"] ?? "").split(separator: " ").prefix(limits.domainCount).map(String.init)
        domain = listed.isEmpty ? ["/"] : listed
    }
}
