internal import HostResolver

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
        self.init(text.split(separator: ",").map { ProxyBypassList.trimmed($0) }) { ProxyBypassRule(noProxy: $0) }
    }

    /// Parses an exceptions list of Apple's settings. Replaces `kCFNetworkProxiesExceptionsList`.
    public init(exceptions: [String]) {
        self.init(exceptions.map { ProxyBypassList.trimmed($0[...]) }) { ProxyBypassRule(exception: $0) }
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

        init(_ text: String) {
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

    private static func trimmed(_ text: Substring) -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let front = text.drop(while: isBlank)
        return String(front.reversed().drop(while: isBlank).reversed())
    }
}
