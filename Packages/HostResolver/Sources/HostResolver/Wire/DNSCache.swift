/// Keeps answers as long as their records may be kept (RFC 1035 §7.4, negative ones RFC 2308 §5).
///
/// A value without clock: the time comes in as an argument. Only what was asked for is kept, under the question that was asked,
/// so records that a server adds unasked never become answers.
struct DNSCache: Sendable {
    /// The longest that anything is kept, whatever its record says.
    static let longestTime: Duration = .seconds(86_400)
    /// The longest that a negative answer is kept (RFC 2308 §5 asks for one to three hours at most).
    static let longestNegativeTime: Duration = .seconds(3600)

    /// What a cache has done so far.
    typealias Statistics = WireResolver.CacheStatistics

    private struct Entry {
        let answer: Result<DNSAnswer, ResolverError>
        let stored: ContinuousClock.Instant
        let expires: ContinuousClock.Instant
    }

    private let limit: Int
    private var entries: [DNSQuestion: Entry] = [:]
    private var hits = 0
    private var misses = 0

    /// Makes a cache of at most `limit` answers.
    init(limit: Int) {
        self.limit = limit
    }

    var statistics: Statistics { Statistics(hits: hits, misses: misses, count: entries.count) }

    /// What is known at `now`, the records' times counted down; nil if nothing is.
    mutating func answer(to question: DNSQuestion, now: ContinuousClock.Instant) -> Result<DNSAnswer, ResolverError>? {
        guard let entry = entries[question], now < entry.expires else {
            entries[question] = nil
            misses += 1
            return nil
        }
        hits += 1
        let age = UInt32(clamping: entry.stored.duration(to: now).components.seconds)
        return entry.answer.map { $0.aged(by: age) }
    }

    /// Keeps a positive answer for its shortest record, or a negative one for `negativeTime`; 0 is not kept.
    mutating func store(
        _ answer: Result<DNSAnswer, ResolverError>, negativeTime: UInt32?, to question: DNSQuestion,
        now: ContinuousClock.Instant
    ) {
        let time: Duration
        switch answer {
        case .success(let answer):
            time = min(.seconds(answer.timeToLive), Self.longestTime)
        case .failure(let error):
            guard error.code == .hostNotFound || error.code == .noData, let negativeTime else { return }
            time = min(.seconds(negativeTime), Self.longestNegativeTime)
        }
        guard limit > 0, time > .zero else { return }
        if entries.count >= limit, entries[question] == nil { makeRoom(now: now) }
        entries[question] = Entry(answer: answer, stored: now, expires: now + time)
    }

    /// Forgets everything.
    mutating func flush() {
        entries = [:]
    }

    /// Drops what has expired, or else what expires first.
    private mutating func makeRoom(now: ContinuousClock.Instant) {
        entries = entries.filter { $0.value.expires > now }
        while entries.count >= limit, let first = entries.min(by: { $0.value.expires < $1.value.expires }) {
            entries[first.key] = nil
        }
    }
}
