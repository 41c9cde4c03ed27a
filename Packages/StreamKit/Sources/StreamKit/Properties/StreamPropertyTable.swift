/// The properties that a kind of stream honours, one row for each; every other setting is refused.
///
/// ```swift
/// extension StreamKind {
///     static let mailbox = StreamKind("a mailbox", StreamPropertyTable.connection.using(.folderName).telling(.messageCount))
/// }
/// ```
///
/// The column of a row says what a shared connection must have in common (``ConnectionShape``): rows made with
/// ``connecting(_:)`` are compared, rows made with ``using(_:)`` are not.
public struct StreamPropertyTable: Sendable {
    /// What a property does.
    public enum Role: Sendable, Hashable, CaseIterable {
        /// It makes a connection another one: a connection is shared only by streams that agree on it.
        case connecting
        /// It holds for one opening, transfer or stream, whatever the connection.
        case using
        /// The stream returns it; nothing sets it.
        case telling
    }

    struct Row: Sendable {
        let role: Role
        /// The value while none is set.
        let defaultValue: (any Sendable)?
        let areEqual: @Sendable (any Sendable, any Sendable) -> Bool
    }

    private(set) var rows: [String: Row] = [:]

    /// A table without rows.
    public init() {}

    /// The names of all properties with a row, sorted.
    public var names: [String] { rows.keys.sorted() }

    /// What a property does; nil if it is refused.
    public func role(of name: String) -> Role? { rows[name]?.role }

    /// True if the property of that name can be set.
    public func honours(_ name: String) -> Bool {
        switch rows[name]?.role {
        case .connecting?, .using?: true
        case .telling?, nil: false
        }
    }

    // MARK: Rows

    /// With a property that makes a connection another one: a connection is shared only by streams with equal values.
    public func connecting<Value: Equatable>(_ property: StreamProperty<Value>) -> Self {
        connecting(property) { $0 == $1 }
    }

    /// With a property that makes a connection another one, whose values are compared by `areEqual`.
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

    /// With a property that holds for one opening, transfer or stream.
    public func using<Value>(_ property: StreamProperty<Value>) -> Self {
        adding(property.name, Row(role: .using, defaultValue: property.defaultValue) { _, _ in true })
    }

    /// With a property that the stream returns and nothing sets.
    public func telling<Value>(_ property: StreamProperty<Value>) -> Self {
        adding(property.name, Row(role: .telling, defaultValue: property.defaultValue) { _, _ in true })
    }

    /// With the rows of another table, too.
    public func including(_ other: StreamPropertyTable) -> Self {
        var table = self
        table.rows.merge(other.rows) { _, new in new }
        return table
    }

    /// Without the row of a property.
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

/// How a connection is made: the properties on which all who share a connection must agree.
///
/// Derived from the table of the streams that share it, so that no property of a connection can be left out: what a pool of
/// connections compares.
public struct ConnectionShape: Sendable, Equatable {
    private struct Part: Sendable {
        let name: String
        let row: StreamPropertyTable.Row
        let value: any Sendable
    }

    // Sorted by name. Values that are their property's default are left out.
    private let parts: [Part]

    /// The shape of a connection that is made with these properties by a stream with this table.
    public init(of properties: StreamProperties, in table: StreamPropertyTable) {
        var parts: [Part] = []
        properties.forEach { key, value in
            guard let row = table.rows[key.name], row.role == .connecting else { return }
            if let usual = row.defaultValue, row.areEqual(usual, value) { return }
            parts.append(Part(name: key.name, row: row, value: value))
        }
        if parts.count > 1 { parts.sort { $0.name < $1.name } }
        self.parts = parts
    }

    /// True if nothing that was set makes a difference.
    public var isUsual: Bool { parts.isEmpty }

    /// Compares every property that makes a connection another one.
    public static func == (left: ConnectionShape, right: ConnectionShape) -> Bool {
        left.parts.count == right.parts.count
            && zip(left.parts, right.parts).allSatisfy { $0.name == $1.name && $0.row.areEqual($0.value, $1.value) }
    }
}
