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

/// A Digest algorithm (RFC 7616 §3.3, §6.1).
struct DigestAlgorithm: Hashable, Sendable {
    let hash: HashAlgorithm

    /// Whether the algorithm is a `-sess` variant, which derives a new key for each session.
    let isSession: Bool

    /// Creates the algorithm with this name, ignoring case. Without a name it is MD5. Nil if the name is unknown.
    init?(_ name: String?) {
        switch name?.lowercased() ?? "md5" {
        case "md5": (hash, isSession) = (.md5, false)
        case "md5-sess": (hash, isSession) = (.md5, true)
        case "sha-256": (hash, isSession) = (.sha256, false)
        case "sha-256-sess": (hash, isSession) = (.sha256, true)
        case "sha-512-256": (hash, isSession) = (.sha512Truncated, false)
        case "sha-512-256-sess": (hash, isSession) = (.sha512Truncated, true)
        default: return nil
        }
    }

    /// The strength for comparison; higher is stronger.
    var strength: Int {
        switch hash {
        case .md5: isSession ? 2 : 1
        case .sha256: isSession ? 4 : 3
        case .sha512Truncated: isSession ? 6 : 5
        }
    }
}

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
