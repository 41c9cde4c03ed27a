/// An IPv4 address.
///
/// ```swift
/// let address = IPv4Address("192.0.2.7")!
/// address.octets        // [192, 0, 2, 7]
/// address.isPrivate     // false
/// ```
public struct IPv4Address: Hashable, Sendable {
    /// The address as a number: `192.0.2.7` is `0xC000_0207`.
    public var rawValue: UInt32

    /// `127.0.0.1`.
    public static let loopback = IPv4Address(rawValue: 0x7F00_0001)
    /// `0.0.0.0`, which stands for all local addresses in listening sockets.
    public static let any = IPv4Address(rawValue: 0)
    /// `255.255.255.255`.
    public static let broadcast = IPv4Address(rawValue: .max)

    /// Creates an address from its number.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Creates the address `a.b.c.d`.
    public init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
        rawValue = UInt32(a) << 24 | UInt32(b) << 16 | UInt32(c) << 8 | UInt32(d)
    }

    /// The four octets, most significant first.
    public var octets: [UInt8] {
        [UInt8(rawValue >> 24), UInt8(rawValue >> 16 & 255), UInt8(rawValue >> 8 & 255), UInt8(rawValue & 255)]
    }

    /// Whether the address is in `127.0.0.0/8` (RFC 1122 §3.2.1.3).
    public var isLoopback: Bool { rawValue >> 24 == 127 }

    /// Whether this is the unspecified address, `0.0.0.0`.
    public var isAny: Bool { rawValue == 0 }

    /// Whether the address is in `169.254.0.0/16` (RFC 3927).
    public var isLinkLocal: Bool { rawValue >> 16 == 0xA9FE }

    /// Whether the address is in `224.0.0.0/4` (RFC 5771).
    public var isMulticast: Bool { rawValue >> 28 == 0xE }

    /// Whether the address is in `10.0.0.0/8`, `172.16.0.0/12` or `192.168.0.0/16` (RFC 1918 §3).
    public var isPrivate: Bool {
        rawValue >> 24 == 10 || rawValue >> 20 == 0xAC1 || rawValue >> 16 == 0xC0A8
    }
}

extension IPv4Address: LosslessStringConvertible {
    /// Parses four decimal numbers separated by dots; nil for all other text.
    ///
    /// The older forms that `inet_aton` accepts (`127.1`, `0x7f.0.0.1`, octal with leading zeros) are rejected:
    /// programs disagree about their meaning, and attackers exploit that.
    public init?(_ text: String) {
        self.init(bytes: text.utf8)
    }

    init?(bytes: some Sequence<UInt8>) {
        var value: UInt32 = 0
        var octet: UInt32 = 0
        var digits = 0
        var dots = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if digits > 0 && octet == 0 { return nil }
                octet = octet * 10 + UInt32(byte - UInt8(ascii: "0"))
                digits += 1
                if octet > 255 { return nil }
            case UInt8(ascii: "."):
                if digits == 0 || dots == 3 { return nil }
                value = value << 8 | octet
                (octet, digits, dots) = (0, 0, dots + 1)
            default:
                return nil
            }
        }
        guard dots == 3, digits > 0 else { return nil }
        rawValue = value << 8 | octet
    }

    /// The dotted decimal form, such as `192.0.2.7`.
    public var description: String {
        "\(rawValue >> 24).\(rawValue >> 16 & 255).\(rawValue >> 8 & 255).\(rawValue & 255)"
    }
}
