/// The families to look up on a machine that may lack addresses of some.
///
/// A family of which this machine has no address is omitted: its addresses would be unreachable, and querying a server
/// for them would waste time. At least one family remains: on a machine with only loopback addresses, no family is
/// omitted. A host that has only addresses of an omitted family, such as `ip6-localhost` in a hosts file, is found by a
/// second lookup.
struct FamilyChoice: Hashable {
    /// The families to look up first.
    let first: AddressFamilies
    /// The families to look up if the host has no address in ``first``; may be empty.
    let fallback: AddressFamilies

    init(wanted: AddressFamilies, configured: AddressFamilies) {
        let usable = wanted.intersection(configured)
        first = usable.isEmpty ? wanted : usable
        fallback = wanted.subtracting(first)
    }
}
