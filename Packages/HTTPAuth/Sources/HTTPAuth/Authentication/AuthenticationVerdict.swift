/// What an answer means for authentication, and so what to do next.
public enum AuthenticationVerdict: Hashable, Sendable {
    /// Apply a credential and send the request again. The one applied before is still good: this is the next leg of the
    /// exchange, or the server wanted a fresh nonce, or it was asked for nothing yet.
    case apply
    /// The credential was refused: make a new object, and apply another credential.
    case refused
    /// The answer asks for authentication in another realm than this object's: make an object for that one, too.
    case otherSpace
    /// Authentication cannot go on: see the object's error.
    case failed
    /// Authentication is done; the answer is what the server has to say to this user.
    case accepted
}
