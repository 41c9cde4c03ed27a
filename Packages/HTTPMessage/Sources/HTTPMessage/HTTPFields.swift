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

/// The fields of a message or trailer section. Order, letter case and duplicates are preserved.
///
/// A collection of ``HTTPField``; names are compared case-insensitively. Strings are created only for the fields that are
/// read. Names and values are validated when they are set, so that a value cannot inject a line into a head.
///
/// ```swift
/// var fields = HTTPFields()
/// try fields.append("text/html", for: .accept)
/// try fields.append("*/*;q=0.1", for: .accept)
/// fields[.accept]             // "text/html, */*;q=0.1"
/// try fields.set("a=b", for: .cookie)
/// fields.remove(.cookie)
/// ```
public struct HTTPFields {
    var storage: HeadStorage

    /// Creates an empty collection of fields.
    public init() {
        self = Self.empty
    }

    init(_ storage: HeadStorage) {
        self.storage = storage
    }

    /// The value of the field with this name, or nil if there is no such field.
    ///
    /// If several fields have the name, their values are joined with `, ` (RFC 9110 §5.3), those of `Cookie` with `; `. Joined
    /// values of `Set-Cookie` cannot be separated again: use ``values(for:)-(HTTPFieldName)``.
    ///
    /// Replaces `CFHTTPMessageCopyHeaderFieldValue`.
    public subscript(name: HTTPFieldName) -> String? {
        guard let first = firstIndex(of: name) else { return nil }
        var value = storage.text(first)
        let separator = name == .cookie ? "; " : ", "
        var index = first
        while let next = firstIndex(of: name, from: index + 1) {
            value += separator + storage.text(next)
            index = next
        }
        return value
    }

    /// Returns the value of each field with this name, in order.
    public func values(for name: HTTPFieldName) -> [String] {
        indices(of: name).map(storage.text)
    }

    /// Returns whether there is a field with this name.
    public func contains(_ name: HTTPFieldName) -> Bool {
        firstIndex(of: name) != nil
    }

    /// The joined values by canonical name, without the order. Replaces `CFHTTPMessageCopyAllHeaderFields`.
    public var dictionary: [String: String] {
        var result: [String: String] = [:]
        for field in self where result[field.name.canonicalName] == nil {
            result[field.name.canonicalName] = self[field.name]
        }
        return result
    }

    /// Sets the only field with this name; nil removes all fields with this name.
    ///
    /// Replaces the first field with this name in its position and removes the others. Appends the field if there was none.
    /// Leading and trailing whitespace is not part of a value and is removed.
    ///
    /// Throws ``HTTPMessageError/Code/invalidFieldValue`` if the value contains a control character other than tab. The fields
    /// are then unchanged.
    ///
    /// Replaces `CFHTTPMessageSetHeaderFieldValue`, which does not reject line endings.
    public mutating func set(_ value: String?, for name: HTTPFieldName) throws(HTTPMessageError) {
        guard let value else { return remove(name) }
        try set(rawValue: Array(value.utf8), for: name)
    }

    /// Sets the only field with this name to bytes in any encoding. Otherwise like ``set(_:for:)-(_,HTTPFieldName)``.
    public mutating func set(rawValue: [UInt8], for name: HTTPFieldName) throws(HTTPMessageError) {
        let value = try Self.checked(rawValue)
        guard let index = firstIndex(of: name) else { return insertLine(name, value, at: storage.layout.fieldCount) }
        while let duplicate = firstIndex(of: name, from: index + 1) { removeLine(duplicate) }
        removeLine(index)
        insertLine(name, value, at: index)
    }

    /// Appends a field, in addition to those with the same name. Throws the errors of ``set(_:for:)-(_,HTTPFieldName)``.
    public mutating func append(_ value: String, for name: HTTPFieldName) throws(HTTPMessageError) {
        try append(rawValue: Array(value.utf8), for: name)
    }

    /// Appends a field whose value is bytes in any encoding. Otherwise like ``append(_:for:)-(_,HTTPFieldName)``.
    public mutating func append(rawValue: [UInt8], for name: HTTPFieldName) throws(HTTPMessageError) {
        insertLine(name, try Self.checked(rawValue), at: storage.layout.fieldCount)
    }

    /// Removes all fields with this name.
    public mutating func remove(_ name: HTTPFieldName) {
        while let index = firstIndex(of: name) { removeLine(index) }
    }

    // MARK: Names known at run time

    // Disfavored, so that a literal is a name that is checked when it is made.

