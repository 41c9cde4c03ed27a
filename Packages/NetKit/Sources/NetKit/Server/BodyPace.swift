/// How fast a client must send a request's body, or take a response's: on average at some rate, after a first while that is free.
///
/// Only waiting counts, so a handler may take its time; and every byte earns waiting time, so a client that was fast may
/// rest. Without this, one byte just before each limit would hold a connection for ever.
struct BodyPace {
    /// The longest single wait, and what all waits may sum up to before the rate counts.
    let limit: Duration
    /// In bytes a second; 0 for any.
    let rate: Int
    private var waited = Duration.zero
    private var moved = 0

    init(limit: Duration, rate: Int) {
        self.limit = limit
        self.rate = rate
    }

    /// How long the next wait may last; zero for a client that was too slow.
    var allowance: Duration {
        guard rate > 0 else { return limit }
        let earned = Duration.seconds(moved / rate) + .milliseconds(moved % rate * 1000 / rate)
        return max(.zero, min(limit, limit + earned - waited))
    }

    /// Notes how many bytes a wait has moved.
    mutating func note(_ count: Int, after wait: Duration) {
        moved += count
        waited += wait
    }
}
