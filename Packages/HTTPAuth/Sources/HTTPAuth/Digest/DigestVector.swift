/// The `response` of Digest for given values of everything, for comparison with published vectors. Applications use
/// ``HTTPAuthentication``.
@_spi(Conformance)
public struct DigestVector {
    /// The user name.
    public var user = ""
    /// The password.
    public var password = ""
    /// The realm.
    public var realm = ""
    /// The server's nonce.
    public var nonce = ""
    /// The method of the request.
    public var method = "GET"
    /// The target of the request.
    public var uri = "/"
    /// The algorithm's name; nil for none.
    public var algorithm: String?
    /// `qop`; nil for none.
    public var protection: String?
    /// `nc`.
    public var count = "00000001"
    /// `cnonce`.
    public var clientNonce = ""
    /// The body that `auth-int` covers.
    public var body: [UInt8] = []

    /// An empty vector.
    public init() {}

    /// `response`, in hexadecimal digits; nil for an algorithm or protection that is not known.
    public func response() throws(HTTPAuthError) -> String? {
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
