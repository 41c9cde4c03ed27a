/// Decides when to check the network again, and when to report a result. Does no I/O and reads no clock.
///
/// Theory of operation. Changes of a network come in bursts, and frequent checks do not help a broken one. So a check waits
/// until the network has been quiet, checks are at least ``WatchPace/shortest`` apart, and they become less frequent as long as
/// the network stays broken. A fault is reported once it has lasted for ``WatchPace/patience``, a recovery immediately.
struct WatchMachine: Sendable {
    /// The next thing for the driver to do.
    enum Action: Sendable, Hashable {
        case look
        /// Report the latest result.
        case tell
        case wait(until: ContinuousClock.Instant)
        /// Wait for the result of the check that is under way.
        case waitForLook
    }

    /// A result as far as it is reported: the network works, or which fault it has.
    private enum News: Hashable {
        case works
        case broken(FindingCode)
    }

    /// The maximum delay of a check by further changes, in multiples of ``WatchPace/quietTime``.
    static let longestFactor = 10

    private let pace: WatchPace
    private var isLooking = false
    private var mustTell = false
    private var told: News?
    private var doubtful: (news: News, since: ContinuousClock.Instant)?
    private var nextLook: ContinuousClock.Instant
    private var latestLook: ContinuousClock.Instant?
    private var earliestLook: ContinuousClock.Instant
    private var failures = 0

    init(pace: WatchPace = WatchPace(), now: ContinuousClock.Instant) {
        self.pace = pace
        nextLook = now
        earliestLook = now
    }

    /// Records that the kernel has reported a change.
    mutating func changed(now: ContinuousClock.Instant) {
        let latest = latestLook ?? now + pace.quietTime * WatchMachine.longestFactor
        latestLook = latest
        failures = 0
        nextLook = max(min(now + pace.quietTime, latest), earliestLook)
    }

    /// Records the result of a check: the code of the cause, or nil if the network works.
    mutating func found(_ code: FindingCode?, now: ContinuousClock.Instant) {
        let hasChangedMeanwhile = latestLook != nil
        isLooking = false
        earliestLook = now + pace.shortest
        let news: News = code.map { .broken($0) } ?? .works
        failures = news == .works ? 0 : failures + 1
        let due = now + (news == .works ? pace.interval : backOff)
        nextLook = hasChangedMeanwhile ? max(nextLook, earliestLook) : due

        if news == told {
            doubtful = nil
        } else if told == nil || news == .works {
            tell(news)
        } else if let doubt = doubtful, doubt.news == news {
            if doubt.since + pace.patience <= now { tell(news) } else { confirm(doubt.since) }
        } else {
            doubtful = (news, now)
            confirm(now)
        }
    }

    /// Returns what to do now.
    mutating func next(now: ContinuousClock.Instant) -> Action {
        if mustTell {
            mustTell = false
            return .tell
        }
        if isLooking { return .waitForLook }
        if nextLook > now { return .wait(until: nextLook) }
        isLooking = true
        latestLook = nil
        return .look
    }

    private mutating func tell(_ news: News) {
        told = news
        doubtful = nil
        mustTell = true
    }

    /// Schedules the check that confirms a fault, once it is old enough to be reported.
    private mutating func confirm(_ since: ContinuousClock.Instant) {
        nextLook = max(min(nextLook, since + pace.patience), earliestLook)
    }

    private var backOff: Duration {
        var time = pace.shortest
        for _ in 1..<max(failures, 1) where time < pace.longest { time *= 2 }
        return min(time, pace.longest)
    }
}
