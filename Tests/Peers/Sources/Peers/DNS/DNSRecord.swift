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
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }
}
