/// Deviations from the challenge grammar that ``ChallengeParser`` can accept.
public struct ChallengeLeniency: OptionSet, Hashable, Sendable {
    /// One bit for each deviation.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// A missing closing quote at the end of a line: `Basic realm="a`.
    public static let missingClosingQuote = ChallengeLeniency(rawValue: 1 << 0)

    /// An unquoted value with characters that need quotes: `Basic realm=me@example.org`. It still ends at a comma or
    /// space and cannot contain a quote.
    public static let unquotedText = ChallengeLeniency(rawValue: 1 << 1)

    /// Only what the grammar allows.
    public static let strict: ChallengeLeniency = []

    /// The deviations that browsers and curl accept from servers.
    public static let client: ChallengeLeniency = [.missingClosingQuote, .unquotedText]
}
