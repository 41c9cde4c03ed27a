internal import COpenSSL

/// A public key that a peer's chain must contain: the SHA-256 of its SubjectPublicKeyInfo (RFC 7469 §2.4).
///
/// ```swift
/// configuration.pins = [try TLSPin("sha256//YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg=")]
/// ```
///
/// The key stays the same when its certificate is renewed. Pin two keys, and keep one of them offline: if the only
/// pinned key is lost, no client can connect to the server any more.
public struct TLSPin: Sendable, Hashable, CustomStringConvertible {
    /// The 32 bytes of the hash.
    public let sha256: [UInt8]

    /// Pins the public key of a certificate.
    public init(_ certificate: Certificate) {
        sha256 = certificate.publicKeySHA256
    }

    /// Reads `sha256/` or, as in curl, `sha256//`, and then the hash in base64.
    ///
    /// - Throws: an error of domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``.
    public init(_ text: String) throws(StreamError) {
        guard let slash = text.firstIndex(of: "/"), text[..<slash] == "sha256",
            let hash = TLSPin.bytes(base64: text[text.index(after: slash)...], double: text.hasPrefix("sha256//"))
        else { throw StreamError(.badConfiguration, .pinUnreadable(text)) }
        sha256 = hash
    }

    /// `sha256//` and the hash in base64.
    public var description: String {
        var text = [UInt8](repeating: 0, count: 45)
        EVP_EncodeBlock(&text, sha256, CInt(sha256.count))
        return "sha256//" + String(decoding: text.dropLast(), as: UTF8.self)
    }

    /// Decodes 44 letters, of which the last is `=`, to 32 bytes. The hash itself may begin with a slash, so the length
    /// decides.
    private static func bytes(base64 text: Substring, double: Bool) -> [UInt8]? {
        let letters = Array((double && text.utf8.count == 45 ? text.dropFirst() : text).utf8)
        guard letters.count == 44, letters.last == UInt8(ascii: "="), letters[42] != UInt8(ascii: "=") else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 33)
        guard EVP_DecodeBlock(&bytes, letters, CInt(letters.count)) == 33 else { return nil }
        return Array(bytes.prefix(32))
    }
}
