/// A stream broke a rule of ``ByteStreamContract``: which one, and what was seen instead.
public struct ContractViolation: Error, Sendable, CustomStringConvertible {
    /// The rule.
    public let rule: ByteStreamRule

    /// The style in which it was broken.
    public let style: StreamStyle

    /// What was seen.
    public let observation: String

    /// Rule, style and observation.
    public var description: String { "\(rule.rawValue), \(style): \(observation)" }
}
