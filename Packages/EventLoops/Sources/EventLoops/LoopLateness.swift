/// How late an ``EventLoop`` fired its timers, and how long its turns took, since its start or the last reset.
///
/// A loop that is never late has capacity for more work. A loop that is late by 50 ms delays each of its streams, deadlines and
/// tasks by 50 ms, because some job computed or blocked for that long on its thread.
///
/// ```swift
/// let loop = EventLoop.shared
/// report("loop", loop.resetLateness().worst)     // once a minute
/// ```
///
/// Without timers, nothing is measured: a program that needs a figure schedules a timer of its own, as often as it needs the
/// figure. The measurement costs a few instructions per timer that fires and nothing per turn.
public struct LoopLateness: Hashable, Sendable {
    /// The longest time between the instant when a timer was due and the start of the loop's work on due timers.
    ///
    /// Up to 1 ms is normal, since the loop waits in whole milliseconds. A timer that was scheduled for an instant in the past
    /// was due when it was scheduled. An overdue timer counts when it fires, so a loop that is stuck does not show here yet.
    public var worst: Duration = .zero

    /// The number of timers that have fired.
    public var timerCount = 0

    /// The duration of the longest turn, from the first job to the last timer; nil if no turn was measured.
    ///
    /// Turns are measured only while ``EventLoop/onSlowTurn`` is set, since measuring reads the clock twice per turn.
    public var longestTurn: Duration?

    /// Makes an empty measurement.
    public init() {}

    /// Counts timers that the loop is about to fire.
    ///
    /// - Parameters:
    ///   - dueTimes: the instant when each was due.
    ///   - now: the instant when the loop began to fire them.
    mutating func noteTimers(due dueTimes: some Collection<Moment>, at now: Moment) {
        timerCount += dueTimes.count
        if let earliest = dueTimes.min() { worst = max(worst, earliest.duration(to: now)) }
    }

    /// Counts a turn.
    mutating func noteTurn(lasting time: Duration) {
        longestTurn = max(longestTurn ?? .zero, time)
    }
}
