/// Sorts a host's addresses into the order in which to try them (RFC 6724 §6).
///
/// ```swift
/// let order = AddressSorting().sorted([
///     .init(IPAddress("2001:db8::1")!, source: nil),                  // no route: last
///     .init(IPAddress("192.0.2.1")!, source: IPAddress("192.0.2.9")!),
/// ])
/// ```
///
/// The source address that the kernel would use is part of the input, so sorting does no I/O. Rules 4 (home addresses)
/// and 7 (native transport) have no counterpart on Linux and are omitted.
struct AddressSorting: Sendable {
    /// An address to sort, with its source address.
    struct Destination: Hashable, Sendable {
        /// The destination address.
        var address: IPAddress
        /// The source address that the kernel would use; nil if there is no route.
        var source: IPAddress?
        /// Whether the source address is deprecated (RFC 4862 §5.5.4).
        var sourceIsDeprecated: Bool
        /// The length of the source's network prefix, in bits.
        var sourcePrefixLength: Int

        /// Creates a destination.
        init(
            _ address: IPAddress, source: IPAddress?, sourceIsDeprecated: Bool = false, sourcePrefixLength: Int = 64
        ) {
            self.address = address
            self.source = source
            self.sourceIsDeprecated = sourceIsDeprecated
            self.sourcePrefixLength = sourcePrefixLength
        }
    }

    private let policy: AddressPolicy

    /// Creates a sorting that uses `policy`.
    init(policy: AddressPolicy = .standard) {
        self.policy = policy
    }

    /// Returns the addresses, best first. The sort is stable (rule 10).
    func sorted(_ destinations: [Destination]) -> [IPAddress] {
        destinations.enumerated()
            .sorted { one, other in
                switch preference(of: one.element, over: other.element) {
                case 0: one.offset < other.offset
                case let preference: preference > 0
                }
            }
            .map(\.element.address)
    }

    /// Positive if `a` comes first, negative if `b` does, 0 if no rule decides.
    private func preference(of a: Destination, over b: Destination) -> Int {
        func prefer(_ a: Bool, _ b: Bool) -> Int { (a ? 1 : 0) - (b ? 1 : 0) }
        // Rule 1: avoid unusable destinations.
        guard let sourceA = a.source, let sourceB = b.source else { return prefer(a.source != nil, b.source != nil) }
        let (scopeA, scopeB) = (Self.scope(of: a.address), Self.scope(of: b.address))
        let rules: [Int] = [
            // Rule 2: prefer matching scope.
            prefer(scopeA == Self.scope(of: sourceA), scopeB == Self.scope(of: sourceB)),
            // Rule 3: avoid deprecated addresses.
            prefer(!a.sourceIsDeprecated, !b.sourceIsDeprecated),
            // Rule 5: prefer matching label.
            prefer(
                policy.label(of: sourceA) == policy.label(of: a.address),
                policy.label(of: sourceB) == policy.label(of: b.address)),
            // Rule 6: prefer higher precedence.
            policy.precedence(of: a.address) - policy.precedence(of: b.address),
            // Rule 8: prefer smaller scope.
            scopeB - scopeA,
            // Rule 9: longest matching prefix.
            Self.commonPrefix(a) - Self.commonPrefix(b),
        ]
        return rules.first { $0 != 0 } ?? 0
    }

    /// The scope, numbered as for IPv6 multicast (RFC 6724 §3.1, §3.2): 2 link-local, 5 site-local, 14 global.
    private static func scope(of address: IPAddress) -> Int {
        switch address {
        case .v4(let address): address.isLoopback || address.isLinkLocal ? 2 : 14
        case .v6(let address):
            if address.isMulticast {
                Int(address.rawValue >> 112 & 15)
            } else if let mapped = address.mappedIPv4 {
                scope(of: .v4(mapped))
            } else if address.isLoopback || address.isLinkLocal {
                2
            } else {
                address.rawValue >> 118 == 0x3FB ? 5 : 14
            }
        }
    }

    /// The length of the prefix that destination and source share, within the source's network prefix (RFC 6724 §2.2).
    ///
    /// IPv6 only. For IPv4 the rule would defeat load balancing by rotated answers, and other resolvers omit it as
    /// well. It does not apply between families.
    private static func commonPrefix(_ destination: Destination) -> Int {
        guard case .v6(let address) = destination.address, case .v6(let source)? = destination.source else { return 0 }
        return min((address.rawValue ^ source.rawValue).leadingZeroBitCount, destination.sourcePrefixLength)
    }
}
