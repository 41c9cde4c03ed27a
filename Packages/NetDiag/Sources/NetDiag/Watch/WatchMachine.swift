/// Decides when to look again, and when what was found is news. Does no I/O and reads no clock.
///
/// Theory of operation. A network that changes changes often in a row, and a dead one is not helped by being asked: looks wait
/// until it has been quiet, are never closer together than ``WatchPace/shortest``, and become rarer as long as it stays
/// broken. Bad news is told when it has lasted for ``WatchPace/patience``, good news at once.
struct WatchMachine: Sendable {
    /// What to do now.
    enum Action: Sendable, Hashable {
        case look
        /// Tell what was found last.
        case tell
        case wait(until: ContinuousClock.Instant)
        /// Until the look that is under way is over.
        case waitForLook
    }

    /// What is told: that it works, or what is broken.
    private enum News: Hashable {
        case works
        case broken(FindingCode)
    }

    /// How many quiet times a look may be put off by changes.
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

    /// The kernel says that something has changed.
    mutating func changed(now: ContinuousClock.Instant) {
        let latest = latestLook ?? now + pace.quietTime * WatchMachine.longestFactor
        latestLook = latest
        failures = 0
        nextLook = max(min(now + pace.quietTime, latest), earliestLook)
    }

    /// A look is over; `code` is that of the cause, nil if it works.
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

    /// What to do now.
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

    /// Looks again once bad news is old enough to be told.
    private mutating func confirm(_ since: ContinuousClock.Instant) {
        nextLook = max(min(nextLook, since + pace.patience), earliestLook)
    }

    private var backOff: Duration {
        var time = pace.shortest
        for _ in 1..<max(failures, 1) where time < pace.longest { time *= 2 }
        return min(time, pace.longest)
    }
}
