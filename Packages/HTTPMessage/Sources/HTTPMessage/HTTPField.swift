/// A field of a message: a view of the message's bytes that creates strings on demand.
///
/// ```swift
/// for field in response.fields {
///     print(field.name, field.value)
/// }
/// ```
public struct HTTPField {
    let storage: HeadStorage
    let index: Int

    /// The name, in the letter case in which it was received or set.
    public var name: HTTPFieldName {
        HTTPFieldName(unchecked: String(decoding: storage.slice(storage.slots[index].name), as: UTF8.self))
    }

    /// The value without leading and trailing whitespace, decoded as UTF-8 if it is valid UTF-8, otherwise as ISO 8859-1.
    public var value: String { storage.text(index) }

    /// The bytes of the value, undecoded.
    public var rawValue: [UInt8] { storage.value(index) }
}

// HTTPFields changes a storage only while no other value refers to it, so a field never sees a change.
extension HTTPField: @unchecked Sendable {}

extension HTTPField: Hashable, CustomStringConvertible {
    /// Whether both fields have the same name, ignoring case, and the same value.
    public static func == (a: HTTPField, b: HTTPField) -> Bool {
        a.name == b.name && a.rawValue == b.rawValue
    }

    /// Hashes the name, ignoring case, and the value.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(rawValue)
    }

    /// The field as `name: value`.
    public var description: String { "\(name): \(value)" }
}
