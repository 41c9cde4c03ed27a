/// What a client makes of a server's proof that its certificate was not revoked: an authority's answer of the Online Certificate
/// Status Protocol that the server sends along (RFC 6066 §8, RFC 6960).
public enum OCSPStapling: Sendable, Hashable {
    /// It does not ask.
    case off
    /// It asks, and refuses a certificate that is said to be revoked, and an answer that cannot be believed. A server that has
    /// none is believed without: whoever stole a revoked certificate will send none.
    case checked
    /// It asks, and refuses a server that sends none.
    case required
}
