/// Guides a user through a repair, one step at a time, with a new diagnosis after each step.
///
/// ```swift
/// var guide = RepairGuide()
/// while case .step(let step) = guide.next(after: await diagnostic.diagnose()) {
///     show(step.finding.sentence, step.text)      // and wait until the user has done it
/// }
/// ```
///
/// It does no I/O: the caller presents the steps, in a terminal or a window.
public struct RepairGuide: Sendable {
    /// One instruction to the user.
    public struct Step: Sendable, Hashable {
        /// The finding that the step is meant to repair.
        public var finding: Finding
        /// A localizable sentence that says what to do.
        public var text: Sentence
        /// The number of the step among the steps for this finding, from 1.
        public var number: Int
        /// The number of steps for this finding.
        public var count: Int
        /// Whether the previous fault is repaired and this step is for the next one.
        public var isProgress: Bool
    }

    /// The next action of the guide.
    public enum Next: Sendable, Hashable {
        /// Ask the user to do this step.
        case step(Step)
        /// Nothing is broken; `isRepaired` tells whether something was broken before.
        case works(isRepaired: Bool)
        /// Every step for this finding was tried without success: the user needs help.
        case exhausted(Finding)
    }

    private var taken: [FindingCode: Int] = [:]
    private var last: FindingCode?

    /// Creates a guide that has not given any step yet.
    public init() {}

    /// Returns the next action, given the latest diagnosis.
    public mutating func next(after diagnosis: Diagnosis) -> Next {
        guard let finding = diagnosis.cause else { return .works(isRepaired: last != nil) }
        let steps = finding.code.steps
        let number = taken[finding.code, default: 0]
        guard number < steps.count else { return .exhausted(finding) }
        taken[finding.code] = number + 1
        let isProgress = last.map { $0 != finding.code && $0.rung <= finding.rung } ?? false
        last = finding.code
        return .step(
            Step(
                finding: finding, text: steps[number], number: number + 1, count: steps.count, isProgress: isProgress))
    }
}
