/// How fast a client must send a request's body: on average at some rate, after a first while that is free.
///
/// Only waiting counts, so a handler may take its time; and every byte earns waiting time, so a client that was fast may
/// rest. Without this, one byte just before each limit would hold a connection for ever.
struct BodyPace {
    /// The longest single wait, and what all waits may sum up to before the rate counts.
    let limit: Duration
    /// In bytes a second; 0 for any.
    let rate: Int
    private var waited = Duration.zero
    private var received = 0

    init(limit: Duration, rate: Int) {
        self.limit = limit
        self.rate = rate
    }

    /// How long the next wait may last; zero for a client that was too slow.
    var allowance: Duration {
        guard rate > 0 else { return limit }
        let earned = Duration.seconds(received / rate) + .milliseconds(received % rate * 1000 / rate)
        return max(.zero, min(limit, limit + earned - waited))
    }

    /// Takes note of what a wait brought.
    mutating func note(_ count: Int, after wait: Duration) {
        received += count
        waited += wait
    }
}
