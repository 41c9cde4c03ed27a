/// Decides when to check the network again, and when to report a result. Does no I/O and reads no clock.
///
/// Theory of operation. Changes of a network come in bursts, and frequent checks do not help a broken one. So a check waits
/// until the network has been quiet, checks are at least ``WatchPace/shortest`` apart, and they become less frequent as long as
/// the network stays broken. A fault is reported once it has lasted for ``WatchPace/confirmationTime``, a recovery immediately.
struct WatchMachine: Sendable {
    /// The next thing for the driver to do.
    enum Action: Sendable, Hashable {
        case check
        /// Report the latest result.
        case report
        case wait(until: ContinuousClock.Instant)
        /// Wait for the result of the check that is under way.
        case waitForCheck
    }

    /// A result as far as it is reported: the network works, or which fault it has.
    private enum Result: Hashable {
        case works
        case broken(FindingCode)
    }

    /// The maximum delay of a check by further changes, in multiples of ``WatchPace/quietTime``.
    static let maximumDelayFactor = 10

    private let pace: WatchPace
    private var isChecking = false
    private var mustReport = false
    private var reported: Result?
    private var unconfirmed: (result: Result, since: ContinuousClock.Instant)?
    private var nextCheck: ContinuousClock.Instant
    private var latestCheck: ContinuousClock.Instant?
    private var earliestCheck: ContinuousClock.Instant
    private var failures = 0

    init(pace: WatchPace = WatchPace(), now: ContinuousClock.Instant) {
        self.pace = pace
        nextCheck = now
        earliestCheck = now
    }

    /// Records that the kernel has reported a change.
    mutating func changed(now: ContinuousClock.Instant) {
        let latest = latestCheck ?? now + pace.quietTime * WatchMachine.maximumDelayFactor
        latestCheck = latest
        failures = 0
        nextCheck = max(min(now + pace.quietTime, latest), earliestCheck)
    }

    /// Records the result of a check: the code of the cause, or nil if the network works.
    mutating func found(_ code: FindingCode?, now: ContinuousClock.Instant) {
        let hasChangedMeanwhile = latestCheck != nil
        isChecking = false
        earliestCheck = now + pace.shortest
        let result: Result = code.map { .broken($0) } ?? .works
        failures = result == .works ? 0 : failures + 1
        let due = now + (result == .works ? pace.interval : backoff)
        nextCheck = hasChangedMeanwhile ? max(nextCheck, earliestCheck) : due

        if result == reported {
            unconfirmed = nil
        } else if reported == nil || result == .works {
            report(result)
        } else if let candidate = unconfirmed, candidate.result == result {
            if candidate.since + pace.confirmationTime <= now { report(result) } else { confirm(candidate.since) }
        } else {
            unconfirmed = (result, now)
            confirm(now)
        }
    }

    /// Returns what to do now.
    mutating func next(now: ContinuousClock.Instant) -> Action {
        if mustReport {
            mustReport = false
            return .report
        }
        if isChecking { return .waitForCheck }
        if nextCheck > now { return .wait(until: nextCheck) }
        isChecking = true
        latestCheck = nil
        return .check
    }

    private mutating func report(_ result: Result) {
        reported = result
        unconfirmed = nil
        mustReport = true
    }

    /// Schedules the check that confirms a fault, once it is old enough to be reported.
    private mutating func confirm(_ since: ContinuousClock.Instant) {
        nextCheck = max(min(nextCheck, since + pace.confirmationTime), earliestCheck)
    }

    private var backoff: Duration {
        var time = pace.shortest
        for _ in 1..<max(failures, 1) where time < pace.longest { time *= 2 }
        return min(time, pace.longest)
    }
}

/// How often a watched network is checked, and how soon results are reported.
public struct WatchPace: Sendable, Hashable {
    /// The time for which the network must be quiet after a change before it is checked. Default 1 s.
    public var quietTime: Duration = .seconds(1)
    /// The time for which a fault must last before it is reported. Default 5 s.
    public var confirmationTime: Duration = .seconds(5)
    /// The shortest time between two checks. Default 5 s. It doubles after each check that finds a fault, up to ``longest``.
    public var shortest: Duration = .seconds(5)
    /// The longest time between two checks of a broken network that does not change. Default 5 minutes.
    public var longest: Duration = .seconds(300)
    /// The time between two checks of a network that works and does not change. Default 1 minute.
    public var interval: Duration = .seconds(60)

    /// Creates a pace with the default values.
    public init() {}
}
