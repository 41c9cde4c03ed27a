/// A rate with a burst: how many events a peer may cause at once, and how many a second it may sustain.
public struct HTTP2Rate: Hashable, Sendable {
    /// The number of events at once.
    public var burst: Int
    /// The number of events a second, in the long run.
    public var perSecond: Int

    /// Creates a rate.
    public init(burst: Int, perSecond: Int) {
        self.burst = burst
        self.perSecond = perSecond
    }
}

/// A bucket of tokens that fills at a rate. Each event takes one; an event that finds none exceeds the rate.
struct TokenBucket: Sendable {
    private let perSecond: Int64
    /// The maximum of ``level``.
    private let full: Int64
    /// In millionths of a token.
    private var level: Int64
    private var filledAt: Duration?

    init(_ rate: HTTP2Rate) {
        perSecond = max(0, Int64(clamping: rate.perSecond))
        let (level, overflows) = max(0, Int64(clamping: rate.burst)).multipliedReportingOverflow(by: 1_000_000)
        full = overflows ? .max : level
        self.level = full
    }

    /// Takes a token. Returns false if there is none.
    mutating func take(now: Duration) -> Bool {
        fill(now)
        guard level >= 1_000_000 else { return false }
        level -= 1_000_000
        return true
    }

    /// Puts tokens back, up to the burst.
    mutating func putBack(_ count: Int = 1) {
        add(Int64(count) * 1_000_000)
    }

    private mutating func fill(_ now: Duration) {
        guard let filledAt, now >= filledAt else {
            self.filledAt = now
            return
        }
        let passed = (now - filledAt).components
        let microseconds = min(passed.seconds, 1_000_000) * 1_000_000 + passed.attoseconds / 1_000_000_000_000
        if microseconds == 0 { return }
        let (gain, overflows) = microseconds.multipliedReportingOverflow(by: perSecond)
        add(overflows ? full : gain)
        self.filledAt = now
    }

    private mutating func add(_ gain: Int64) {
        level = gain >= full - level ? full : level + gain
    }
}
