internal import HostResolver

/// The records of one service, or of this host, on one link, and how far their publishing has come (RFC 6762 §8).
struct Publication {
    enum Phase: Hashable {
        /// So many probes were sent.
        case probing(Int)
        /// So many announcements were sent; the first makes the records count.
        case announcing(Int)
        case settled
    }

    let id: Int
    /// The name that must be this host's alone.
    var name: DNSName
    /// The records of that name, probed for.
    var unique: [DNSRecord]
    /// What else goes with it: pointers, of which others may have some too.
    var shared: [DNSRecord]
    var phase: Phase
    /// When the next step is due.
    var next: DiscoveryTime?

    var records: [DNSRecord] { unique + shared }

    /// Whether questions are answered with these records.
    var isLive: Bool {
        switch phase {
        case .probing: false
        case .announcing(let count): count > 0
        case .settled: true
        }
    }
}
