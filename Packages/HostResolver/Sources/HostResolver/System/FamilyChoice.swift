/// Which families to ask for, on a machine that may not have all of them.
///
/// A family that this machine has no address of is left out, so that nobody tries what cannot be reached and no server is
/// asked for it; but never everything. With nothing but loopback addresses, all families count. A host that has
/// addresses of the family left out only, such as `ip6-localhost` of a hosts file, is found with them.
struct FamilyChoice: Hashable {
    /// What to ask for.
    let first: AddressFamilies
    /// What to ask for if the host has nothing of ``first``; may be empty.
    let otherwise: AddressFamilies

    init(wanted: AddressFamilies, configured: AddressFamilies) {
        let usable = wanted.intersection(configured)
        first = usable.isEmpty ? wanted : usable
        otherwise = wanted.subtracting(first)
    }
}
