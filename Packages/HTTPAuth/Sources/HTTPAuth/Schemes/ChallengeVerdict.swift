/// What a challenge means to a conversation that receives it.
public enum ChallengeVerdict: Hashable, Sendable {
    /// A first challenge, or one as good as a first: apply a credential; the one at hand has not been refused.
    case fresh
    /// The next leg of the exchange under way: respond with the same credential.
    case continues
    /// The credential was wrong.
    case refused
}
