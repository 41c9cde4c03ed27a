/// The Digest hashes for one request or its response (RFC 7616 §3.4.1 to §3.4.3).
struct DigestComputation {
    let algorithm: DigestAlgorithm
    /// H(user ":" realm ":" password) in hexadecimal digits. In this realm it is as secret as the password.
    let key: Secret
    let nonce: [UInt8]
    let clientNonce: [UInt8]
    /// The nonce count, as eight hexadecimal digits.
    let count: [UInt8]
    /// The protection; nil for RFC 2069.
    let protection: DigestProtection?
    let uri: [UInt8]

    static func key(
        _ algorithm: DigestAlgorithm, user: String, realm: [UInt8], password: Secret
    ) throws(HTTPAuthError) -> Secret {
        try algorithm.hash.secretHexadecimal(.text(user), ":", .bytes(realm), ":", .secret(password))
    }

    /// Returns the proof that a peer knows the key: `response` for the request's method, `rspauth` for an empty method.
    func response(method: String, body: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        let hash = algorithm.hash
        // RFC 7616 §3.4.2 derives the session key once, from the nonces of the first request. Servers without sessions
        // derive it from the nonces of each request. Both yield the same key here, because our sessions end when the
        // nonce changes.
        let key =
            algorithm.isSession
            ? try hash.secretHexadecimal(.secret(key), ":", .bytes(nonce), ":", .bytes(clientNonce)) : key
        let message: [UInt8]
        switch protection {
        case .integrity:
            message = try hash.hexadecimal(
                .text(method), ":", .bytes(uri), ":", .bytes(try hash.hexadecimal(.bytes(body))))
        case .authentication, nil:
            message = try hash.hexadecimal(.text(method), ":", .bytes(uri))
        }
        guard let protection else {
            return try hash.hexadecimal(.secret(key), ":", .bytes(nonce), ":", .bytes(message))
        }
        return try hash.hexadecimal(
            .secret(key), ":", .bytes(nonce), ":", .bytes(count), ":", .bytes(clientNonce), ":",
            .text(protection.rawValue), ":", .bytes(message))
    }
}
