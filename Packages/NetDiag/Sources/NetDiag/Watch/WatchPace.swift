/// How often a watched network is checked, and how soon results are reported.
public struct WatchPace: Sendable, Hashable {
    /// How long the network must be quiet after a change before it is checked. Default 1 s.
    public var quietTime: Duration = .seconds(1)
    /// How long a fault must last before it is reported. Default 5 s.
    public var patience: Duration = .seconds(5)
    /// The shortest time between two checks. Default 5 s. It doubles after each check that finds a fault, up to ``longest``.
    public var shortest: Duration = .seconds(5)
    /// The longest time between two checks of a broken network that does not change. Default 5 minutes.
    public var longest: Duration = .seconds(300)
    /// The time between two checks of a network that works and does not change. Default 1 minute.
    public var interval: Duration = .seconds(60)

    /// Creates a pace with the default values.
    public init() {}
}
