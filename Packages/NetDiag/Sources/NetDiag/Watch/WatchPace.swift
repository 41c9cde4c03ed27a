/// How often a network is looked at that is watched, and how soon news is told.
public struct WatchPace: Sendable, Hashable {
    /// How long the network must be quiet after a change before it is looked at. Default 1 s.
    public var quietTime: Duration = .seconds(1)
    /// How long bad news must last before it is told. Default 5 s.
    public var patience: Duration = .seconds(5)
    /// The shortest time between two looks. Default 5 s; twice as long after each that finds it broken, up to ``longest``.
    public var shortest: Duration = .seconds(5)
    /// The longest time between two looks at a broken network that does not change. Default 5 minutes.
    public var longest: Duration = .seconds(300)
    /// The time between two looks at a network that works and does not change. Default 1 minute.
    public var interval: Duration = .seconds(60)

    /// The defaults.
    public init() {}
}
