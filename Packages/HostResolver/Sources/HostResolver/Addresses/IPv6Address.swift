/// An IPv6 address, with its zone where it has one.
///
/// ```swift
/// let address = IPv6Address("fe80::1%eth0")!
/// address.zone             // "eth0"
/// "\(IPv6Address("2001:DB8:0:0::1")!)"   // 2001:db8::1
/// ```
///
/// The zone is text, as people write it: an interface's name or its number. It is looked up when a ``SocketAddress``
/// goes to the kernel, so reading an address asks nothing of the machine.
public struct IPv6Address: Hashable, Sendable {
    // Two words, because whatever holds a UInt128 is aligned to 16 bytes, which Swift gets from `posix_memalign`: ten times
    // as dear as any other allocation.
    private var high: UInt64
    private var low: UInt64

    /// The address as a number, without the zone.
    public var rawValue: UInt128 {
        get { UInt128(high) << 64 | UInt128(low) }
        set { (high, low) = (UInt64(truncatingIfNeeded: newValue >> 64), UInt64(truncatingIfNeeded: newValue)) }
    }

    /// The zone (RFC 4007 §11) that tells one link's addresses from another's: `"eth0"`, `"2"`; nil for none.
    public let zone: String?

    /// `::1`.
    public static let loopback = IPv6Address(rawValue: 1)
    /// `::`: every local address, for listening sockets.
    public static let any = IPv6Address(rawValue: 0)

    /// The longest zone that is taken: an interface's name has at most 15 bytes in Linux.
    public static let longestZone = 15

    /// The address whose number is `rawValue`, in no zone.
    public init(rawValue: UInt128) {
        self.init(rawValue, in: nil)
    }

    private init(_ rawValue: UInt128, in zone: String?) {
        high = UInt64(truncatingIfNeeded: rawValue >> 64)
        low = UInt64(truncatingIfNeeded: rawValue)
        self.zone = zone
    }

    /// The same address in `zone`; nil if that cannot be a zone: empty, over ``longestZone`` bytes, or with bytes that
    /// no interface's name has.
    public init?(rawValue: UInt128, zone: String?) {
        if let zone {
            guard !zone.isEmpty, zone.utf8.count <= Self.longestZone,
                zone.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "%") })
            else { return nil }
        }
        self.init(rawValue, in: zone)
    }

    /// The sixteen octets, most significant first.
    public var octets: [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: rawValue >> (120 - 8 * $0)) }
    }

    /// The address that sixteen octets, most significant first, stand for; nil for any other count.
    public init?(octets: some Collection<UInt8>) {
        guard octets.count == 16 else { return nil }
        self.init(rawValue: octets.reduce(0) { $0 << 8 | UInt128($1) })
    }

    /// `::1`.
    public var isLoopback: Bool { rawValue == 1 }

    /// `::`.
    public var isAny: Bool { rawValue == 0 }

    /// In `fe80::/10`: means something only together with a zone (RFC 4291 §2.5.6).
    public var isLinkLocal: Bool { rawValue >> 118 == 0x3FA }

    /// In `ff00::/8` (RFC 4291 §2.7).
    public var isMulticast: Bool { rawValue >> 120 == 0xFF }

    /// In `fc00::/7` (RFC 4193).
    public var isUniqueLocal: Bool { rawValue >> 121 == 0x7E }

    /// The IPv4 address inside `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2); nil for every other address.
    public var mappedIPv4: IPv4Address? {
        rawValue >> 32 == 0xFFFF ? IPv4Address(rawValue: UInt32(truncatingIfNeeded: rawValue)) : nil
    }

    /// The form in which IPv6 programs see an IPv4 peer: `::ffff:a.b.c.d`.
    public init(mapping address: IPv4Address) {
        self.init(rawValue: 0xFFFF << 32 | UInt128(address.rawValue))
    }
}

extension IPv6Address: LosslessStringConvertible {
    /// Reads the text forms of RFC 4291 §2.2, with an optional `%zone` (RFC 4007 §11.2); nil for anything else.
    ///
    /// Not taken: brackets, prefixes, a `::` that stands for no group.
    public init?(_ text: String) {
        var address = text[...]
        var zone: String?
        if let percent = text.utf8.firstIndex(of: UInt8(ascii: "%")) {
            zone = String(text[text.utf8.index(after: percent)...])
            address = text[..<percent]
        }
        var parser = IPv6TextParser(Array(address.utf8))
        guard let value = parser.parse() else { return nil }
        self.init(rawValue: value, zone: zone)
    }

    /// The form of RFC 5952: lower case, no leading zeros, the longest run of zero groups as `::`.
    public var description: String {
        var text = mappedIPv4.map { "::ffff:\($0)" } ?? groupText
        if let zone { text += "%" + zone }
        return text
    }

    private var groupText: String {
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: rawValue >> (112 - 16 * $0)) }
        // RFC 5952 §4.2: the longest run, the first of equals, and never a single group.
        var longest = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8 && groups[end] == 0 { end += 1 }
            if end - start > max(longest.count, 1) { longest = start..<end }
            start = end + 1
        }
        let hexadecimal = groups.map { String($0, radix: 16) }
        if longest.isEmpty { return hexadecimal.joined(separator: ":") }
        return hexadecimal[..<longest.lowerBound].joined(separator: ":") + "::"
            + hexadecimal[longest.upperBound...].joined(separator: ":")
    }
}
