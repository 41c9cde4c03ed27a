/// The measurements of one run of one attack.
public struct AttackMeasurement: Codable, Sendable {
    /// The worst lateness of the loop's timers, in milliseconds.
    public var lateness = 0.0
    /// The growth of the victim's memory since the beginning of the attack, in bytes.
    public var growth = 0
    /// The longest duration of an operation, or of a hostile connection to a server, in seconds.
    public var slowest = 0.0
    /// The number of operations.
    public var operations = 0
    /// The results of the operations, with their counts.
    public var endings: [String: Int] = [:]
    /// The number of honest requests that succeeded meanwhile.
    public var honestRequests = 0
    /// The error of the first honest request that failed.
    public var honestFailure: String?
    /// The breaches: what was leaked, accepted or done although it must not be.
    public var breaches: Set<String> = []
}
