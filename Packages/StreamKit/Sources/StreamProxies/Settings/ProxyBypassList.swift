@_spi(Packages) internal import HostResolver
@_spi(Packages) internal import StreamCore

/// The hosts to reach without a proxy.
///
/// ```swift
/// let list = ProxyBypassList(noProxy: "localhost, .example.org, 10/8, [2001:db8::]/32, build.test:8080")
/// list.covers(host: "www.example.org", port: 443)    // true
/// list.unreadable                                    // []
/// ```
public struct ProxyBypassList: Sendable, Hashable {
    /// The rules, in the order in which they were written.
    public var rules: [ProxyBypassRule]

    /// The elements that could not be parsed, for messages. They cover no host.
    public let unreadable: [String]

    /// No rules: every host is reached through the proxy.
    public static let none = ProxyBypassList([])

    /// Makes a list of rules.
    public init(_ rules: [ProxyBypassRule]) {
        self.rules = rules
        unreadable = []
    }

    /// Parses a `no_proxy` variable: elements separated by commas, with or without spaces around them.
    ///
    /// An element with a space inside cannot be parsed. curl uses the word before the space and ignores the rest.
    public init(noProxy text: String) {
        let elements = text.unicodeScalars.split(separator: ",").map { String(ProxySettings.trimmed(Substring($0))) }
        self.init(elements) { ProxyBypassRule(noProxy: $0) }
    }

    /// Parses an exceptions list of Apple's settings. Replaces `kCFNetworkProxiesExceptionsList`.
    public init(exceptions: [String]) {
        self.init(exceptions.map { String(ProxySettings.trimmed($0[...])) }) { ProxyBypassRule(exception: $0) }
    }

    private init(_ elements: [String], _ read: (String) -> ProxyBypassRule?) {
        var rules: [ProxyBypassRule] = []
        var unreadable: [String] = []
        for element in elements where !element.isEmpty {
            if let rule = read(element) { rules.append(rule) } else { unreadable.append(element) }
        }
        self.rules = rules
        self.unreadable = unreadable
    }

    /// Whether a rule covers this host: a name or an address, IPv6 with or without brackets.
    ///
    /// Letter case and a final dot are ignored. `port` is the port to connect to; without it, rules for one port do not
    /// apply.
    public func covers(host: String, port: UInt16? = nil) -> Bool {
        let host = Host(host)
        return rules.contains { $0.covers(host, port: port) }
    }

    /// A host to match against the rules.
    enum Host {
        case name(String)
        case address(IPAddress)

        package init(_ text: String) {
            let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
            if case .v6(let address)? = IPAddress(bare) {
                // A zone is part of the route to the host, not of its identity.
                self = .address(.v6(IPv6Address(rawValue: address.rawValue)))
            } else if let address = IPAddress(bare) {
                self = .address(address)
            } else {
                self = .name(ProxyBypassList.normalized(bare[...]))
            }
        }

        /// Whether the host is this machine.
        var isLoopback: Bool {
            switch self {
            case .name(let name): name == "localhost" || name.hasSuffix(".localhost")
            case .address(let address): address.isLoopback
            }
        }

        var isSimpleName: Bool { if case .name(let name) = self { !name.contains(".") } else { false } }
    }

    /// Lower case, without the final dot, with international labels in ASCII where they can be converted.
    static func normalized(_ name: Substring) -> String {
        var text = name.lowercased()
        if text.utf8.contains(where: { $0 >= 0x80 }), !text.contains("*") {
            let dot = text.hasPrefix(".") ? "." : ""
            // No connection is made to a name that cannot be converted.
            if let converted = try? HostName(String(text.drop { $0 == "." })) { text = dot + converted.ascii }
        }
        if text.utf8.count > 1, text.hasSuffix(".") { text.removeLast() }
        return text
    }
}

/// A rule about hosts that are reached without a proxy: a host, a domain, a pattern, an address or a network, each for
/// any port or for one.
///
/// Two notations are in use, and they differ in the meaning of a bare name:
///
///
/// | text | ``init(noProxy:)`` | ``init(exception:)`` |
/// |---|---|---|
/// | `example.org` | the host and all below | the host |
/// | `.example.org` | the host and all below | all below |
/// | `*.example.org` | all below | all below |
/// | `www.*.org`, `10.1.*` | a pattern | a pattern |
/// | `192.0.2.7`, `2001:db8::1`, `[2001:db8::1]` | the address | the address |
/// | `192.0.2.0/24`, `10/8`, `2001:db8::/32` | the network | the network |
/// | `example.org:8080`, `192.0.2.7:80`, `[::1]:80` | that port only | that port only |
/// | `*` | every host | every host |
/// | `<local>` | names without a dot | names without a dot |
///
/// A network covers only hosts that are written as addresses: names are not looked up to match rules.
public struct ProxyBypassRule: Sendable, Hashable {
    private enum Hosts: Sendable, Hashable {
        case all
        case simpleNames
        case exactly(String)
        case domain(String)
        case below(String)
        case pattern(String)
        case network(IPNetwork)
    }

