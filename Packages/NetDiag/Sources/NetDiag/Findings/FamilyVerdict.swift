/// Whether the target can be reached over one address family, IPv4 or IPv6, by itself.
///
/// ```swift
/// for verdict in diagnosis.families { print(verdict) }      // IPv6: broken: There is no route to 2001:db8::7.
/// ```
public struct FamilyVerdict: Sendable, Hashable {
    /// The result for one family.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// A connection over this family succeeds.
        case works
        /// Connections over this family fail.
        case broken
        /// This machine has no address of the family.
        case notHere
        /// The target has no address of the family.
        case notThere
        /// The family was not tried.
        case unknown
    }

    /// IPv4 or IPv6.
    public var family: AddressFamilies
    /// The result for the family.
    public var state: State
    /// The finding on the lowest rung that is broken for this family; nil unless ``state`` is ``State/broken``.
    public var finding: Finding?

    /// Creates a verdict.
    public init(_ family: AddressFamilies, _ state: State, _ finding: Finding? = nil) {
        self.family = family
        self.state = state
        self.finding = finding
    }

    /// `IPv4` or `IPv6`.
    public var name: String { family == .v6 ? "IPv6" : "IPv4" }
}

extension FamilyVerdict: CustomStringConvertible {
    /// The family's name, its state, and the reason if it is broken.
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
