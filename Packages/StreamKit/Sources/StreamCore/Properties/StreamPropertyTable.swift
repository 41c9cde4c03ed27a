/// The properties that a kind of stream honours, one row each. Every other setting is refused.
///
/// ```swift
/// extension StreamKind {
///     static let mailbox = StreamKind("a mailbox", StreamPropertyTable.connection.using(.folderName).telling(.messageCount))
/// }
/// ```
///
/// The role of a row also determines which properties the users of a shared connection must agree on
/// (``ConnectionShape``): rows made with ``connecting(_:)`` are compared, rows made with ``using(_:)`` are not.
@_spi(Packages) public struct StreamPropertyTable: Sendable {
    /// The role of a property.
    public enum Role: Sendable, Hashable, CaseIterable {
        /// It determines the connection: streams share a connection only if their values are equal.
        case connecting
        /// It applies to one opening, transfer or stream, whatever the connection.
        case using
        /// The stream provides it; it cannot be set.
        case telling
    }

    struct Row: Sendable {
        package let role: Role
        /// The value if none is set.
        package let defaultValue: (any Sendable)?
        let areEqual: @Sendable (any Sendable, any Sendable) -> Bool
    }

    private(set) var rows: [String: Row] = [:]

    /// Makes a table without rows.
    public init() {}

    /// The names of all properties with a row, sorted.
    public var names: [String] { rows.keys.sorted() }

    /// The role of a property; nil if the table has no row for it.
    public func role(of name: String) -> Role? { rows[name]?.role }

    /// True if the property of that name can be set.
    public func honours(_ name: String) -> Bool {
        switch rows[name]?.role {
        case .connecting?, .using?: true
        case .telling?, nil: false
        }
    }

    // MARK: Rows

    /// Adds a property that determines the connection: streams share a connection only if their values are equal.
    public func connecting<Value: Equatable>(_ property: StreamProperty<Value>) -> Self {
        connecting(property) { $0 == $1 }
    }

    /// Adds a property that determines the connection, whose values are compared by `areEqual`.
    public func connecting<Value>(
        _ property: StreamProperty<Value>, comparedBy areEqual: @escaping @Sendable (Value, Value) -> Bool
    ) -> Self {
        adding(
            property.name,
            Row(role: .connecting, defaultValue: property.defaultValue) { left, right in
                guard let left = left as? Value, let right = right as? Value else { return false }
                return areEqual(left, right)
            })
    }

    /// Adds a property that applies to one opening, transfer or stream.
    public func using<Value>(_ property: StreamProperty<Value>) -> Self {
        adding(property.name, Row(role: .using, defaultValue: property.defaultValue) { _, _ in true })
    }

    /// Adds a property that the stream provides and that cannot be set.
    public func telling<Value>(_ property: StreamProperty<Value>) -> Self {
        adding(property.name, Row(role: .telling, defaultValue: property.defaultValue) { _, _ in true })
    }

    /// Adds the rows of another table.
    public func including(_ other: StreamPropertyTable) -> Self {
        var table = self
        table.rows.merge(other.rows) { _, new in new }
        return table
    }

    /// Adds the rows of the options of a structure, without those of some fields.
    public func including<Options>(
        _ options: StreamOptionTable<Options>, without fields: [PartialKeyPath<Options>] = []
    ) -> Self {
        options.add(to: self, without: fields)
    }

    /// Removes the row of a property.
    public func without<Value>(_ property: StreamProperty<Value>) -> Self {
        var table = self
        table.rows[property.name] = nil
        return table
    }

    private func adding(_ name: String, _ row: Row) -> Self {
        var table = self
        table.rows[name] = row
        return table
    }
}

/// The properties that determine a connection: all streams that share a connection must agree on them.
///
/// A connection pool compares shapes. A shape is derived from the streams' table, so no property of a connection can be
/// forgotten.
@_spi(Packages) public struct ConnectionShape: Sendable, Equatable {
    private struct Part: Sendable {
        let name: String
        let row: StreamPropertyTable.Row
        let value: any Sendable
    }

    // Sorted by name. Values equal to the default of their property are omitted.
    private let parts: [Part]
    private let properties: StreamProperties

    /// Makes the shape of a connection opened with these properties by a stream with this table.
    public init(of properties: StreamProperties, in table: StreamPropertyTable) {
        var parts: [Part] = []
        properties.forEach { key, value in
            guard let row = table.rows[key.name], row.role == .connecting else { return }
            if let usual = row.defaultValue, row.areEqual(usual, value) { return }
            parts.append(Part(name: key.name, row: row, value: value))
        }
        if parts.count > 1 { parts.sort { $0.name < $1.name } }
        self.parts = parts
        self.properties = properties
    }

    /// True if all properties that determine the connection have their defaults.
    public var isUsual: Bool { parts.isEmpty }

    /// Compares all properties that determine the connection.
    public static func == (left: ConnectionShape, right: ConnectionShape) -> Bool {
        left.parts.count == right.parts.count
            && (left.properties.isCopy(of: right.properties)
                || zip(left.parts, right.parts).allSatisfy { $0.name == $1.name && $0.row.areEqual($0.value, $1.value) })
    }
}

extension StreamProperties {
    /// Separates the properties that determine the connection of a stream with this table from all others.
    ///
    /// The former are a copy of this value if there are no others: the shapes of such copies need not be compared.
    @_spi(Packages) public func split(by table: StreamPropertyTable) -> (ofConnection: Self, others: Self) {
        var (own, others) = (self, StreamProperties())
        forEach { key, value in
            if table.role(of: key.name) == .connecting, !key.isAlways, !key.isReadOnly { return }
            own.set(nil, for: key)
            others.set(value, for: key)
        }
        return (own, others)
    }
}
