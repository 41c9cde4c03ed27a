public import DNSWire

/// The identity of a service: its name, type and domain. Browsing returns it, resolving needs it, and programs save it.
///
/// ```swift
/// let service = try ServiceInstance(name: "Büro · 2. Stock", type: ServiceType("_ipp._tcp"))
/// service.description                 // "Büro · 2\. Stock._ipp._tcp.local."
/// let saved = try JSONEncoder().encode(service)
/// ```
///
/// Save this value, never the addresses and the port, which may change while the name stays the same (RFC 6763 §4.2).
/// Replaces the results of `CFNetServiceGetName`, `…GetType` and `…GetDomain`.
public struct ServiceInstance: Sendable {
    /// The maximum length of a name, in bytes of UTF-8 (RFC 6763 §4.1.1).
    public static let maximumNameLength = 63

    /// The name that users see: any text of 1 to 63 bytes of UTF-8, without control characters.
    public let name: String
    /// The type, without subtypes.
    public let type: ServiceType
    /// The domain.
    public let domain: ServiceDomain
    /// The DNS name of the service, which consists of name, type and domain.
    public let fullName: DNSName

    /// Creates the identity of a service.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidName`` if the name is empty, longer than
    ///   ``maximumNameLength`` bytes, or has control characters, or if the full name exceeds 255 bytes. Names are never
    ///   shortened.
    public init(name: String, type: ServiceType, domain: ServiceDomain = .local) throws(ServiceDiscoveryError) {
        guard !name.isEmpty else {
            throw ServiceDiscoveryError(.invalidName, name: name, detail: "it must not be empty")
        }
        guard name.utf8.count <= Self.maximumNameLength else {
            throw ServiceDiscoveryError(
                .invalidName, name: name, detail: "\(name.utf8.count) bytes of UTF-8; at most \(Self.maximumNameLength)"
            )
        }
        // RFC 6763 §4.1.1.
        guard !name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw ServiceDiscoveryError(.invalidName, name: name, detail: "it must not contain control characters")
        }
        guard let fullName = DNSName(labels: [Array(name.utf8)] + type.labels + domain.name.labels) else {
            throw ServiceDiscoveryError(.invalidName, name: name, detail: "it is too long together with its domain")
        }
        self.name = name
        self.type = type.base
        self.domain = domain
        self.fullName = fullName
    }

    /// Parses the DNS name of a service. Returns nil if it is not one: it has fewer than four labels, its second and
    /// third labels are not a type such as `_ipp._tcp`, or its first two labels are not UTF-8 or have control characters. In the label
    /// of the type, a space, dot, comma or backslash is not accepted either: the text of the type would mean another one.
    public init?(fullName: DNSName) {
        let labels = fullName.labels
        guard labels.count >= 4, let name = String(validating: labels[0], as: UTF8.self),
            !name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }),
            let type = ServiceType(labels: labels[1...2]), let domain = DNSName(labels: labels[3...])
        else { return nil }
        self.name = name
        self.type = type
        self.domain = ServiceDomain(name: domain)
        self.fullName = fullName
    }
}

extension ServiceInstance: Hashable {
    /// Whether the DNS names are equal, without regard to the case of ASCII letters.
    public static func == (one: ServiceInstance, other: ServiceInstance) -> Bool {
        one.fullName == other.fullName
    }

    /// Hashes the values that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fullName)
    }
}

extension ServiceInstance: CustomStringConvertible {
    /// The full name for display. Dots and backslashes in the name are escaped with a backslash, other characters are
    /// unchanged (RFC 6763 §4.3).
    public var description: String {
        let escaped = name.map { $0 == "." || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
        return "\(escaped).\(type).\(domain)"
    }
}

extension ServiceInstance: Codable {
    private enum CodingKeys: String, CodingKey {
        case name
        case type
        case domain
    }

    /// Decodes the form that ``encode(to:)`` writes.
    ///
    /// - Throws: `DecodingError`, or ``ServiceDiscoveryError`` for an invalid name, type or domain.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let name = try container.decode(String.self, forKey: .name)
        let type = try container.decode(String.self, forKey: .type)
        let domain = try container.decode(String.self, forKey: .domain)
        try self.init(name: name, type: ServiceType(type), domain: ServiceDomain(domain))
    }

    /// Encodes name, type and domain as strings.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(type.description, forKey: .type)
        try container.encode(domain.description, forKey: .domain)
    }
}

/// The domain in which a service is published or browsed: `local`, which is the network link, or a DNS domain.
///
/// ```swift
/// ServiceDomain.local.description              // "local."
/// try ServiceDomain("example.org") == ServiceDomain("Example.org.")    // true
/// ```
///
/// Domains with and without the final dot are equal. CFNetServices uses an empty string for "the default domains"; this
/// API uses nil.
public struct ServiceDomain: Hashable, Sendable {
    /// The domain's DNS name.
    public let name: DNSName

    /// The domain of the network link, resolved by multicast (RFC 6762 §3).
    public static let local = ServiceDomain(name: DNSName(labels: [Array("local".utf8)]) ?? .root)

    /// Creates a domain from its name.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidDomain`` for empty labels and for names over 255
    ///   bytes.
    public init(_ text: String) throws(ServiceDiscoveryError) {
        guard !text.isEmpty, text != ".", let name = DNSName(text) else {
            throw ServiceDiscoveryError(.invalidDomain, name: text)
        }
        self.name = name
    }

    /// Creates a domain from a DNS name.
    public init(name: DNSName) {
        self.name = name
    }

    /// Whether the domain is `local`, which is resolved by multicast; all others are resolved through the DNS.
    public var isLocal: Bool { self == .local }
}

extension ServiceDomain: CustomStringConvertible {
    /// The name with the final dot.
    public var description: String { name.description }
}

extension DNSName {
    /// Whether the name is resolved by multicast (RFC 6762 §3): `local`, and all names in it.
    var isLocal: Bool {
        labels.last?.elementsEqual("local".utf8) { $0 | 0x20 == $1 } ?? false
    }
}
