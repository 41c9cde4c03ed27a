/// A Digest algorithm (RFC 7616 §3.3, §6.1).
struct DigestAlgorithm: Hashable, Sendable {
    let hash: HashAlgorithm

    /// Whether the algorithm is a `-sess` variant, which derives a new key for each session.
    let isSession: Bool

    /// Creates the algorithm with this name, ignoring case. Without a name it is MD5. Nil if the name is unknown.
    init?(_ name: String?) {
        switch name?.uppercased() ?? "MD5" {
        case "MD5": (hash, isSession) = (.md5, false)
        case "MD5-SESS": (hash, isSession) = (.md5, true)
        case "SHA-256": (hash, isSession) = (.sha256, false)
        case "SHA-256-SESS": (hash, isSession) = (.sha256, true)
        case "SHA-512-256": (hash, isSession) = (.sha512Truncated, false)
        case "SHA-512-256-SESS": (hash, isSession) = (.sha512Truncated, true)
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
