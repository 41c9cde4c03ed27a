/// The minimum average rate at which a client must send a request's body, or receive a response's, after an initial allowance.
///
/// Only waiting counts, so a handler may take its time; every byte earns waiting time, so a client that was fast may pause.
/// Without a minimum rate, one byte just before each time limit would hold a connection forever.
struct BodyPace {
    /// The longest single wait, and the sum of waits before the rate counts.
    let limit: Duration
    /// In bytes per second; 0 for any rate.
    let rate: Int
    private var waited = Duration.zero
    private var moved = 0

    init(limit: Duration, rate: Int) {
        self.limit = limit
        self.rate = rate
    }

    /// The longest permitted next wait; zero for a client that was too slow.
    var allowance: Duration {
        guard rate > 0 else { return limit }
        return max(.zero, min(limit, limit + earned - waited))
    }

    /// Whether the client is slower than the minimum rate up to now, so that it lives on the initial allowance.
    var isBehind: Bool { rate > 0 && waited > earned }

    /// The waiting time that the bytes have earned, if there is a minimum rate.
    private var earned: Duration { .seconds(moved / rate) + .milliseconds(moved % rate * 1000 / rate) }

    /// Records the number of bytes that a wait has moved.
    mutating func note(_ count: Int, after wait: Duration) {
        moved += count
        waited += wait
    }
}
