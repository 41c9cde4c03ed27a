internal import COpenSSL

/// A public key that a peer's chain must contain: the SHA-256 of its SubjectPublicKeyInfo (RFC 7469 §2.4).
///
/// ```swift
/// configuration.pins = [try TLSPin("sha256//YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg=")]
/// ```
///
/// A key stays the same when its certificate is renewed. Pin two, one of them kept offline: when the only pinned key is
/// lost, so is the way to the server.
public struct TLSPin: Sendable, Hashable, CustomStringConvertible {
    /// The 32 bytes of the hash.
    public let sha256: [UInt8]

    /// Pins the public key of a certificate.
    public init(_ certificate: Certificate) {
        sha256 = certificate.publicKeySHA256
    }

    /// Reads `sha256/` or, as curl writes it, `sha256//` and the base64 of the hash.
    ///
    /// - Throws: an error of domain ``StreamErrorDomain/ssl``, code ``TLSFailure/badConfiguration``.
    public init(_ text: String) throws(StreamError) {
        guard let slash = text.firstIndex(of: "/"), text[..<slash] == "sha256",
            let hash = TLSPin.bytes(base64: text[text.index(after: slash)...], double: text.hasPrefix("sha256//"))
        else { throw StreamError(.badConfiguration, .pinUnreadable(text)) }
        sha256 = hash
    }

    /// `sha256//` and the base64 of the hash.
    public var description: String {
        var text = [UInt8](repeating: 0, count: 45)
        EVP_EncodeBlock(&text, sha256, CInt(sha256.count))
        return "sha256//" + String(decoding: text.dropLast(), as: UTF8.self)
    }

    /// The 32 bytes of 44 letters that end in one `=`. A hash may itself begin with a slash, so length decides.
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
