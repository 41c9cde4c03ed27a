/// The conflicts of one name in the last seconds, as far as RFC 6762 §8.1 counts them.
///
/// Keeps at most ``MulticastRules/conflictLimit`` moments, however fast conflicts are forged.
struct RecentConflicts {
    private(set) var moments: [DiscoveryTime] = []

    /// Notes one more conflict; true if there were so many lately that the next probe has to wait.
    mutating func note(_ now: DiscoveryTime) -> Bool {
        let recent = moments.filter { now - $0 < MulticastRules.conflictWindow } + [now]
        moments = recent.suffix(MulticastRules.conflictLimit)
        return moments.count >= MulticastRules.conflictLimit
    }
}
