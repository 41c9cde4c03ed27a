/// What a service speaks, and over what: `_http._tcp`.
///
/// ```swift
/// let web = try ServiceType("_http._tcp")
/// let printers = try ServiceType("_ipp._tcp,_universal,_print")     // with subtypes, for publishing
/// printers.subtypes                                                 // ["_universal", "_print"]
/// web == (try ServiceType("_HTTP._TCP."))                           // true
/// ```
///
/// The application's label has 1 to 15 letters, digits and single hyphens, at least one letter, and no hyphen at either
/// end (RFC 6335 §5.1). What comes from the network may break that rule and is shown as it is.
public struct ServiceType: Sendable {
    /// What carries the protocol.
    public enum Transport: String, Hashable, Sendable {
        /// `_tcp`.
        case tcp = "_tcp"
        /// `_udp`, which also stands for everything else (RFC 6763 §7).
        case udp = "_udp"
    }

    /// Most bytes of an application's label, without the underscore (RFC 6763 §7.2).
    public static let longestApplication = 15
    /// Most subtypes of one service.
    public static let mostSubtypes = 32

    /// The application's label, with its underscore: `_http`.
    public let application: String
    /// What carries it.
    public let transport: Transport
    /// Subtypes, narrower kinds within the type (RFC 6763 §7.1): all that a service is to be found under, or, for
    /// browsing, the one that is looked for.
    public let subtypes: [String]

    /// Reads `_application._tcp` or `_application._udp`, with `,subtype` any number of times behind.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidType`` with the rule that is broken.
    public init(_ text: String) throws(ServiceDiscoveryError) {
        var parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        var base = Substring(parts.removeFirst())
        if base.hasSuffix(".") { base = base.dropLast() }
        let labels = base.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard labels.count == 2 else { throw Self.invalid(text, "it must have two parts, as in _http._tcp") }
        guard let transport = Transport(rawValue: labels[1].lowercased()) else {
            throw Self.invalid(text, "it must end in _tcp or _udp")
        }
        if let rule = Self.brokenRule(of: labels[0]) { throw Self.invalid(text, rule) }
        guard parts.count <= Self.mostSubtypes else { throw Self.invalid(text, "too many subtypes") }
        for subtype in parts where !(1...63).contains(subtype.utf8.count) {
            throw Self.invalid(text, "a subtype must have 1 to 63 bytes")
        }
        self.init(application: labels[0], transport: transport, subtypes: parts)
    }

    /// The type that two labels of a name on the wire stand for; nil if they are none.
    init?(labels: ArraySlice<[UInt8]>) {
        guard labels.count == 2, let first = labels.first, let last = labels.last, first.first == UInt8(ascii: "_"),
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

    /// The same type without subtypes: the one that is part of a service's name.
    public var base: ServiceType { ServiceType(application: application, transport: transport, subtypes: []) }

    /// The two labels on the wire.
    var labels: [[UInt8]] { [Array(application.utf8), Array(transport.rawValue.utf8)] }

    private static func brokenRule(of label: String) -> String? {
        guard label.hasPrefix("_") else { return "it must begin with an underscore, as in _http._tcp" }
        let letters = Array(label.utf8.dropFirst())
        guard (1...longestApplication).contains(letters.count) else {
            return "the part before the transport must have 1 to \(longestApplication) characters"
        }
        let isLetter = letters.map { (0x61...0x7A).contains($0 | 0x20) }
        let isHyphen = letters.map { $0 == UInt8(ascii: "-") }
        let isDigit = letters.map { (0x30...0x39).contains($0) }
        guard (0..<letters.count).allSatisfy({ isLetter[$0] || isHyphen[$0] || isDigit[$0] }) else {
            return "only letters, digits and hyphens are allowed"
        }
        if !isLetter.contains(true) { return "it must contain a letter" }
        if isHyphen.first == true || isHyphen.last == true { return "it must not begin or end with a hyphen" }
        if zip(isHyphen, isHyphen.dropFirst()).contains(where: { $0 && $1 }) {
            return "it must not contain two hyphens in a row"
        }
        return nil
    }

    private static func invalid(_ text: String, _ rule: String) -> ServiceDiscoveryError {
        ServiceDiscoveryError(.invalidType, name: text, detail: rule)
    }
}

extension ServiceType: Hashable {
    /// Equal but for the case of letters.
    public static func == (one: ServiceType, other: ServiceType) -> Bool {
        one.transport == other.transport && one.application.lowercased() == other.application.lowercased()
            && one.subtypes.map { $0.lowercased() } == other.subtypes.map { $0.lowercased() }
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(application.lowercased())
        hasher.combine(transport)
        hasher.combine(subtypes.map { $0.lowercased() })
    }
}

extension ServiceType: CustomStringConvertible {
    /// The form that ``init(_:)`` reads: `_ipp._tcp,_print`.
    public var description: String {
        ([application + "." + transport.rawValue] + subtypes).joined(separator: ",")
    }
}
