/// The options of a kind of stream as properties: a row for each field of a structure.
///
/// ```swift
/// extension StreamProperty {
///     static func mailbox(_ option: any WritableKeyPath<MailboxOptions, Value> & Sendable) -> Self {
///         MailboxOptions.table[option]
///     }
/// }
///
/// struct MailboxOptions: Sendable {
///     /// The folder that is read. Default `INBOX`.
///     var folder = "INBOX"
///
///     static let table = StreamOptionTable("Mailbox", defaults: MailboxOptions(), [.using("folder", \.folder)])
/// }
/// ```
///
/// A stream holds one `MailboxOptions`, and its transport passes names to ``value(named:in:)`` and ``set(_:named:in:)``. Its ``StreamKind``
/// has the rows of the table (``StreamPropertyTable``). A property can be set until the stream is opened.
@_spi(Packages) public struct StreamOptionTable<Options: Sendable>: Sendable {
    /// The row of one option.
    public struct Row: Sendable {
        let label: String
        let field: any PartialKeyPath<Options> & Sendable
        let value: @Sendable (Options) -> (any Sendable)?
        let set: @Sendable (inout Options, (any Sendable)?, _ defaults: Options) -> Void
        let adding: @Sendable (StreamPropertyTable, _ name: String, _ defaults: Options) -> StreamPropertyTable
    }

    private let prefix: String
    private let defaults: Options
    private let rows: [Row]
    private let check: @Sendable (Options) throws(StreamError) -> Void
    private let indices: [String: Int]

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - prefix: the first part of the properties' names: `Mailbox` for `Mailbox.folder`.
    ///   - defaults: the options that apply if none is set.
    ///   - rows: one row for each option.
    ///   - check: throws if an option has an invalid value.
    public init(
        _ prefix: String, defaults: Options, _ rows: [Row],
        check: @escaping @Sendable (Options) throws(StreamError) -> Void = { _ in }
    ) {
        self.prefix = prefix
        self.defaults = defaults
        self.rows = rows
        self.check = check
        let names = rows.map { "\(prefix).\($0.label)" }
        indices = Dictionary(uniqueKeysWithValues: zip(names, rows.indices))
    }

    // MARK: Typed access

    /// The property of an option. Streams refuse that of a field without a row.
    public subscript<Value: Sendable>(option: any WritableKeyPath<Options, Value> & Sendable) -> StreamProperty<Value> {
        let defaults = defaults
        return StreamProperty(setting: name(of: option), access: .beforeOpen, default: defaults[keyPath: option])
    }

    /// The property of an option that has no value by default.
    public subscript<Value: Sendable>(option: any WritableKeyPath<Options, Value?> & Sendable) -> StreamProperty<Value>
    {
        let defaults = defaults
        return StreamProperty(setting: name(of: option), access: .beforeOpen, default: defaults[keyPath: option])
    }

    private func name(of option: PartialKeyPath<Options>) -> String {
        "\(prefix).\(rows.first { $0.field == option }?.label ?? "\(option)")"
    }

    // MARK: Access by name

    /// The value of the property with this name; nil if there is no such row, or no value.
    public func value(named name: String, in options: Options) -> (any Sendable)? {
        indices[name].flatMap { rows[$0].value(options) }
    }

    /// Sets the property with this name; nil restores the default. Returns false if there is no such row.
    ///
    /// - Throws: the error of the check, which examines all options, also those set before. Nothing has changed then.
    public func set(_ value: (any Sendable)?, named name: String, in options: inout Options) throws(StreamError) -> Bool
    {
        guard let index = indices[name] else { return false }
        var changed = options
        rows[index].set(&changed, value, defaults)
        try check(changed)
        options = changed
        return true
    }

    /// The field of an option that these properties contain; nil if they contain none.
    public func label(in properties: StreamProperties) -> String? {
        let indices = indices
        var found: Int?
        properties.forEach { key, _ in found = found ?? indices[key.name] }
        return found.map { rows[$0].label }
    }

    /// Adds the rows of the table to those of a kind of stream, without those of some fields.
    func add(to table: StreamPropertyTable, without fields: [PartialKeyPath<Options>]) -> StreamPropertyTable {
        rows.filter { row in !fields.contains { $0 == row.field } }
            .reduce(table) { table, row in row.adding(table, "\(prefix).\(row.label)", defaults) }
    }
}

extension StreamOptionTable.Row {
    /// An option that applies to one opening, transfer or stream.
    ///
    /// - Parameters:
    ///   - label: the name of the field.
    ///   - field: the field.
    @_spi(Packages) public static func using<Value: Sendable>(
        _ label: String, _ field: any WritableKeyPath<Options, Value> & Sendable
    ) -> Self {
        Self(
            label: label, field: field, value: { $0[keyPath: field] },
            set: { options, value, defaults in
                options[keyPath: field] = value.flatMap { StreamProperty<Value>.typed($0) } ?? defaults[keyPath: field]
            },
            adding: { table, name, defaults in
                table.using(
                    StreamProperty<Value>(setting: name, access: .beforeOpen, default: defaults[keyPath: field]))
            })
    }

    /// An option that applies to one opening, transfer or stream, and need not have a value.
    ///
    /// - Parameters:
    ///   - label: the name of the field.
    ///   - field: the field.
    @_spi(Packages) public static func using<Value: Sendable>(
        _ label: String, _ field: any WritableKeyPath<Options, Value?> & Sendable
    ) -> Self {
        Self(label: label, optional: field) { table, property in table.using(property) }
    }

    /// An option that determines the connection: streams share a connection only if their values are equal.
    ///
    /// - Parameters:
    ///   - label: the name of the field.
    ///   - field: the field.
    @_spi(Packages) public static func connecting<Value: Equatable & Sendable>(
        _ label: String, _ field: any WritableKeyPath<Options, Value?> & Sendable
    ) -> Self {
        Self(label: label, optional: field) { table, property in table.connecting(property) }
    }

    private init<Value: Sendable>(
        label: String, optional field: any WritableKeyPath<Options, Value?> & Sendable,
        adding: @escaping @Sendable (StreamPropertyTable, StreamProperty<Value>) -> StreamPropertyTable
    ) {
        self.init(
            label: label, field: field, value: { $0[keyPath: field] },
            set: { options, value, defaults in
                options[keyPath: field] = value.flatMap { StreamProperty<Value>.typed($0) } ?? defaults[keyPath: field]
            },
            adding: { table, name, defaults in
                adding(table, StreamProperty(setting: name, access: .beforeOpen, default: defaults[keyPath: field]))
            })
    }
}
