/// One field line of a message: a view of the message's bytes, from which strings are made when they are asked for.
///
/// ```swift
/// for field in response.fields {
///     print(field.name, field.value)
/// }
/// ```
public struct HTTPField {
    let storage: HeadStorage
    let index: Int

    /// The name, in the letter case in which it arrived or was set.
    public var name: HTTPFieldName {
        HTTPFieldName(unchecked: String(decoding: storage.slice(storage.slots[index].name), as: UTF8.self))
    }

    /// The value without whitespace at its ends: as UTF-8 where its bytes are that, else as ISO 8859-1.
    public var value: String { storage.text(index) }

    /// The bytes of the value, whatever they mean.
    public var rawValue: [UInt8] { storage.value(index) }
}

// Only values reach a storage, and they change it only while no other value refers to it: see HTTPFields.
extension HTTPField: @unchecked Sendable {}

extension HTTPField: Hashable, CustomStringConvertible {
    /// Whether name (without regard to case) and value are the same.
    public static func == (a: HTTPField, b: HTTPField) -> Bool {
        a.name == b.name && a.rawValue == b.rawValue
    }

    /// Hashes name (without regard to case) and value.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(rawValue)
    }

    /// `name: value`.
    public var description: String { "\(name): \(value)" }
}
