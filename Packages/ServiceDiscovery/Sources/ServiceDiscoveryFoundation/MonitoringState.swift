internal import EventLoops
internal import ServiceDiscovery

/// The monitoring of a ``NetService``, from its start to its end, through all failures of the engine.
struct MonitoringState {
    /// The pauses after failures in a row, in seconds: at once, then 1, 2, 4 … and never more than 60.
    static let longestPause: Int64 = 60

    /// Tells one monitoring of an object from the next.
    let number: Int
    /// What brings the records; nil between a failure and the next attempt.
    var feed: RunningFeed<TXTRecord>?
    /// The next attempt.
    var timer: LoopTimer?
    private var failures = 0
    private var newest: TXTRecord?

    init(number: Int) {
        self.number = number
    }

    /// Notes a failure; how long to wait before the next attempt, or nil if none can help.
    mutating func noteFailure(_ error: ServiceDiscoveryError) -> Duration? {
        feed = nil
        switch error.code {
        // The daemon, the sockets and the name servers may come back.
        case .daemonUnavailable, .daemonFailed, .lookupFailed, .system, .timedOut, .tooMuch:
            defer { failures += 1 }
            return .seconds(failures == 0 ? 0 : min(Self.longestPause, 1 << min(failures - 1, 10)))
        default: return nil
        }
    }

    /// A record came: the next failure is the first again. True if it is another one than the last, which may come again when
    /// monitoring is begun anew.
    mutating func note(_ record: TXTRecord) -> Bool {
        defer { (failures, newest) = (0, record) }
        return record != newest
    }

    /// Ends it; call without a lock held.
    func end() {
        timer?.cancel()
        feed?.stop()
    }
}
