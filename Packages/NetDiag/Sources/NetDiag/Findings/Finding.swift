/// One result of a diagnosis: a fault or an oddity, the evidence for it, and advice.
public struct Finding: Sendable, Hashable {
    /// How much a finding matters to the target.
    public enum Severity: Int, Sendable, Hashable, Comparable {
        /// Informational: nothing fails because of it.
        case note
        /// Something is broken, but the target does not need it or has an alternative.
        case warning
        /// The target cannot be used because of it.
        case failure

        /// Orders the lesser severity first.
        public static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
    }

    /// The kind of finding, for programs.
    public var code: FindingCode
    /// How much the finding matters to this target.
    public var severity: Severity
    /// A localizable sentence that says what was found, and where.
    public var sentence: Sentence
    /// The observations behind the finding, one per line: addresses, errors, times.
    ///
    /// Contains no secrets and no control characters.
    public var evidence: [String]
    /// The code of the finding that causes this one or must be repaired before this one can be judged; nil for an
    /// independent finding.
    public var dependsOn: FindingCode?

    /// Creates a finding. Secrets and control characters are removed from `evidence`.
    public init(_ code: FindingCode, _ severity: Severity, _ sentence: Sentence, evidence: [String] = []) {
        self.code = code
        self.severity = severity
        self.sentence = sentence
        self.evidence = evidence.map(PublicText.of)
    }

    /// The rung of the ladder that the finding concerns.
    public var rung: Rung { code.rung }

    /// A localizable sentence that says what the user can do.
    public var advice: Sentence { code.advice }
}
