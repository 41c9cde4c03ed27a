internal import HostResolver

/// An answer that waits for others to go with it, or for its turn (RFC 6762 §6, §6.4).
struct PendingAnswer {
    let record: DNSRecord
    var due: DiscoveryTime
    /// Its place in the order of scheduling.
    let number: Int
}
