@testable import HTTPAuth

/// The inputs of a Digest `response`.
struct DigestVector {
    var user = ""
    var password = ""
    var realm = ""
    var nonce = ""
    var method = "GET"
    var uri = "/"
    var algorithm: String?
    /// `qop`.
    var protection: String?
    /// `nc`.
    var count = "00000001"
    /// `cnonce`.
    var clientNonce = ""
    var body: [UInt8] = []

    /// Returns the `response` in hexadecimal digits; nil if the algorithm or protection is unknown.
    func response() throws(HTTPAuthError) -> String? {
        guard let algorithm = DigestAlgorithm(algorithm) else { return nil }
        let protection = protection.flatMap { DigestProtection(rawValue: $0) }
        if self.protection != nil, protection == nil { return nil }
        let computation = DigestComputation(
            algorithm: algorithm,
            key: try DigestComputation.key(
                algorithm, user: user, realm: Array(realm.utf8), password: Secret(password)),
            nonce: Array(nonce.utf8), clientNonce: Array(clientNonce.utf8), count: Array(count.utf8),
            protection: protection, uri: Array(uri.utf8))
        return AuthGrammar.text(try computation.response(method: method, body: body))
    }
}
