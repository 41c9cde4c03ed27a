internal import Glibc

/// A record for a DNS server: `.a("www.peers.test", "192.0.2.1")`.
public struct DNSRecord: Hashable, Sendable {
    /// The type and data of a record.
    public enum Value: Hashable, Sendable {
        /// An IPv4 address, written with dots.
        case a(String)
        /// An IPv6 address, written with colons.
        case aaaa(String)
        /// The canonical name.
        case cname(String)
        /// The name of an address.
        case ptr(String)
        /// The location of a service (RFC 2782).
        case srv(priority: Int, weight: Int, port: Int, target: String)
        /// Strings of at most 255 bytes.
        case txt([String])
        /// A mail exchange.
        case mx(preference: Int, exchange: String)
        /// A type by name, and its data as in a zone file; not for dnsmasq.
        case other(String, String)
    }

    /// The full name, without a trailing dot.
    public var name: String
    /// The time to live, in seconds.
    public var timeToLive: Int
    /// The type and data.
    public var value: Value

    /// Creates a record.
    public init(_ name: String, timeToLive: Int = 300, _ value: Value) {
        self.name = name
        self.timeToLive = timeToLive
        self.value = value
    }

    /// An A record.
    public static func a(_ name: String, _ address: String) -> Self { Self(name, .a(address)) }
    /// An AAAA record.
    public static func aaaa(_ name: String, _ address: String) -> Self { Self(name, .aaaa(address)) }
    /// An NS record: the name of a server of the zone.
    public static func ns(_ zone: String, _ server: String) -> Self { Self(zone, .other("NS", "\(server).")) }
    /// A CNAME record.
    public static func cname(_ name: String, _ target: String) -> Self { Self(name, .cname(target)) }
    /// A TXT record.
    public static func txt(_ name: String, _ strings: String...) -> Self { Self(name, .txt(strings)) }
    /// An MX record.
    public static func mx(_ name: String, _ preference: Int, _ exchange: String) -> Self {
        Self(name, .mx(preference: preference, exchange: exchange))
    }
    /// An SRV record.
    public static func srv(_ name: String, priority: Int, weight: Int, port: Int, _ target: String) -> Self {
        Self(name, .srv(priority: priority, weight: weight, port: port, target: target))
    }
    /// The PTR record of an IPv4 address: `.ptr(address: "192.0.2.1", "www.peers.test")`.
    public static func ptr(address: String, _ target: String) -> Self {
        Self(address.split(separator: ".").reversed().joined(separator: ".") + ".in-addr.arpa", .ptr(target))
    }
    /// TXT records of one name with `count` bytes of text in total, for answers larger than a datagram. (They are several records
    /// because dnsmasq accepts no line over 1 KB.)
    public static func bigTXT(_ name: String, count: Int) -> [Self] {
        (0..<(count + 199) / 200).map { number in
            let text = "\(number)" + String(repeating: "x", count: 200)
            return Self(name, .txt([String(text.prefix(min(200, count - number * 200)))]))
        }
    }
}

extension DNSRecord {
    /// The record as a line of a zone file.
    var zoneLine: String {
        let data =
            switch value {
            case .a(let address): "A \(address)"
            case .aaaa(let address): "AAAA \(address)"
            case .cname(let target): "CNAME \(target)."
            case .ptr(let target): "PTR \(target)."
            case .srv(let priority, let weight, let port, let target): "SRV \(priority) \(weight) \(port) \(target)."
            case .txt(let strings): "TXT " + strings.map(Self.quoted).joined(separator: " ")
            case .mx(let preference, let exchange): "MX \(preference) \(exchange)."
            case .other(let type, let data): "\(type) \(data)"
            }
        return "\(name). \(timeToLive) IN \(data)"
    }

    /// The record as a line of dnsmasq.conf.
    var dnsmasqLine: String {
        switch value {
        case .a(let address), .aaaa(let address): "host-record=\(name),\(address),\(timeToLive)"
        case .cname(let target): "cname=\(name),\(target),\(timeToLive)"
        case .ptr(let target): "ptr-record=\(name),\(target)"
        case .srv(let priority, let weight, let port, let target):
            "srv-host=\(name),\(target),\(port),\(priority),\(weight)"
        case .txt(let strings): "txt-record=\(name)," + strings.map(Self.quoted).joined(separator: ",")
        case .mx(let preference, let exchange): "mx-host=\(name),\(exchange),\(preference)"
        case .other(let type, _): preconditionFailure("dnsmasq serves no \(type) record of a test")
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }
}

extension DNSRecord {
    /// The record in wire format (RFC 1035 §4.1.3), without name compression.
    var wire: [UInt8] {
        let (type, data): (UInt16, [UInt8]) =
            switch value {
            case .a(let address): (1, Self.address(address, AF_INET, count: 4))
            case .cname(let target): (5, Self.name(target))
            case .ptr(let target): (12, Self.name(target))
            case .other(let type, _): preconditionFailure("a scripted server encodes no \(type) record")
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
