/// A D-Bus value.
///
/// Byte arrays have their own case, because in the messages of this package they hold secrets.
indirect enum DBusValue: Hashable {
    /// A number of fixed size, as its bits.
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
