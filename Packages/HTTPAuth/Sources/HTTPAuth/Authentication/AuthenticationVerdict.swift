/// The meaning of a response for authentication, and the next action.
public enum AuthenticationVerdict: Hashable, Sendable {
    /// Apply a credential and send the request again. The previous credential was not rejected: this is the next leg of
    /// the exchange, the server requires a fresh nonce, or the request carried no credential.
    case apply
    /// The credential was rejected. Create a new object and apply another credential.
    case refused
    /// The response asks for authentication in another realm than this object's. Create another object for that realm.
    case otherSpace
    /// Authentication failed; see ``HTTPAuthentication/error``.
    case failed
    /// Authentication is complete. The response is the server's answer to this user.
    case accepted
}
