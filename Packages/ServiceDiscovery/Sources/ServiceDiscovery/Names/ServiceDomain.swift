/// Where a service is published or looked for: `local`, the link at hand, or a domain of the DNS.
///
/// ```swift
/// ServiceDomain.local.description              // "local."
/// try ServiceDomain("example.org") == ServiceDomain("Example.org.")    // true
/// ```
///
/// With and without the final dot is the same domain here. An empty text, which CFNetServices takes for "the default
/// domains", is a missing domain in this API.
public struct ServiceDomain: Hashable, Sendable {
    /// The domain as the DNS has it.
    public let name: DNSName

    /// This link only, by multicast (RFC 6762 §3).
    public static let local = ServiceDomain(name: DNSName(labels: [Array("local".utf8)]) ?? .root)

    /// Reads a domain's name.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidDomain`` for empty labels, and names over 255 bytes.
    public init(_ text: String) throws(ServiceDiscoveryError) {
        guard !text.isEmpty, text != ".", let name = DNSName(text) else {
            throw ServiceDiscoveryError(.invalidDomain, name: text)
        }
        self.name = name
    }

    /// The domain with this name.
    public init(name: DNSName) {
        self.name = name
    }

    /// True for `local`: looked for by multicast. Everything else is asked of the DNS.
    public var isLocal: Bool { self == .local }
}

extension ServiceDomain: CustomStringConvertible {
    /// The name with the final dot.
    public var description: String { name.description }
}
