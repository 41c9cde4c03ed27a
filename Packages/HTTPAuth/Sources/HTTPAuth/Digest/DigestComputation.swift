/// The hashes of Digest (RFC 7616 §3.4.1 to §3.4.3), for one request or its answer.
struct DigestComputation {
    let algorithm: DigestAlgorithm
    /// H(user ":" realm ":" password) in hexadecimal digits: as good as the password, in this realm.
    let key: Secret
    let nonce: [UInt8]
    let clientNonce: [UInt8]
    /// Eight hexadecimal digits.
    let count: [UInt8]
    /// Nil for RFC 2069.
    let protection: DigestProtection?
    let uri: [UInt8]

    static func key(
        _ algorithm: DigestAlgorithm, user: String, realm: [UInt8], password: Secret
    ) throws(HTTPAuthError) -> Secret {
        try algorithm.hash.secretHexadecimal(.text(user), ":", .bytes(realm), ":", .secret(password))
    }

    /// What proves that the peer knows the key: `response` with the request's method, `rspauth` without one.
    func response(method: String, body: [UInt8]) throws(HTTPAuthError) -> [UInt8] {
        let hash = algorithm.hash
        // RFC 7616 §3.4.2 makes the session's key once, from the nonces of its first request. Servers that keep no sessions
        // make it from the nonces of the request at hand. Both agree, since a session of ours ends with its nonce.
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
