/// The typed name of something a stream can tell or be told.
///
/// ```swift
/// try stream.set(.openLimit, to: .seconds(10))
/// let name = stream[.remoteHostName]
/// ```
///
/// Packages add their own as static members, as FTP and HTTP streams do. On a pair, a property set through either half
/// holds for both. Replaces the `kCFStreamProperty…` names.
public struct StreamProperty<Value: Sendable>: Sendable {
    /// When a property may be set. Reading is allowed at any time, also after close.
    public enum Access: Sendable, Hashable {
        /// Never; the stream tells it.
        case readOnly
        /// Until `open()`.
        case beforeOpen
        /// At any time until close.
        case always
    }

    /// The name under which values are stored; unique among all properties.
    public let name: String

    /// When it may be set.
    public let access: Access

    /// What reading gives while nobody has set it.
    public let defaultValue: Value?

    /// Makes a property; give it a name that begins with your package's.
    public init(_ name: String, access: Access, default defaultValue: Value? = nil) {
        self.name = name
        self.access = access
        self.defaultValue = defaultValue
    }
}

/// Values of properties, by name: what has been set on a stream, or what is to be set on one.
///
/// ```swift
/// var properties = StreamProperties()
/// properties[.openLimit] = .seconds(10)
/// let pair = StreamPair(host: "localhost", port: 80, properties: properties)
/// ```
public struct StreamProperties: Sendable {
    private struct Entry: Sendable {
        let name: String
        var value: any Sendable
    }

    // So few that looking through them costs less than hashing.
    private var entries: [Entry] = []

    /// No values.
    public init() {}

    /// True if nothing is set.
    public var isEmpty: Bool { entries.isEmpty }

    /// The value that was set, else the property's default.
    @inlinable
    public subscript<Value>(property: StreamProperty<Value>) -> Value? {
        get {
            // Most are not set; to find out by a cast of nil costs more than the search.
            guard let value = value(named: property.name) else { return property.defaultValue }
            return value as? Value ?? property.defaultValue
        }
        set { set(newValue, named: property.name) }
    }

    /// A value by its property's name, for transports; nil if none was set.
    public func value(named name: String) -> (any Sendable)? {
        index(of: name).map { entries[$0].value }
    }

    /// Takes over all values of `other`.
    mutating func merge(_ other: StreamProperties) {
        for entry in other.entries { set(entry.value, named: entry.name) }
    }

    /// A value by its property's name, for transports.
    public mutating func set(_ value: (any Sendable)?, named name: String) {
        switch (index(of: name), value) {
        case (let index?, let value?): entries[index].value = value
        case (let index?, nil): entries.remove(at: index)
        case (nil, let value?): entries.append(Entry(name: name, value: value))
        case (nil, nil): break
        }
    }

    private func index(of name: String) -> Int? {
        // Not firstIndex(where:), which would copy each value to show it.
        entries.withUnsafeBufferPointer { entries in
            entries.indices.first { entries[$0].name == name }
        }
    }
}
