internal import HostResolver

/// One question that is asked on one link, again and again, less and less often (RFC 6762 §5.2).
struct LinkQuestion {
    /// When to ask next; nil while a unique answer is known, which is asked for again before its time is over.
    var next: DiscoveryTime?
    /// The pause after that.
    var interval = MulticastRules.firstQueryInterval
    var sent = 0

    mutating func noteSent(_ now: DiscoveryTime) {
        sent += 1
        next = now + interval
        interval = min(interval * 2, MulticastRules.longestQueryInterval)
    }
}
