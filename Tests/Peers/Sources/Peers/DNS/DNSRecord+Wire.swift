internal import Glibc

extension DNSRecord {
    /// The record in wire format (RFC 1035 §4.1.3), without name compression.
    var wire: [UInt8] {
        let (type, data): (UInt16, [UInt8]) =
            switch value {
            case .a(let address): (1, Self.address(address, AF_INET, count: 4))
            case .cname(let target): (5, Self.name(target))
            case .ptr(let target): (12, Self.name(target))
            case .mx(let preference, let exchange): (15, UInt16(preference).bigEndianBytes + Self.name(exchange))
            case .txt(let strings): (16, strings.flatMap { [UInt8(min(255, $0.utf8.count))] + $0.utf8.prefix(255) })
            case .aaaa(let address): (28, Self.address(address, AF_INET6, count: 16))
            case .srv(let priority, let weight, let port, let target):
                (33, [priority, weight, port].flatMap { UInt16($0).bigEndianBytes } + Self.name(target))
            }
        let time = UInt32(timeToLive)
        return Self.name(name) + type.bigEndianBytes + [0, 1] + UInt16(time >> 16).bigEndianBytes
            + UInt16(time & 0xffff).bigEndianBytes + UInt16(data.count).bigEndianBytes + data
    }

    /// A name as labels; labels are cut to 63 bytes.
    private static func name(_ text: String) -> [UInt8] {
        text.split(separator: ".").flatMap { [UInt8(min(63, $0.utf8.count))] + $0.utf8.prefix(63) } + [0]
    }

    private static func address(_ text: String, _ family: Int32, count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        precondition(inet_pton(family, text, &bytes) == 1, "'\(text)' is not an address")
        return bytes
    }
}

extension UInt16 {
    var bigEndianBytes: [UInt8] { [UInt8(self >> 8), UInt8(self & 0xff)] }
}
