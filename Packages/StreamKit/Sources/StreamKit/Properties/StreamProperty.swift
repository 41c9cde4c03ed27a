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

    /// True for a key of the caller's own, which every stream keeps and returns and which changes nothing. False for a
    /// setting: a stream accepts it only if its ``StreamKind`` lists it.
    public let isNote: Bool

    /// Makes a key of the caller's own; give it a name that begins with your package's.
    ///
    /// Every stream keeps the value and returns it, unless a ``StreamTransport`` of yours does more with it.
    public init(_ name: String, access: Access, default defaultValue: Value? = nil) {
        self.name = name
        self.access = access
        self.defaultValue = defaultValue
        isNote = true
    }

    /// Makes a setting: a property that changes what a stream does, and that a stream which does not honour it refuses.
    ///
    /// A stream honours it if its ``StreamKind`` has a row for it, or its transport takes it
    /// (``StreamTransport/setProperty(_:named:)``). All properties of StreamKit, FTPStream and NetKit are settings, except
    /// those that say otherwise.
    public init(setting name: String, access: Access, default defaultValue: Value? = nil) {
        self.name = name
        self.access = access
        self.defaultValue = defaultValue
        isNote = false
    }

    /// The property without the type of its values.
    @usableFromInline
    var key: StreamPropertyKey {
        StreamPropertyKey(name: name, isReadOnly: access == .readOnly, isAlways: access == .always, isNote: isNote)
    }
}

/// A property without the type of its values.
@usableFromInline
struct StreamPropertyKey: Sendable {
    let name: String
    let isReadOnly: Bool
    /// It may be set on an open stream.
    let isAlways: Bool
    let isNote: Bool

    @usableFromInline
    init(name: String, isReadOnly: Bool, isAlways: Bool, isNote: Bool) {
        self.name = name
        self.isReadOnly = isReadOnly
        self.isAlways = isAlways
        self.isNote = isNote
    }
}

/// Values of properties, by name: what has been set on a stream, or what is to be set on one.
///
/// ```swift
/// var properties = StreamProperties()
/// properties[.openLimit] = .seconds(10)
/// let pair = StreamPair(host: "localhost", port: 80, properties: properties)
/// ```
///
/// A stream that is made with properties checks them as `set(_:to:)` does: opening one that was given a property of another
/// kind of stream fails, before anything is done.
public struct StreamProperties: Sendable {
    private struct Entry: Sendable {
        let key: StreamPropertyKey
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
        set { set(newValue, for: property.key) }
    }

    /// A value by its property's name, for transports; nil if none was set.
    public func value(named name: String) -> (any Sendable)? {
        index(of: name).map { entries[$0].value }
    }

    /// Takes over all values of `other`.
    mutating func merge(_ other: StreamProperties) {
        for entry in other.entries { set(entry.value, for: entry.key) }
    }

    /// A value by its property's name, for transports: of a setting.
    public mutating func set(_ value: (any Sendable)?, named name: String) {
        set(value, for: StreamPropertyKey(name: name, isReadOnly: false, isAlways: false, isNote: false))
    }

    @usableFromInline
    mutating func set(_ value: (any Sendable)?, for key: StreamPropertyKey) {
        switch (index(of: key.name), value) {
        case (let index?, let value?): entries[index].value = value
        case (let index?, nil): entries.remove(at: index)
        case (nil, let value?): entries.append(Entry(key: key, value: value))
        case (nil, nil): break
        }
    }

    /// Calls `body` with each property that is set.
    func forEach(_ body: (StreamPropertyKey, any Sendable) -> Void) {
        for entry in entries { body(entry.key, entry.value) }
    }

    private func index(of name: String) -> Int? {
        // Not firstIndex(where:), which would copy each value to show it.
        entries.withUnsafeBufferPointer { entries in
            entries.indices.first { entries[$0].key.name == name }
        }
    }
}
