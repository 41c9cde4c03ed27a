/// The protocol of a service and its transport, such as `_http._tcp`.
///
/// ```swift
/// let web = try ServiceType("_http._tcp")
/// let printers = try ServiceType("_ipp._tcp,_universal,_print")     // with subtypes, for publishing
/// printers.subtypes                                                 // ["_universal", "_print"]
/// web == (try ServiceType("_HTTP._TCP."))                           // true
/// ```
///
/// The application label has 1 to 15 letters, digits and hyphens, at least one letter, no hyphen at either end, and no
/// two hyphens in a row (RFC 6335 §5.1). Types received from the network may break these rules and are returned
/// unchanged, unless their text would mean another type: see ``ServiceInstance/init(fullName:)``.
public struct ServiceType: Sendable {
    /// The transport protocol.
    public enum Transport: String, Hashable, Sendable {
        /// `_tcp`.
        case tcp = "_tcp"
        /// `_udp`, which also stands for all other transports (RFC 6763 §7).
        case udp = "_udp"
    }

    /// The largest size of an application label without the underscore, in bytes (RFC 6763 §7.2).
    static let maximumApplicationLength = 15
    /// The most subtypes of one service.
    static let maximumSubtypes = 32

    /// The application label with its underscore, such as `_http`.
    public let application: String
    /// The transport protocol.
    public let transport: Transport
    /// Subtypes, which are narrower kinds of the type (RFC 6763 §7.1). A service is published under all of them; a
    /// browser looks for the first one.
    public let subtypes: [String]

    /// Parses `_application._tcp` or `_application._udp`, followed by any number of `,subtype`.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidType`` with the broken rule.
    public init(_ text: String) throws(ServiceDiscoveryError) {
        try self.init(text, rule: Self.brokenRule)
    }

    /// Parses the same, with any application label that begins with an underscore: services of other hosts have labels that break the rules.
    package init(browsedByProgram text: String) throws(ServiceDiscoveryError) {
        try self.init(text, rule: Self.brokenBrowsingRule)
    }

    /// Parses the same, with an application label as Apple's library registers it. Programs in C have labels of more than 15 characters, such as
    /// Barrier's `_barrierServerZeroconf`, and underscores in them.
    package init(registeredByProgram text: String) throws(ServiceDiscoveryError) {
        try self.init(text) { label in
            Self.brokenBrowsingRule(of: label)
                ?? Self.brokenCharacterRule(of: Array(label.utf8.dropFirst()), marks: Array("-_".utf8))
        }
    }

    /// - Parameter rule: the rule that an application label breaks.
    private init(_ text: String, rule: (String) -> String?) throws(ServiceDiscoveryError) {
        let separator = (comma: UInt8(ascii: ","), dot: UInt8(ascii: "."))
        var parts = text.utf8.split(separator: separator.comma, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        var base = Substring(parts.removeFirst()).utf8
        if base.last == separator.dot { base = base.dropLast() }
        let labels = base.split(separator: separator.dot, omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
        guard labels.count == 2 else { throw Self.invalid(text, "it must have two parts, as in _http._tcp") }
        guard let transport = Transport(rawValue: labels[1].lowercased()) else {
            throw Self.invalid(text, "it must end in _tcp or _udp")
        }
        if let rule = rule(labels[0]) { throw Self.invalid(text, rule) }
        guard parts.count <= Self.maximumSubtypes else { throw Self.invalid(text, "too many subtypes") }
        for subtype in parts where !(1...63).contains(subtype.utf8.count) {
            throw Self.invalid(text, "a subtype must have 1 to 63 bytes")
        }
        self.init(application: labels[0], transport: transport, subtypes: parts)
    }

    /// Parses two labels of a DNS name; nil if they are no type, or if its text would be misread: with a control character, a space, or a
    /// mark that separates or escapes parts of a text.
    init?(labels: ArraySlice<[UInt8]>) {
        guard labels.count == 2, let first = labels.first, let last = labels.last, first.first == UInt8(ascii: "_"),
            !first.contains(where: { $0 <= 0x20 || $0 == 0x7F || Self.marks.contains($0) }),
            let application = String(validating: first, as: UTF8.self),
            let transport = Transport(rawValue: String(decoding: last, as: UTF8.self).lowercased())
        else { return nil }
        self.init(application: application, transport: transport, subtypes: [])
    }

    private init(application: String, transport: Transport, subtypes: [String]) {
        self.application = application
        self.transport = transport
        self.subtypes = subtypes
    }

    /// The same type without subtypes, as it is part of a service's name.
    public var base: ServiceType { ServiceType(application: application, transport: transport, subtypes: []) }

    /// The two DNS labels.
    var labels: [[UInt8]] { [Array(application.utf8), Array(transport.rawValue.utf8)] }

    private static let hyphen = UInt8(ascii: "-")
    private static let marks = Array(".,\\".utf8)
    private static let underscoreRule = "it must begin with an underscore, as in _http._tcp"

    private static func brokenRule(of label: String) -> String? {
        guard label.hasPrefix("_") else { return underscoreRule }
        let letters = Array(label.utf8.dropFirst())
        guard (1...maximumApplicationLength).contains(letters.count) else {
            return "the part before the transport must have 1 to \(maximumApplicationLength) characters"
        }
        if let rule = brokenCharacterRule(of: letters, marks: [hyphen]) { return rule }
        if zip(letters, letters.dropFirst()).contains(where: { $0 == hyphen && $1 == hyphen }) {
            return "it must not contain two hyphens in a row"
        }
        return nil
    }

    private static func brokenBrowsingRule(of label: String) -> String? {
        guard label.hasPrefix("_") else { return underscoreRule }
        return (2...63).contains(label.utf8.count) ? nil : "the part before the transport must have 2 to 63 bytes"
    }

    /// - Parameter marks: what may be between letters and digits.
    private static func brokenCharacterRule(of letters: [UInt8], marks: [UInt8]) -> String? {
        let isLetter = letters.map { (0x61...0x7A).contains($0 | 0x20) }
        guard zip(letters, isLetter).allSatisfy({ $1 || (0x30...0x39).contains($0) || marks.contains($0) }) else {
            return "only letters, digits and hyphens are allowed"
        }
        if !isLetter.contains(true) { return "it must contain a letter" }
        if let first = letters.first, let last = letters.last, marks.contains(first) || marks.contains(last) {
            return "it must not begin or end with a hyphen"
        }
        return nil
    }

    private static func invalid(_ text: String, _ rule: String) -> ServiceDiscoveryError {
        ServiceDiscoveryError(.invalidType, name: text, detail: rule)
    }
}

extension ServiceType: Hashable {
    /// Whether the types are equal, without regard to case.
    public static func == (one: ServiceType, other: ServiceType) -> Bool {
        one.transport == other.transport && one.application.lowercased() == other.application.lowercased()
            && one.subtypes.map { $0.lowercased() } == other.subtypes.map { $0.lowercased() }
    }

    /// Hashes the values that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(application.lowercased())
        hasher.combine(transport)
        hasher.combine(subtypes.map { $0.lowercased() })
    }
}

extension ServiceType: CustomStringConvertible {
    /// The form that ``init(_:)`` parses, such as `_ipp._tcp,_print`.
    public var description: String {
        ([application + "." + transport.rawValue] + subtypes).joined(separator: ",")
    }
}
