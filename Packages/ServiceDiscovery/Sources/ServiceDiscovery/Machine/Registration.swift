internal import HostResolver

/// One service that this machine publishes, on all its links together.
struct Registration {
    var advertisement: ServiceAdvertisement
    var instance: ServiceInstance
    /// The name last reported; nil while the service is not visible.
    var told: ServiceInstance?
    var conflicts = RecentConflicts()

    /// Notes one more conflict; how long to wait before the next probe (RFC 6762 §8.1).
    mutating func noteConflict(_ now: DiscoveryTime) -> Duration {
        conflicts.note(now) ? MulticastRules.conflictPause : .zero
    }
}
