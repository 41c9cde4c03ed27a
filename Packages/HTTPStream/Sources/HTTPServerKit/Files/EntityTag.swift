/// A validator of a representation (RFC 9110 §8.8.3).
struct EntityTag: Hashable, Sendable, CustomStringConvertible {
    let isWeak: Bool
    /// The text in the quotes.
    let opaque: String

    init(_ opaque: String, isWeak: Bool = false) {
        self.opaque = opaque
        self.isWeak = isWeak
    }

    var description: String { "\(isWeak ? "W/" : "")\"\(opaque)\"" }

    /// Whether both are equal byte by byte of the representation: neither is weak.
    func isStronglyEqual(to other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

    /// Whether both name an equivalent representation.
    func isWeaklyEqual(to other: EntityTag) -> Bool { opaque == other.opaque }

    /// The tags of a field; nil if it is malformed. Commas within the quotes do not separate.
    static func list(_ text: String) -> [EntityTag]? {
        var tags: [EntityTag] = []
        var rest = text[...]
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
            if rest.isEmpty { return tags.isEmpty ? nil : tags }
            let isWeak = rest.hasPrefix("W/")
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.popFirst() == "\"", let end = rest.firstIndex(of: "\"") else { return nil }
            tags.append(EntityTag(String(rest[..<end]), isWeak: isWeak))
            rest = rest[rest.index(after: end)...].drop { $0 == " " || $0 == "\t" }
            guard rest.isEmpty || rest.first == "," else { return nil }
        }
    }
}
