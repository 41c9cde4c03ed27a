/// The meaning of a challenge for the conversation that receives it.
public enum ChallengeVerdict: Hashable, Sendable {
    /// A first challenge, or equivalent to one: apply a credential. The current one was not rejected.
    case fresh
    /// The next leg of the exchange: respond with the same credential.
    case continues
    /// The credential was rejected.
    case refused
}
