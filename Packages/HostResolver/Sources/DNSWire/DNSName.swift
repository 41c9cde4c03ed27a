public import IPAddresses

/// A domain name: a sequence of labels, which may contain arbitrary bytes.
///
/// ```swift
/// let name = DNSName("_http._tcp.example.org")!
/// name.description                                  // "_http._tcp.example.org."
/// DNSName("EXAMPLE.org") == DNSName("example.ORG.")   // true: case does not count (RFC 4343)
/// ```
public struct DNSName: Sendable {
    /// The longest wire form, in bytes, including the length bytes and the root (RFC 1035 §2.3.4).
    public static let maximumWireLength = 255

    /// The uncompressed wire form: each label after its length, then a zero.
    private let wire: [UInt8]

    /// The root domain.
    public static let root = DNSName(wire: [0])

    package init(wire: [UInt8]) {
        self.wire = wire
    }

    /// Creates a name from labels, the leftmost first; nil if a label is empty or longer than 63 bytes, or if the name
    /// is too long.
    public init?(labels: some Sequence<[UInt8]>) {
        var wire: [UInt8] = []
        for label in labels {
            guard (1...63).contains(label.count), wire.count + label.count + 2 <= Self.maximumWireLength else {
                return nil
            }
            wire.append(UInt8(label.count))
            wire += label
        }
        self.init(wire: wire + [0])
    }

    /// Parses the text form, with or without the final dot, with the escapes of RFC 1035 §5.1 (`\.`, `\\`, `\046`).
    ///
    /// Nil for empty labels, labels and names that are too long, and invalid escapes.
    public init?(_ text: String) {
        if text == "." {
            self = .root
            return
        }
        var labels: [[UInt8]] = [[]]
        var bytes = Array(text.utf8)[...]
        // The text of a valid name has at most four bytes for each byte of the name.
        guard bytes.count <= 4 * Self.maximumWireLength else { return nil }
        while let byte = bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "."):
                labels.append([])
            case UInt8(ascii: "\\"):
                guard let escaped = Self.escaped(&bytes) else { return nil }
                labels[labels.count - 1].append(escaped)
            default:
                labels[labels.count - 1].append(byte)
            }
        }
        // Drop the empty label after the final dot. An escaped dot is part of a label and leaves no empty label.
        if labels.count > 1, labels[labels.count - 1].isEmpty { labels.removeLast() }
        self.init(labels: labels)
    }

    /// Creates the name for a reverse lookup of an address, such as `7.2.0.192.in-addr.arpa` (RFC 1035 §3.5, RFC 3596
    /// §2.5).
    public init(reverse address: IPAddress) {
        let labels: [[UInt8]] =
            switch address {
            case .v4(let address):
                address.octets.reversed().map { Array(String($0).utf8) } + [Array("in-addr".utf8)]
            case .v6(let address):
                address.octets.reversed().flatMap { [$0 & 15, $0 >> 4] }.map { Array(String($0, radix: 16).utf8) }
                    + [Array("ip6".utf8)]
            }
        wire = (labels + [Array("arpa".utf8)]).flatMap { [UInt8($0.count)] + $0 } + [0]
    }

    /// The labels, the leftmost first; empty for the root.
    public var labels: [[UInt8]] {
        var labels: [[UInt8]] = []
        var rest = wire[...]
        while let length = rest.popFirst(), length > 0 {
            labels.append(Array(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        return labels
    }

    /// The uncompressed wire form: each label after a byte with its length, then a zero.
    public var wireForm: [UInt8] { wire }

    /// Returns this name followed by `suffix`; nil if that is too long.
    package func appending(_ suffix: DNSName) -> DNSName? {
        let joined = wire.dropLast() + suffix.wire
        return joined.count <= Self.maximumWireLength ? DNSName(wire: Array(joined)) : nil
    }

    /// Returns a byte in lower case, for comparisons. Length bytes are below 64 and therefore unaffected.
    private static func folded(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension DNSName: Hashable {
    /// Compares two names without regard to the case of ASCII letters (RFC 4343 §3).
    public static func == (one: DNSName, other: DNSName) -> Bool {
        one.wire.count == other.wire.count
            && (one.wire == other.wire || zip(one.wire, other.wire).allSatisfy { folded($0) == folded($1) })
    }

    /// Hashes the name in lower case, consistently with `==`.
    public func hash(into hasher: inout Hasher) {
        withUnsafeTemporaryAllocation(byteCount: wire.count, alignment: 1) { buffer in
            for (index, byte) in wire.enumerated() { buffer[index] = Self.folded(byte) }
            hasher.combine(bytes: UnsafeRawBufferPointer(buffer))
        }
    }
}

extension DNSName: CustomStringConvertible {
    /// The text form, with the final dot. Dots, backslashes and bytes that are not printable ASCII are escaped.
    public var description: String {
        if wire == [0] { return "." }
        return labels.map { $0.map(Self.text).joined() + "." }.joined()
    }

    private static func text(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "\\"): "\\" + String(UnicodeScalar(byte))
        case 0x21...0x7E: String(UnicodeScalar(byte))
        default: "\\" + String(repeating: "0", count: byte < 10 ? 2 : byte < 100 ? 1 : 0) + String(byte)
        }
    }

    /// Reads the escape after a backslash: three digits, or any other byte. Nil if it is invalid.
    private static func escaped(_ bytes: inout ArraySlice<UInt8>) -> UInt8? {
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        guard let first = bytes.popFirst() else { return nil }
        guard isDigit(first) else { return first }
        guard bytes.count >= 2, bytes.prefix(2).allSatisfy(isDigit) else { return nil }
        let value = ([first] + bytes.prefix(2)).reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        bytes = bytes.dropFirst(2)
        return UInt8(exactly: value)
    }
}
