/// How late an ``EventLoop`` fired its timers, and how long its turns took, since its start or the last reset.
///
/// A loop that is never late has room for more work. One that is late by 50 ms delays every stream, deadline and task on it by
/// as much, because some job computed or blocked for that long on its thread.
///
/// ```swift
/// let loop = EventLoop.shared
/// report("loop", loop.resetLateness().worst)     // once a minute
/// ```
///
/// Without any timer, nothing is measured: an observer that needs a figure schedules a timer of its own, as often as it wants to
/// look. Measuring costs a few instructions per timer that fires and nothing per turn.
public struct LoopLateness: Hashable, Sendable {
    /// The longest time between the moment at which a timer was due and the start of the loop's work on due timers.
    ///
    /// Up to 1 ms is normal, since the loop waits in whole milliseconds. A timer that was scheduled for a moment already past was
    /// due when it was scheduled. One that is overdue counts once it fires, so a loop that stands still does not show here yet.
    public var worst: Duration = .zero

    /// How many timers have fired.
    public var timerCount = 0

    /// The duration of the longest turn, from the first job to the last timer; nil if no turn was measured.
    ///
    /// Turns are measured while ``EventLoop/onSlowTurn`` is set, which it is by default in debug builds only: measuring takes two
    /// readings of the clock per turn.
    public var longestTurn: Duration?

    /// A measurement of nothing yet.
    public init() {}

    /// Counts timers that the loop is about to fire.
    ///
    /// - Parameters:
    ///   - dueTimes: when each was due.
    ///   - now: when the loop began with them.
    mutating func noteTimers(due dueTimes: some Collection<Moment>, at now: Moment) {
        timerCount += dueTimes.count
        if let earliest = dueTimes.min() { worst = max(worst, earliest.duration(to: now)) }
    }

    /// Counts a turn.
    mutating func noteTurn(lasting time: Duration) {
        longestTurn = max(longestTurn ?? .zero, time)
    }
}
