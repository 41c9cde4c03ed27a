internal import HostResolver

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
        if let colon = text.lastIndex(of: ":") {
            let digits = text[text.index(after: colon)...]
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

    /// Matches a pattern in which `*` stands for any characters. Backtracks to the last star only, so the time is
    /// bounded by the product of the lengths.
    private static func matches(_ text: String, _ pattern: String) -> Bool {
        let text = Array(text.utf8)
        let pattern = Array(pattern.utf8)
        let star = UInt8(ascii: "*")
        var (at, want) = (0, 0)
        var retry: (at: Int, want: Int)?
        while at < text.count {
            if want < pattern.count, pattern[want] == star {
                retry = (at, want + 1)
                want += 1
            } else if want < pattern.count, pattern[want] == text[at] {
                at += 1
                want += 1
            } else if let last = retry {
                retry = (last.at + 1, last.want)
                (at, want) = (last.at + 1, last.want)
            } else {
                return false
            }
        }
        return pattern[want...].allSatisfy { $0 == star }
    }
}

extension ProxyBypassRule: CustomStringConvertible {
    /// The rule as it was written.
    public var description: String { text }
}
