/// An IPv6 address, optionally with a zone.
///
/// ```swift
/// let address = IPv6Address("fe80::1%eth0")!
/// address.zone             // "eth0"
/// "\(IPv6Address("2001:DB8:0:0::1")!)"   // 2001:db8::1
/// ```
///
/// The zone is text, the name or number of an interface. It is resolved only when a socket address is passed to the
/// kernel, so parsing an address makes no system call.
public struct IPv6Address: Hashable, Sendable {
    // Two words rather than a UInt128: a UInt128 aligns every object that contains it to 16 bytes, and Swift allocates
    // such objects with `posix_memalign`, which is ten times as expensive as a normal allocation.
    private var high: UInt64
    private var low: UInt64

    /// The address as a number, without the zone.
    public var rawValue: UInt128 {
        get { UInt128(high) << 64 | UInt128(low) }
        set { (high, low) = (UInt64(truncatingIfNeeded: newValue >> 64), UInt64(truncatingIfNeeded: newValue)) }
    }

    /// The zone (RFC 4007 §11), which distinguishes equal addresses on different links: `"eth0"`, `"2"`. Nil if there
    /// is none.
    public let zone: String?

    /// `::1`.
    public static let loopback = IPv6Address(rawValue: 1)
    /// `::`, which stands for all local addresses in listening sockets.
    public static let any = IPv6Address(rawValue: 0)

    /// The longest valid zone, in bytes. Interface names in Linux have at most 15.
    static let maximumZoneLength = 15

    /// Creates an address from its number, without a zone.
    public init(rawValue: UInt128) {
        self.init(rawValue, in: nil)
    }

    private init(_ rawValue: UInt128, in zone: String?) {
        high = UInt64(truncatingIfNeeded: rawValue >> 64)
        low = UInt64(truncatingIfNeeded: rawValue)
        self.zone = zone
    }

    /// Creates an address with a zone; nil if the zone is invalid: empty, longer than 15 bytes, or with
    /// bytes that interface names cannot have.
    public init?(rawValue: UInt128, zone: String?) {
        if let zone {
            guard !zone.isEmpty, zone.utf8.count <= Self.maximumZoneLength,
                zone.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "%") })
            else { return nil }
        }
        self.init(rawValue, in: zone)
    }

    /// The sixteen octets, most significant first.
    public var octets: [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: rawValue >> (120 - 8 * $0)) }
    }

    /// Creates an address from sixteen octets, most significant first; nil for any other count.
    public init?(octets: some Collection<UInt8>) {
        guard octets.count == 16 else { return nil }
        self.init(rawValue: octets.reduce(0) { $0 << 8 | UInt128($1) })
    }

    /// Whether this is the loopback address, `::1`.
    public var isLoopback: Bool { rawValue == 1 }

    /// Whether this is the unspecified address, `::`.
    public var isAny: Bool { rawValue == 0 }

    /// Whether the address is in `fe80::/10`, and so meaningful only with a zone (RFC 4291 §2.5.6).
    public var isLinkLocal: Bool { rawValue >> 118 == 0x3FA }

    /// Whether the address is in `ff00::/8` (RFC 4291 §2.7).
    public var isMulticast: Bool { rawValue >> 120 == 0xFF }

    /// The IPv4 address within `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2); nil for all other addresses.
    public var mappedIPv4: IPv4Address? {
        rawValue >> 32 == 0xFFFF ? IPv4Address(rawValue: UInt32(truncatingIfNeeded: rawValue)) : nil
    }

    /// Creates the IPv4-mapped address `::ffff:a.b.c.d`, the form in which an IPv6 socket reports an IPv4 peer.
    public init(mapping address: IPv4Address) {
        self.init(rawValue: 0xFFFF << 32 | UInt128(address.rawValue))
    }
}

extension IPv6Address: LosslessStringConvertible {
    /// Parses the text forms of RFC 4291 §2.2, with an optional `%zone` (RFC 4007 §11.2); nil for all other text.
    ///
    /// Rejects brackets, prefix lengths, and a `::` that replaces no group.
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

    /// The canonical form of RFC 5952: lower case, no leading zeros, the longest run of zero groups as `::`.
    public var description: String {
        var text = mappedIPv4.map { "::ffff:\($0)" } ?? groupText
        if let zone { text += "%" + zone }
        return text
    }

    private var groupText: String {
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: rawValue >> (112 - 16 * $0)) }
        // RFC 5952 §4.2: the longest run, the first of equally long ones, and never a single group.
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

/// A parser for the text form of one IPv6 address (RFC 4291 §2.2), without the zone.
private struct IPv6TextParser {
    private let bytes: [UInt8]
    private var position = 0
    /// The groups read so far.
    private var groups: [UInt16] = []
    /// The index in ``groups`` where a `::` was; nil if there was none.
    private var gap: Int?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Returns the address as a number; nil if the text is not an address.
    mutating func parse() -> UInt128? {
        // The longest form has 8 × 4 digits and 7 colons, or an IPv4 tail: 45 bytes.
        guard bytes.count >= 2, bytes.count <= 45 else { return nil }
        if bytes.starts(with: [colon, colon]) {
            gap = 0
            position = 2
        }
        while position < bytes.count {
            guard groups.count < 8, readGroup(), readSeparator() else { return nil }
        }
        return assembled()
    }

    private var colon: UInt8 { UInt8(ascii: ":") }

    private mutating func readGroup() -> Bool {
        let start = position
        var value: UInt16 = 0
        while position < bytes.count, let digit = bytes[position].hexadecimalDigit {
            if position - start == 4 { return readEmbeddedIPv4(from: start) }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") { return readEmbeddedIPv4(from: start) }
        guard position > start else { return false }
        groups.append(value)
        return true
    }

    /// Reads the last 32 bits, written as an IPv4 address (RFC 4291 §2.2, form 3).
    private mutating func readEmbeddedIPv4(from start: Int) -> Bool {
        guard groups.count <= 6, let tail = IPv4Address(bytes: bytes[start...]) else { return false }
        groups.append(UInt16(tail.rawValue >> 16))
        groups.append(UInt16(tail.rawValue & 0xFFFF))
        position = bytes.count
        return true
    }

    /// Skips `:` or `::`. Of the two, only `::` may end the text.
    private mutating func readSeparator() -> Bool {
        guard position < bytes.count else { return true }
        guard bytes[position] == colon else { return false }
        position += 1
        guard position < bytes.count else { return false }
        if bytes[position] == colon {
            guard gap == nil else { return false }
            gap = groups.count
            position += 1
        }
        return true
    }

    private func assembled() -> UInt128? {
        var all = groups
        if let gap {
            guard groups.count < 8 else { return nil }
            all.insert(contentsOf: repeatElement(0, count: 8 - groups.count), at: gap)
        }
        guard all.count == 8 else { return nil }
        return all.reduce(0) { $0 << 16 | UInt128($1) }
    }
}

extension UInt8 {
    /// The value of this byte as a hexadecimal digit in ASCII; nil if it is not a digit.
    package var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
