/// Knows how to run the rows of some case files. To add one: write a file with a scorer, and name it in ``scorers``.
protocol Scorer: Sendable {
    /// Whether this scorer runs the file of this name.
    func runs(file: String) -> Bool

    /// Runs one row.
    func score(_ row: CaseRow, file: String) throws -> Outcome
}

/// Every scorer there is; the first that knows a file runs it.
let scorers: [any Scorer] = [
    ListingScorer(),
    ControlScorer(),
    ChunkedBodyScorer(),
    SemanticsScorer(),
    MessageScorer(),
    TXTRecordScorer(),
    ChallengeScorer(),
    DigestScorer(),
    NTLMScorer(),
    SPNEGOScorer(),
    ProxyBypassScorer(),
    ChainScorer(),
    BadCertificateScorer(),
    URLScorer(),
    TargetScorer(),
]
