/// One thing that was found: what is wrong, how that is known, and what to do about it.
public struct Finding: Sendable, Hashable {
    /// How bad it is.
    public enum Severity: Int, Sendable, Hashable, Comparable {
        /// Worth knowing; nothing fails because of it.
        case note
        /// Something is broken that this target happens not to need, or has a way around.
        case warning
        /// The target cannot be reached because of it.
        case failure

        /// The lesser first.
        public static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
    }

    /// What it is, for programs.
    public var code: FindingCode
    /// How bad it is here.
    public var severity: Severity
    /// What it is, in words that can be localized: what, where.
    public var sentence: Sentence
    /// What was seen, a line each: addresses, errors, times. Holds no secret, and nothing that a terminal obeys.
    public var evidence: [String]
    /// The finding that this one follows from, or cannot be judged before; nil for one that stands alone.
    public var dependsOn: FindingCode?

    /// Makes a finding.
    public init(_ code: FindingCode, _ severity: Severity, _ sentence: Sentence, evidence: [String] = []) {
        self.code = code
        self.severity = severity
        self.sentence = sentence
        self.evidence = evidence.map(PublicText.of)
    }

    /// Where on the ladder it is.
    public var rung: Rung { code.rung }

    /// What a person can do, in words that can be localized.
    public var advice: Sentence { code.advice }
}
