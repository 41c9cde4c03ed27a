/// Leads a person through a repair, one step at a time: after each the network is looked at again.
///
/// ```swift
/// var guide = RepairGuide()
/// while case .step(let step) = guide.next(after: await diagnostic.diagnose()) {
///     show(step.finding.sentence, step.text)      // and wait until the person has done it
/// }
/// ```
///
/// A value without I/O: a terminal, a window or a voice may do the talking.
public struct RepairGuide: Sendable {
    /// What a person is asked to do.
    public struct Step: Sendable, Hashable {
        /// What is broken.
        public var finding: Finding
        /// What to do, in words that can be localized.
        public var text: Sentence
        /// Which step it is, from 1.
        public var number: Int
        /// How many there are for this finding.
        public var count: Int
        /// What was broken before is repaired: this is the next thing.
        public var isProgress: Bool
    }

    /// What comes next.
    public enum Next: Sendable, Hashable {
        /// Something to do.
        case step(Step)
        /// It works; `isRepaired` if it did not before.
        case works(isRepaired: Bool)
        /// Every step has been tried: somebody else has to help.
        case exhausted(Finding)
    }

    private var taken: [FindingCode: Int] = [:]
    private var last: FindingCode?

    /// A guide at the beginning.
    public init() {}

    /// What to do, now that the network is found to be so.
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
