/// One service: the name that people see, its type, its domain. What browsing gives, what resolving needs, what to save.
///
/// ```swift
/// let service = try ServiceInstance(name: "Büro · 2. Stock", type: ServiceType("_ipp._tcp"))
/// service.description                 // "Büro · 2\. Stock._ipp._tcp.local."
/// let saved = try JSONEncoder().encode(service)
/// ```
///
/// Save this and never addresses or a port: they change while the name stays (RFC 6763 §4.2). Replaces what
/// `CFNetServiceGetName`, `…GetType` and `…GetDomain` give.
public struct ServiceInstance: Sendable {
    /// Most bytes of a name in UTF-8 (RFC 6763 §4.1.1).
    public static let longestName = 63

    /// The name for people: any text of 1 to 63 bytes of UTF-8, without control characters.
    public let name: String
    /// What it speaks; without subtypes.
    public let type: ServiceType
    /// Where it is.
    public let domain: ServiceDomain
    /// The three in one, as the DNS has them.
    public let fullName: DNSName

    /// Names a service.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidName`` for an empty name, one over ``longestName``
    ///   bytes, one with control characters, and where the domain makes the whole exceed 255 bytes. Nothing is cut.
    public init(name: String, type: ServiceType, domain: ServiceDomain = .local) throws(ServiceDiscoveryError) {
        guard !name.isEmpty else {
            throw ServiceDiscoveryError(.invalidName, name: name, detail: "it must not be empty")
        }
        guard name.utf8.count <= Self.longestName else {
            throw ServiceDiscoveryError(
                .invalidName, name: name, detail: "\(name.utf8.count) bytes of UTF-8; at most \(Self.longestName)")
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

    /// Takes a name from the wire apart; nil if it is no service's: fewer than four labels, no transport in third place, a
    /// first label that is no UTF-8 or has control characters.
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
    /// Equal if the names on the wire are: but for the case of ASCII letters.
    public static func == (one: ServiceInstance, other: ServiceInstance) -> Bool {
        one.fullName == other.fullName
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fullName)
    }
}

extension ServiceInstance: CustomStringConvertible {
    /// The full name for people: letters as they are, dots and backslashes in the name with a backslash before them
    /// (RFC 6763 §4.3).
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

    /// Reads what ``encode(to:)`` wrote.
    ///
    /// - Throws: `DecodingError`, or ``ServiceDiscoveryError`` for a name, type or domain that is none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let name = try container.decode(String.self, forKey: .name)
        let type = try container.decode(String.self, forKey: .type)
        let domain = try container.decode(String.self, forKey: .domain)
        try self.init(name: name, type: ServiceType(type), domain: ServiceDomain(domain))
    }

    /// Writes name, type and domain as texts.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(type.description, forKey: .type)
        try container.encode(domain.description, forKey: .domain)
    }
}
