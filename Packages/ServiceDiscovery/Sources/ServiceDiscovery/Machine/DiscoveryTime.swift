/// A point in time, as machines are given it.
typealias DiscoveryTime = ContinuousClock.Instant
