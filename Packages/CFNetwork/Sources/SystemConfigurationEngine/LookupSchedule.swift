/// When the addresses of a watched name are looked up: after each change of the system, and again after a failure that may be temporary.
///
/// One lookup runs at a time. Another one would wait for the same call of the C library, and have an answer from before the change. What
/// ends after a change is therefore followed by a new lookup.
struct LookupSchedule {
    /// What is to be done next.
    enum Action: Equatable {
        case nothing
        case lookUp
        /// Call ``pauseEnded()`` after this time, unless a lookup begins before.
        case wait(Duration)
    }

    /// The result of a lookup.
    enum Outcome {
        case found
        /// The name has no addresses.
        case gone
        case failed
    }

    /// The greatest time between two lookups that fail.
    static let maximumPause: Duration = .seconds(60)

    private let firstPause: Duration
    /// The time before the next lookup that follows a failure.
    private var pause: Duration
    private var isRunning = false
    /// Whether the system has changed since the lookup began.
    private var isOutdated = false

    /// - Parameter firstPause: the time after the first failure since a change; each further one doubles it.
    init(firstPause: Duration = .seconds(1)) {
        self.firstPause = firstPause
        pause = firstPause
    }

    /// The watch begins, or the system has changed.
    mutating func changed() -> Action {
        pause = firstPause
        isOutdated = isRunning
        return begin()
    }

    /// The time of a ``Action/wait(_:)`` is up.
    mutating func pauseEnded() -> Action { begin() }

    /// The lookup has ended. Returns whether its result counts: that there are no addresses may have been true only before the change.
    mutating func ended(_ outcome: Outcome) -> (counts: Bool, action: Action) {
        isRunning = false
        if isOutdated {
            isOutdated = false
            return (outcome == .found, begin())
        }
        guard outcome == .failed else { return (true, .nothing) }
        defer { pause = min(pause * 2, LookupSchedule.maximumPause) }
        return (false, .wait(pause))
    }

    private mutating func begin() -> Action {
        if isRunning { return .nothing }
        isRunning = true
        return .lookUp
    }
}
