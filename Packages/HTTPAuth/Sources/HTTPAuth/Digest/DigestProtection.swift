/// What a digest covers: `qop`, the quality of protection (RFC 7616 §3.3).
enum DigestProtection: String, Sendable {
    /// Method and target.
    case authentication = "auth"
    /// Method, target and body.
    case integrity = "auth-int"
}
