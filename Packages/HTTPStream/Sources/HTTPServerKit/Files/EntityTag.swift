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
        let (quote, comma) = (UInt8(ascii: "\""), UInt8(ascii: ","))
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = text.utf8[...]
        while true {
            rest = rest.drop { isSpace($0) || $0 == comma }
            if rest.isEmpty { return tags.isEmpty ? nil : tags }
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.popFirst() == quote, let end = rest.firstIndex(of: quote) else { return nil }
            tags.append(EntityTag(String(Substring(rest[..<end])), isWeak: isWeak))
            rest = rest[end...].dropFirst().drop(while: isSpace)
            guard rest.isEmpty || rest.first == comma else { return nil }
        }
    }
}
