/// A point in time, as machines are given it.
typealias Moment = ContinuousClock.Instant
