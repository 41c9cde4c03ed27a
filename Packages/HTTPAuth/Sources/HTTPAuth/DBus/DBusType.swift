/// A D-Bus type, as written in signatures (D-Bus specification, "Type system").
indirect enum DBusType: Hashable, Sendable {
    case number(Number)
    case string
    case path
    case signature
    case array(DBusType)
    case structure([DBusType])
    case entry(key: DBusType, value: DBusType)
    case variant

    /// The types of fixed size, with their signature letters.
    enum Number: Character, CaseIterable, Sendable {
        case byte = "y"
        case boolean = "b"
        case int16 = "n"
        case uint16 = "q"
        case int32 = "i"
        case uint32 = "u"
        case int64 = "x"
        case uint64 = "t"
        case double = "d"
        case descriptor = "h"

        var size: Int {
            switch self {
            case .byte: 1
            case .int16, .uint16: 2
            case .boolean, .int32, .uint32, .descriptor: 4
            case .int64, .uint64, .double: 8
            }
        }
    }

    static let byte = DBusType.number(.byte)

    /// The alignment of its values, in bytes.
    var alignment: Int {
        switch self {
        case .number(let number): number.size
        case .string, .path, .array: 4
        case .signature, .variant: 1
        case .structure, .entry: 8
        }
    }

    /// The signature of the type.
    var text: String {
        switch self {
        case .number(let number): String(number.rawValue)
        case .string: "s"
        case .path: "o"
        case .signature: "g"
        case .array(let element): "a\(element.text)"
        case .structure(let members): "(\(members.map(\.text).joined()))"
        case .entry(let key, let value): "{\(key.text)\(value.text)}"
        case .variant: "v"
        }
    }
}

extension DBusType {
    /// The maximum length of a signature in bytes, and the maximum nesting depth of its types.
    static let signatureLimit = 255
    static let depthLimit = 32

    /// Parses a signature.
    static func parse(_ signature: String) throws(HTTPAuthError) -> [DBusType] {
        guard signature.utf8.count <= signatureLimit else { throw .malformedMessage("signature too long") }
        var rest = signature[...]
        var types: [DBusType] = []
        while !rest.isEmpty { types.append(try next(&rest, depth: 0)) }
        return types
    }

    private static func next(
        _ rest: inout Substring, depth: Int, inArray: Bool = false
    ) throws(HTTPAuthError) -> DBusType {
        guard depth <= depthLimit, let letter = rest.popFirst() else { throw .malformedMessage("invalid signature") }
        if let number = Number(rawValue: letter) { return .number(number) }
        switch letter {
        case "s": return .string
        case "o": return .path
        case "g": return .signature
        case "v": return .variant
        case "a": return .array(try next(&rest, depth: depth + 1, inArray: true))
        case "(":
            var members: [DBusType] = []
            repeat { members.append(try next(&rest, depth: depth + 1)) } while rest.first != ")"
            rest.removeFirst()
            return .structure(members)
        case "{" where inArray:
            let (key, value) = (try next(&rest, depth: depth + 1), try next(&rest, depth: depth + 1))
            guard rest.popFirst() == "}" else { throw .malformedMessage("invalid signature") }
            return .entry(key: key, value: value)
        default: throw .malformedMessage("invalid signature")
        }
    }
}

extension HTTPAuthError {
    /// An error for a message that violates the D-Bus specification.
    static func malformedMessage(_ what: String) -> HTTPAuthError {
        HTTPAuthError(.storeUnavailable, detail: "the session bus sent a malformed message: \(what)")
    }
}
