/// Departures from the grammar of challenges that servers make and ``ChallengeParser`` can accept.
public struct ChallengeLeniency: OptionSet, Hashable, Sendable {
    /// One bit for each departure.
    public let rawValue: Int

    /// Makes a set from its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The closing quote of the last value of a line is missing: `Basic realm="a`.
    public static let missingClosingQuote = ChallengeLeniency(rawValue: 1 << 0)

    /// A value without quotes holds characters that need them: `Basic realm=me@example.org`. It still ends at a comma
    /// or space, and cannot hold a quote.
    public static let unquotedText = ChallengeLeniency(rawValue: 1 << 1)

    /// What the grammar says, and nothing else.
    public static let strict: ChallengeLeniency = []

    /// What browsers and curl accept from servers.
    public static let client: ChallengeLeniency = [.missingClosingQuote, .unquotedText]
}
