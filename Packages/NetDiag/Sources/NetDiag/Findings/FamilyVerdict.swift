/// How far the target can be reached by IPv4 alone, or by IPv6 alone.
///
/// ```swift
/// for verdict in diagnosis.families { print(verdict) }      // IPv6: broken: There is no route to 2001:db8::7.
/// ```
public struct FamilyVerdict: Sendable, Hashable {
    /// What is known of a family.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// It gets through.
        case works
        /// It does not.
        case broken
        /// This machine has no address of the family.
        case notHere
        /// The target has none.
        case notThere
        /// It was not tried.
        case unknown
    }

    /// IPv4 or IPv6.
    public var family: AddressFamilies
    /// What is known of it.
    public var state: State
    /// The lowest rung that is broken for it; nil unless it is broken.
    public var finding: Finding?

    /// Makes a verdict.
    public init(_ family: AddressFamilies, _ state: State, _ finding: Finding? = nil) {
        self.family = family
        self.state = state
        self.finding = finding
    }

    /// `IPv4` or `IPv6`.
    public var name: String { family == .v6 ? "IPv6" : "IPv4" }
}

extension FamilyVerdict: CustomStringConvertible {
    /// The name, the state, and the reason.
    public var description: String {
        let sentence: Sentence =
            switch state {
            case .works: .familyWorks(name)
            case .broken: .familyBroken(name, because: finding.map { "\($0.sentence)" } ?? "")
            case .notHere: .familyNotHere(name)
            case .notThere: .familyNotThere(name)
            case .unknown: .familyUnknown(name)
            }
        return "\(sentence)"
    }
}