    /// The value of the field with this name, or nil if there is no such field. For names that are not literals.
    @_disfavoredOverload
    public subscript(name: String) -> String? {
        HTTPFieldName(name).flatMap { self[$0] }
    }

    /// Sets the only field with this name; nil removes all fields with this name. For names that are not literals.
    ///
    /// ```swift
    /// for (name, value) in headers { try request.fields.set(value, for: name) }
    /// ```
    ///
    /// Throws ``HTTPMessageError/Code/invalidFieldName`` if the name is not a token, and the errors of ``set(_:for:)-(_,HTTPFieldName)``.
    @_disfavoredOverload
    public mutating func set(_ value: String?, for name: String) throws(HTTPMessageError) {
        try set(value, for: try Self.checkedName(name))
    }

    /// Appends a field, in addition to those with the same name. For names that are not literals.
    ///
    /// Throws the errors of ``set(_:for:)-(_,String)``.
    @_disfavoredOverload
    public mutating func append(_ value: String, for name: String) throws(HTTPMessageError) {
        try append(value, for: try Self.checkedName(name))
    }

    private static func checkedName(_ name: String) throws(HTTPMessageError) -> HTTPFieldName {
        guard let name = HTTPFieldName(name) else { throw HTTPMessageError(.invalidFieldName, fault: .caller) }
        return name
    }

    /// Rewrites all field lines as `Name: value` and CR LF.
    ///
    /// Folds become spaces. A proxy should normalize fields that were accepted with line endings or folds that RFC 9112
    /// forbids.
    public mutating func normalize() {
        var normalized = HTTPFields()
        for index in indices {
            normalized.insertLine(self[index].name, storage.value(index)[...], at: index)
        }
        self = normalized
    }
}

// A storage is changed only after isKnownUniquelyReferenced has proved that this value has the only reference to it. All other
// access only reads. Two threads can therefore race only by sharing one variable of this type, as with any value type.
extension HTTPFields: @unchecked Sendable {}

extension HTTPFields: RandomAccessCollection {
    /// The index of the first field: 0.
    public var startIndex: Int { 0 }

    /// The index after the last field: the number of fields.
    public var endIndex: Int { storage.layout.fieldCount }

    /// The number of fields. Fields with the same name are counted separately.
    public var count: Int { storage.layout.fieldCount }

    /// The field at this index.
    ///
    /// - Precondition: `index` is in `indices`.
    public subscript(index: Int) -> HTTPField {
        precondition(indices.contains(index), "field index out of range")
        return HTTPField(storage: storage, index: index)
    }
}

extension HTTPFields: Hashable, CustomStringConvertible, ExpressibleByDictionaryLiteral {
    /// Whether both have the same fields in the same order, ignoring the letter case of names and optional whitespace.
    public static func == (a: HTTPFields, b: HTTPFields) -> Bool {
        a.storage === b.storage || a.elementsEqual(b)
    }

    /// Hashes the fields in order.
    public func hash(into hasher: inout Hasher) {
        for field in self { hasher.combine(field) }
    }

    /// A line for each field.
    ///
    /// The values of `Authorization`, `Proxy-Authorization`, `Cookie` and `Set-Cookie` are omitted, to keep secrets out of
    /// logs.
    public var description: String {
        map { field in
            let secret: Set<HTTPFieldName> = [.authorization, .proxyAuthorization, .cookie, .setCookie]
            return secret.contains(field.name) ? "\(field.name): …" : field.description
        }
        .joined(separator: "\n")
    }

    /// Creates fields from literals. For other values, see ``init(_:)-(KeyValuePairs<String,String>)``.
    ///
    /// - Precondition: ``append(_:for:)-(_,HTTPFieldName)`` accepts all values.
    public init(dictionaryLiteral elements: (HTTPFieldName, StaticString)...) {
        self.init()
        for (name, value) in elements {
            let bytes = Array(value.description.utf8)
            precondition(bytes.allSatisfy(HTTPGrammar.isFieldByte), "a field value must not contain control characters")
            insertLine(name, HTTPGrammar.trimmed(bytes), at: count)
        }
    }
}

// MARK: - Names and values that are not literals

extension HTTPFields {
    /// Creates fields from names and values that are not literals.
    ///
    /// ```swift
    /// let fields = try HTTPFields(["X-Request-Id": id, "Content-Type": type])
    /// ```
    ///
    /// Throws the errors of ``append(_:for:)-(_,String)``.
    public init(_ fields: KeyValuePairs<String, String>) throws(HTTPMessageError) {
        self.init()
        for (name, value) in fields { try append(value, for: name) }
    }

