internal import HostResolver

/// One record that this host answers with on one link; several publications may share it (a type's pointer, say).
struct OwnedRecord {
    var record: DNSRecord
    var owners: Set<Int>
    /// Its place in the order of publishing.
    let number: Int
    /// When it was last multicast (RFC 6762 §6).
    var multicast: DiscoveryTime?
}
