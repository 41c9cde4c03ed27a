internal import HTTPAuth

/// A D-Bus value.
///
/// Byte arrays have their own case, because in the messages of this package they hold secrets.
indirect enum DBusValue: Hashable {
    /// A number or another type of fixed size, as its bits.
    case number(DBusType.Number, UInt64)
    case string(String)
    case path(String)
    case signature(String)
    case bytes(Secret)
    case array(DBusType, [DBusValue])
    case structure([DBusValue])
    case entry(DBusValue, DBusValue)
    case variant(DBusValue)

    static func boolean(_ value: Bool) -> DBusValue { .number(.boolean, value ? 1 : 0) }

    /// Creates a dictionary of strings.
    static func dictionary(_ texts: [String: String]) -> DBusValue {
        .array(
            .entry(key: .string, value: .string),
            texts.sorted { $0.key < $1.key }.map { .entry(.string($0.key), .string($0.value)) })
    }

    static func paths(_ paths: [String]) -> DBusValue { .array(.path, paths.map { .path($0) }) }

    var type: DBusType {
        switch self {
        case .number(let number, _): .number(number)
        case .string: .string
        case .path: .path
        case .signature: .signature
        case .bytes: .array(.byte)
        case .array(let element, _): .array(element)
        case .structure(let members): .structure(members.map(\.type))
        case .entry(let key, let value): .entry(key: key.type, value: value.type)
        case .variant: .variant
        }
    }
}

extension DBusValue {
    /// Returns whether a text is a valid object path (D-Bus specification, "Valid Object Paths"). A valid path contains
    /// no character with a special meaning in a match rule.
    static func isPath(_ text: String) -> Bool {
        if text == "/" { return true }
        let elements = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return elements.count > 1 && elements[0].isEmpty
            && elements.dropFirst().allSatisfy { !$0.isEmpty && $0.allSatisfy(isPathByte) }
    }

    private static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// The contents of a value; nil if it has another type.
extension DBusValue {
    var bits: UInt64? { if case .number(_, let bits) = self { bits } else { nil } }
    var isTrue: Bool? { if case .number(.boolean, let bits) = self { bits != 0 } else { nil } }
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var path: String? { if case .path(let path) = self { path } else { nil } }
    var bytes: Secret? { if case .bytes(let bytes) = self { bytes } else { nil } }
    var elements: [DBusValue]? { if case .array(_, let elements) = self { elements } else { nil } }
    var members: [DBusValue]? { if case .structure(let members) = self { members } else { nil } }
    var content: DBusValue? { if case .variant(let content) = self { content } else { nil } }

    /// The elements of an array of object paths.
    var paths: [String]? { elements?.compactMap(\.path) }

    /// The entries of a dictionary with string or object path keys.
    var dictionary: [String: DBusValue]? {
        elements.map { elements in
            var dictionary: [String: DBusValue] = [:]
            for case .entry(let key, let value) in elements {
                if let key = key.string ?? key.path { dictionary[key] = value }
            }
            return dictionary
        }
    }
}

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
    /// The maximum length of a signature, in bytes.
    static let maximumSignatureLength = 255
    /// The maximum nesting depth of a signature's types.
    static let maximumDepth = 32

    /// Parses a signature.
    static func parse(_ signature: String) throws(HTTPAuthError) -> [DBusType] {
        guard signature.utf8.count <= maximumSignatureLength else { throw .malformedMessage("signature too long") }
        var rest = signature[...]
        var types: [DBusType] = []
        while !rest.isEmpty { types.append(try next(&rest, depth: 0)) }
        return types
    }

    private static func next(
        _ rest: inout Substring, depth: Int, inArray: Bool = false
    ) throws(HTTPAuthError) -> DBusType {
        guard depth <= maximumDepth, let letter = rest.popFirst() else { throw .malformedMessage("invalid signature") }
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
