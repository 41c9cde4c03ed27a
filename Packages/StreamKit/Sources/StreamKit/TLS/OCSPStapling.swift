/// Whether a client asks for OCSP stapling: a response of the Online Certificate Status Protocol that the server sends
/// along, as proof that its certificate was not revoked (RFC 6066 §8, RFC 6960).
public enum OCSPStapling: Sendable, Hashable {
    /// Does not ask.
    case off
    /// Asks, and refuses a certificate that the response calls revoked, and a response that proves nothing. A server
    /// without a response is accepted, so an attacker with a stolen certificate simply sends none.
    case checked
    /// Asks, and refuses a server that sends no response.
    case required
}
