/// A typed key for a value of a stream.
///
/// ```swift
/// try stream.set(.openTimeout, to: .seconds(10))
/// let name = stream[.remoteHostName]
/// ```
///
/// Packages add their own keys as static members, as FTP and HTTP streams do. On a pair, a property set through either
/// half applies to both. Replaces the `kCFStreamProperty…` names.
public struct StreamProperty<Value: Sendable>: Sendable {
    /// When a property may be set. Reading is allowed at any time, even after close.
    public enum Access: Sendable, Hashable {
        /// Never; the stream provides the value.
        case readOnly
        /// Before `open()`.
        case beforeOpen
        /// At any time before close.
        case always
    }

    /// The name of the stored value, unique among all properties.
    public let name: String

    /// When the property may be set.
    public let access: Access

    /// The value that is read if none has been set.
    public var defaultValue: Value? { makeDefault() }

    // Keys are made and destroyed with each use. A large optional value within them would cost more than the use itself.
    private let makeDefault: @Sendable () -> Value?

    /// True for a key of the caller's own, which every stream keeps and returns, without effect. False for a setting,
    /// which a stream accepts only if its ``StreamKind`` lists it.
    @_spi(Packages) public let isNote: Bool

    /// Makes a key of the caller's own; its name should begin with that of the caller's package.
    ///
    /// Every stream keeps and returns the value; a custom ``StreamTransport`` may use it.
    public init(
        _ name: String, access: Access, default defaultValue: @autoclosure @escaping @Sendable () -> Value? = nil
    ) {
        self.name = name
        self.access = access
        makeDefault = defaultValue
        isNote = true
    }

    /// Makes a setting: a property that changes what a stream does. A stream that does not honour it refuses it.
    ///
    /// A stream honours it if its ``StreamKind`` has a row for it or its transport accepts it
    /// (``StreamTransport/setProperty(_:named:)``). The properties of StreamKit, FTPStream and HTTPStream are settings.
    public init(
        setting name: String, access: Access, default defaultValue: @autoclosure @escaping @Sendable () -> Value? = nil
    ) {
        self.name = name
        self.access = access
        makeDefault = defaultValue
        isNote = false
    }

    /// Returns a value as the property's type; nil if it has another type. For transports.
    ///
    /// Nearly all values have exactly this type, and a comparison costs a fifth of a cast.
    @inlinable
    public static func typed(_ value: any Sendable) -> Value? {
        exactly(value) ?? value as? Value
    }

    @inlinable
    @inline(__always)
    package static func exactly<Other: Sendable>(_ other: Other) -> Value? {
        Other.self == Value.self ? unsafeBitCast(other, to: Value.self) : nil
    }

    /// The property without the type of its values.
    @usableFromInline
    package var key: StreamPropertyKey {
        StreamPropertyKey(name: name, isReadOnly: access == .readOnly, isAlways: access == .always, isNote: isNote)
    }
}

/// A property without the type of its values.
@usableFromInline
package struct StreamPropertyKey: Sendable {
    package let name: String
    package let isReadOnly: Bool
    /// True if it may be set on an open stream.
    package let isAlways: Bool
    package let isNote: Bool

    @usableFromInline
    init(name: String, isReadOnly: Bool, isAlways: Bool, isNote: Bool) {
        self.name = name
        self.isReadOnly = isReadOnly
        self.isAlways = isAlways
        self.isNote = isNote
    }
}

/// Values of properties, by name: those of a stream, or those to set on a new one.
///
/// ```swift
/// var properties = StreamProperties()
/// properties[.openTimeout] = .seconds(10)
/// let pair = StreamPair(host: "localhost", port: 80, properties: properties)
/// ```
///
/// A stream made with properties checks them as `set(_:to:)` does: opening fails, before anything else happens, if the
/// stream's kind does not honour one of them.
public struct StreamProperties: Sendable {
    private struct Entry: Sendable {
        let key: StreamPropertyKey
        var value: any Sendable
    }

    // There are so few that a linear search costs less than hashing.
    private var entries: [Entry] = []

    /// Makes an empty set of values.
    public init() {}

    /// True if no value is set.
    public var isEmpty: Bool { entries.isEmpty }

    /// The value that was set, otherwise the property's default.
    @inlinable
    public subscript<Value>(property: StreamProperty<Value>) -> Value? {
        get {
            // Most are not set, and casting nil would cost more than the search.
            guard let value = value(named: property.name) else { return property.defaultValue }
            return StreamProperty.typed(value) ?? property.defaultValue
        }
        set { set(newValue, for: property.key) }
    }

    /// The value of the property with this name, for transports; nil if none was set.
    public func value(named name: String) -> (any Sendable)? {
        index(of: name).map { entries[$0].value }
    }

    /// Sets all values of `other`.
    package mutating func merge(_ other: StreamProperties) {
        for entry in other.entries { set(entry.value, for: entry.key) }
    }

    /// Sets a setting by its name, for transports.
    @_spi(Packages) public mutating func set(_ value: (any Sendable)?, named name: String) {
        set(value, for: StreamPropertyKey(name: name, isReadOnly: false, isAlways: false, isNote: false))
    }

    @usableFromInline
    package mutating func set(_ value: (any Sendable)?, for key: StreamPropertyKey) {
        switch (index(of: key.name), value) {
        case (let index?, let value?): entries[index].value = value
        case (let index?, nil): entries.remove(at: index)
        case (nil, let value?): entries.append(Entry(key: key, value: value))
        case (nil, nil): break
        }
    }

    /// Calls `body` with each property that is set.
    package func forEach<Failure: Error>(
        _ body: (StreamPropertyKey, any Sendable) throws(Failure) -> Void
    ) throws(Failure) {
        for entry in entries { try body(entry.key, entry.value) }
    }

    /// Whether both are known to be copies of one value, whose parts need not be compared.
    @_spi(Packages) public func isCopy(of other: StreamProperties) -> Bool {
        entries.withUnsafeBufferPointer { own in
            other.entries.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress && own.count == $0.count }
        }
    }

    private func index(of name: String) -> Int? {
        // Not firstIndex(where:), which would copy each value for the closure.
        entries.withUnsafeBufferPointer { entries in
            entries.indices.first { entries[$0].key.name == name }
        }
    }
}