    /// Creates fields from pairs of names and values, in order. Throws the errors of ``append(_:for:)-(_,String)``.
    public init(_ fields: some Sequence<(String, String)>) throws(HTTPMessageError) {
        self.init()
        for (name, value) in fields { try append(value, for: name) }
    }

    /// Returns the value of each field with this name, in order. For names that are not literals.
    @_disfavoredOverload
    public func values(for name: String) -> [String] {
        HTTPFieldName(name).map { values(for: $0) } ?? []
    }

    /// Returns whether there is a field with this name. For names that are not literals.
    @_disfavoredOverload
    public func contains(_ name: String) -> Bool {
        HTTPFieldName(name).map { contains($0) } ?? false
    }

    /// Removes all fields with this name. For names that are not literals.
    @_disfavoredOverload
    public mutating func remove(_ name: String) {
        if let name = HTTPFieldName(name) { remove(name) }
    }
}

extension HTTPFields {
    private static let empty = HTTPFields(HeadStorage.make(slotCapacity: 0, byteCapacity: 2))

    func firstIndex(of name: HTTPFieldName, from start: Int = 0) -> Int? {
        let text = name.name
        return text.utf8.span.withUnsafeBufferPointer { storage.firstIndex(of: $0, from: start) }
    }

    func indices(of name: HTTPFieldName) -> [Int] {
        var found: [Int] = []
        var index = firstIndex(of: name)
        while let match = index {
            found.append(match)
            index = firstIndex(of: name, from: match + 1)
        }
        return found
    }

    private static func checked(_ value: [UInt8]) throws(HTTPMessageError) -> ArraySlice<UInt8> {
        if let bad = value.firstIndex(where: { !HTTPGrammar.isFieldByte($0) }) {
            throw HTTPMessageError(.invalidFieldValue, offset: bad, fault: .caller)
        }
        return HTTPGrammar.trimmed(value)
    }

    private mutating func insertLine(_ name: HTTPFieldName, _ value: ArraySlice<UInt8>, at index: Int) {
        let length = name.name.utf8.count + 2 + value.count + 2
        makeUnique(addingSlots: 1, bytes: length)
        let storage = storage
        let layout = storage.layout
        let start = index < layout.fieldCount ? Int(storage.slots[index].nameStart) : layout.fieldsEnd
        let bytes = storage.bytes
        UnsafeMutableRawPointer(bytes + start + length).copyMemory(
            from: bytes + start, byteCount: layout.byteCount - start)

        var i = start
        func put(_ byte: UInt8) {
            bytes[i] = byte
            i += 1
        }
        name.name.utf8.forEach(put)
        put(HTTPGrammar.colon)
        put(HTTPGrammar.space)
        value.forEach(put)
        put(HTTPGrammar.cr)
        put(HTTPGrammar.lf)

        for k in stride(from: layout.fieldCount, to: index, by: -1) {
            storage.slots[k] = storage.slots[k - 1].moved(by: length)
        }
        let nameEnd = start + name.name.utf8.count
        storage.slots[index] = FieldSlot(name: start..<nameEnd, value: nameEnd + 2..<i - 2)
        storage.layout.fieldCount += 1
        storage.layout.fieldsEnd += length
        storage.layout.byteCount += length
    }

    private mutating func removeLine(_ index: Int) {
        makeUnique(addingSlots: 0, bytes: 0)
        let storage = storage
        let layout = storage.layout
        let line = storage.line(index)
        UnsafeMutableRawPointer(storage.bytes + line.lowerBound).copyMemory(
            from: storage.bytes + line.upperBound, byteCount: layout.byteCount - line.upperBound)
        for k in index..<layout.fieldCount - 1 {
            storage.slots[k] = storage.slots[k + 1].moved(by: -line.count)
        }
        storage.layout.fieldCount -= 1
        storage.layout.fieldsEnd -= line.count
        storage.layout.byteCount -= line.count
    }

    /// Ensures that this value has the only reference to its storage and that the storage has this additional capacity.
    private mutating func makeUnique(addingSlots slots: Int, bytes: Int) {
        let layout = storage.layout
        let fits = layout.fieldCount + slots <= layout.slotCapacity && layout.byteCount + bytes <= layout.byteCapacity
        if !fits || !isKnownUniquelyReferenced(&storage) {
            storage = storage.copy(addingSlots: slots, bytes: bytes)
        }
    }
}
