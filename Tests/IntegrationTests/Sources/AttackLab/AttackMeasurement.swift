/// What one run of one attack has shown.
public struct AttackMeasurement: Codable, Sendable {
    /// How late the loop's timers fired at worst, in milliseconds.
    public var lateness = 0.0
    /// How far the victim's memory grew beyond what it was before the attack, in bytes.
    public var growth = 0
    /// The longest that an operation took, or that a server kept a hostile connection, in seconds.
    public var slowest = 0.0
    /// How often the operation ran.
    public var operations = 0
    /// How the operations ended, and how often so.
    public var endings: [String: Int] = [:]
    /// How many honest requests succeeded meanwhile.
    public var honestRequests = 0
    /// What the first honest request that failed failed with.
    public var honestFailure: String?
    /// What was leaked, accepted or done that must not be.
    public var breaches: Set<String> = []
}
