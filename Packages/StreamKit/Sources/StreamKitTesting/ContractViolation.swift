/// A broken rule of ``ByteStreamContract``, with what was observed.
public struct ContractViolation: Error, Sendable, CustomStringConvertible {
    /// The rule.
    public let rule: ByteStreamRule

    /// The style in which the rule was broken.
    public let style: StreamStyle

    /// What was observed.
    public let observation: String

    /// Rule, style and observation.
    public var description: String { "\(rule.rawValue), \(style): \(observation)" }
}