    /// The rule as it was written.
    public let text: String
    private let hosts: Hosts
    private let port: UInt16?

    /// Parses one element of a `no_proxy` variable, as curl does. Returns nil if it is invalid.
    ///
    /// Beyond curl: ports, patterns, and `10/8` for `10.0.0.0/8`.
    public init?(noProxy text: String) {
        self.init(text, isDomain: true)
    }

    /// Parses one element of an exceptions list of Apple's settings. Returns nil if it is invalid.
    public init?(exception text: String) {
        self.init(text, isDomain: false)
    }

    private init?(_ text: String, isDomain: Bool) {
        self.text = text
        if text.isEmpty || text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) { return nil }
        if let network = IPNetwork(text) {
            (hosts, port) = (.network(network), nil)
            return
        }
        var host = text[...]
        var port: UInt16?
        if let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) {
            let digits = text[text.utf8.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(digits) else {
                return nil
            }
            (host, port) = (text[..<colon], number)
        }
        self.port = port
        if let network = IPNetwork(String(host)) {
            hosts = .network(network)
            return
        }
        // A slash without a valid network, or brackets without a valid address.
        if host.isEmpty || host.utf8.contains(where: { "/[]:@".utf8.contains($0) }) { return nil }
        let name = ProxyBypassList.normalized(host)
        switch name {
        case "": return nil
        case "*": hosts = .all
        case "<local>": hosts = .simpleNames
        case let name where name.hasPrefix("*.") && !name.dropFirst(2).contains("*"):
            hosts = .below(String(name.dropFirst(1)))
        case let name where name.contains("*"):
            hosts = .pattern(name)
        case let name where name.hasPrefix("."):
            if name == "." { return nil }
            hosts = isDomain ? .domain(String(name.dropFirst())) : .below(name)
        default:
            hosts = isDomain ? .domain(name) : .exactly(name)
        }
    }

    /// Whether the rule covers this host.
    func covers(_ host: ProxyBypassList.Host, port: UInt16?) -> Bool {
        if let wanted = self.port, wanted != port { return false }
        switch (hosts, host) {
        case (.all, _): return true
        case (.network(let network), .address(let address)): return network.contains(address)
        // An address has no domains, but a pattern such as `10.1.*` matches addresses.
        case (.pattern(let pattern), .address(let address)):
            return ProxyBypassRule.matches(address.description, pattern)
        case (_, .address), (.network, .name): return false
        case (.simpleNames, .name(let name)): return !name.contains(".")
        case (.exactly(let wanted), .name(let name)): return name == wanted
        case (.domain(let domain), .name(let name)): return name == domain || name.hasSuffix("." + domain)
        case (.below(let suffix), .name(let name)): return name.hasSuffix(suffix) && name.utf8.count > suffix.utf8.count
        case (.pattern(let pattern), .name(let name)): return ProxyBypassRule.matches(name, pattern)
        }
    }

    /// Matches a pattern in which `*` stands for any characters.
    private static func matches(_ text: String, _ pattern: String) -> Bool {
        Wildcard.matches(
            Array(text.utf8), pattern.utf8.map { $0 == UInt8(ascii: "*") ? .anyCharacters : .byte($0) })
    }
}

extension ProxyBypassRule: CustomStringConvertible {
    /// The rule as it was written.
    public var description: String { text }
}

/// A range of addresses, `address/length`, or a single address: `::ffff:192.0.2.1` and `192.0.2.1` are the same host.
private struct IPNetwork: Sendable, Hashable {
    private let prefix: IPPrefix

    /// Parses an address, `192.0.2.0/24`, the short form `10/8` or `169.254/16`, or `2001:db8::/32`; IPv6 with or
    /// without brackets. Returns nil for anything else, and for an IPv6 address with a zone.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard let first = parts.first, parts.count <= 2 else { return nil }
        var host = first
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        }
        var address = IPAddress(String(host))
        if address == nil, parts.count == 2, host.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }) {
            let missing = 3 - host.count(where: { $0 == "." })
            if missing > 0 { address = IPAddress(host + String(repeating: ".0", count: missing)) }
        }
        var given: Int?
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt8(parts[1]) else {
                return nil
            }
            given = Int(number)
        }
        switch address {
        case .v4(let address)?:
            guard given ?? 32 <= 32 else { return nil }
            prefix = IPPrefix(IPv6Address(mapping: address).rawValue, 96 + (given ?? 32))
        case .v6(let address)?:
            guard given ?? 128 <= 128, address.zone == nil else { return nil }
            prefix = IPPrefix(address.rawValue, given ?? 128)
        case nil: return nil
        }
    }

    func contains(_ address: IPAddress) -> Bool {
        // `::/0` means all of IPv6, not IPv4.
        if case .v4 = address, prefix.length < 96 { return false }
        return prefix.contains(address)
    }
}
