internal import HostResolver

/// The hosts that are reached without a proxy.
///
/// ```swift
/// let list = ProxyBypassList(noProxy: "localhost, .example.org, 10/8, [2001:db8::]/32, build.test:8080")
/// list.covers(host: "www.example.org", port: 443)    // true
/// list.unreadable                                    // []
/// ```
public struct ProxyBypassList: Sendable, Hashable {
    /// The rules, in the order in which they were written.
    public var rules: [ProxyBypassRule]

    /// Elements that make no sense, for people to look at; they cover nothing.
    public let unreadable: [String]

    /// No rules: every host goes through the proxy.
    public static let none = ProxyBypassList([])

    /// A list of rules.
    public init(_ rules: [ProxyBypassRule]) {
        self.rules = rules
        unreadable = []
    }

    /// Reads a `no_proxy` variable: elements that are separated by commas, with spaces around them or not.
    ///
    /// An element with a space inside is unreadable. curl takes the word before the space and nothing behind it.
    public init(noProxy text: String) {
        self.init(text.split(separator: ",").map { ProxyBypassList.trimmed($0) }) { ProxyBypassRule(noProxy: $0) }
    }

    /// Reads an exceptions list of Apple's settings. Replaces `kCFNetworkProxiesExceptionsList`.
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

    /// Whether a rule is about this host: a name or an address, IPv6 with or without brackets.
    ///
    /// Case does not matter, nor does a final dot. `port` is the one that will be connected to; rules about one port
    /// cover nothing without it.
    public func covers(host: String, port: UInt16? = nil) -> Bool {
        let host = Host(host)
        return rules.contains { $0.covers(host, port: port) }
    }

    /// A host to be judged.
    enum Host {
        case name(String)
        case address(IPAddress)

        init(_ text: String) {
            let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
            if case .v6(let address)? = IPAddress(bare) {
                // The zone says where the host is, not who it is.
                self = .address(.v6(IPv6Address(rawValue: address.rawValue)))
            } else if let address = IPAddress(bare) {
                self = .address(address)
            } else {
                self = .name(ProxyBypassList.normalized(bare[...]))
            }
        }

        /// This machine, whatever it is called.
        var isLoopback: Bool {
            switch self {
            case .name(let name): name == "localhost" || name.hasSuffix(".localhost")
            case .address(let address): address.isLoopback
            }
        }

        var isSimpleName: Bool { if case .name(let name) = self { !name.contains(".") } else { false } }
    }

    /// Lower case, without the final dot, international labels in ASCII where they can be converted.
    static func normalized(_ name: Substring) -> String {
        var text = name.lowercased()
        if text.utf8.contains(where: { $0 >= 0x80 }), !text.contains("*") {
            let dot = text.hasPrefix(".") ? "." : ""
            // A name that cannot be converted is one that no connection is made to.
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
