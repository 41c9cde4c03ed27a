internal import HostResolver

/// One service that this machine publishes, on all its links together.
struct Registration {
    var advertisement: ServiceAdvertisement
    var instance: ServiceInstance
    /// The links on which the name is not won yet.
    var waiting: Set<UInt32>
    /// The name last told of.
    var told: ServiceInstance?
    var conflicts: [DiscoveryTime] = []

    /// Notes one more conflict; how long to wait before the next probe (RFC 6762 §8.1).
    mutating func noteConflict(_ now: DiscoveryTime) -> Duration {
        conflicts = conflicts.filter { now - $0 < MulticastRules.conflictWindow } + [now]
        return conflicts.count >= MulticastRules.conflictLimit ? MulticastRules.conflictPause : .zero
    }
}
