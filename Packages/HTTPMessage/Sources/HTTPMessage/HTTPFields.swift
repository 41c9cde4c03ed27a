/// The fields of a message or trailer section, in order, with letter case and duplicates kept.
///
/// A collection of ``HTTPField``; names are compared without regard to case. Reading makes strings only for what is
/// read; setting checks name and value, so that no line end can slip into a head.
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

    /// Makes an empty section.
    public init() {
        self = Self.empty
    }

    init(_ storage: HeadStorage) {
        self.storage = storage
    }

    /// The value of the field: of all fields with this name joined with `, `, or with `; ` for `Cookie`
    /// (RFC 9110 §5.3). Nil if there is none.
    ///
    /// Joining loses the borders between several `Set-Cookie` fields: use ``values(for:)``.
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

    /// The value of each field with this name, in order.
    public func values(for name: HTTPFieldName) -> [String] {
        indices(of: name).map(storage.text)
    }

    /// Whether there is a field with this name.
    public func contains(_ name: HTTPFieldName) -> Bool {
        firstIndex(of: name) != nil
    }

    /// Joined values by canonical name, without order. Replaces `CFHTTPMessageCopyAllHeaderFields`.
    public var dictionary: [String: String] {
        var result: [String: String] = [:]
        for field in self where result[field.name.canonicalName] == nil {
            result[field.name.canonicalName] = self[field.name]
        }
        return result
    }

    /// Sets the field in the place of the first with this name, or at the end, and removes the others; nil removes all.
    ///
    /// Throws ``HTTPMessageError/Code/invalidFieldValue`` for a value with NUL, CR, LF or another control character
    /// than tab, and leaves the fields as they were. Whitespace at the ends is no part of a value and not kept.
    ///
    /// Replaces `CFHTTPMessageSetHeaderFieldValue`, which let line ends through.
    public mutating func set(_ value: String?, for name: HTTPFieldName) throws(HTTPMessageError) {
        guard let value else { return remove(name) }
        try set(rawValue: Array(value.utf8), for: name)
    }

    /// Like ``set(_:for:)`` with any bytes, for values in another encoding than UTF-8.
    public mutating func set(rawValue: [UInt8], for name: HTTPFieldName) throws(HTTPMessageError) {
        let value = try Self.checked(rawValue)
        guard let index = firstIndex(of: name) else { return insertLine(name, value, at: storage.layout.fieldCount) }
        while let duplicate = firstIndex(of: name, from: index + 1) { removeLine(duplicate) }
        removeLine(index)
        insertLine(name, value, at: index)
    }

    /// Adds a field at the end, beside those with the same name. Throws as ``set(_:for:)``.
    public mutating func append(_ value: String, for name: HTTPFieldName) throws(HTTPMessageError) {
        try append(rawValue: Array(value.utf8), for: name)
    }

    /// Like ``append(_:for:)`` with any bytes, for values in another encoding than UTF-8.
    public mutating func append(rawValue: [UInt8], for name: HTTPFieldName) throws(HTTPMessageError) {
        insertLine(name, try Self.checked(rawValue), at: storage.layout.fieldCount)
    }

    /// Removes every field with this name.
    public mutating func remove(_ name: HTTPFieldName) {
        while let index = firstIndex(of: name) { removeLine(index) }
    }

    /// Rewrites every line in its plain form, `Name: value` and CR LF: what a proxy should do with a section that was
    /// accepted with line ends or folds that RFC 9112 forbids.
    public mutating func normalize() {
        var plain = HTTPFields()
        for index in indices {
            plain.insertLine(self[index].name, storage.value(index)[...], at: index)
        }
        self = plain
    }
}

// A storage is changed only after isKnownUniquelyReferenced proved that this value is the only one that refers to it;
// until then all access is reading. So no two threads can meet in one unless they share one HTTPFields variable.
extension HTTPFields: @unchecked Sendable {}

extension HTTPFields: RandomAccessCollection {
    /// The place of the first field.
    public var startIndex: Int { 0 }

    /// The place after the last field.
    public var endIndex: Int { storage.layout.fieldCount }

    /// The number of fields, several of one name counted each.
    public var count: Int { storage.layout.fieldCount }

    /// The field at this place.
    public subscript(index: Int) -> HTTPField {
        precondition(indices.contains(index), "field index out of range")
        return HTTPField(storage: storage, index: index)
    }
}

extension HTTPFields: Hashable, CustomStringConvertible, ExpressibleByDictionaryLiteral {
    /// Whether both have the same fields in the same order, whatever the letter case of names and the spacing.
    public static func == (a: HTTPFields, b: HTTPFields) -> Bool {
        a.storage === b.storage || a.elementsEqual(b)
    }

    /// Hashes the fields in order.
    public func hash(into hasher: inout Hasher) {
        for field in self { hasher.combine(field) }
    }

    /// One line for each field. Values of `Authorization`, `Proxy-Authorization`, `Cookie` and `Set-Cookie` are left
    /// out, so that a log shows no secret.
    public var description: String {
        map { field in
            let secret: Set<HTTPFieldName> = [.authorization, .proxyAuthorization, .cookie, .setCookie]
            return secret.contains(field.name) ? "\(field.name): …" : field.description
        }
        .joined(separator: "\n")
    }

    /// Makes a section from literals; a value must be one that ``append(_:for:)`` takes.
    public init(dictionaryLiteral elements: (HTTPFieldName, StaticString)...) {
        self.init()
        for (name, value) in elements {
            let bytes = Array(value.description.utf8)
            precondition(bytes.allSatisfy(HTTPGrammar.isFieldByte), "a field value must not contain control characters")
            insertLine(name, HTTPGrammar.trimmed(bytes), at: count)
        }
    }
}

extension HTTPFields {
    private static let empty = HTTPFields(HeadStorage.make(slotCapacity: 0, byteCapacity: 2))

    func firstIndex(of name: HTTPFieldName, from start: Int = 0) -> Int? {
        var text = name.name
        return text.withUTF8 { storage.firstIndex(of: $0, from: start) }
    }

    func indices(of name: HTTPFieldName) -> [Int] {
        var found: [Int] = []
        var index = firstIndex(of: name)
        while let place = index {
            found.append(place)
            index = firstIndex(of: name, from: place + 1)
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
        makeRoom(slots: 1, bytes: length)
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
        makeRoom(slots: 0, bytes: 0)
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

    /// Makes the storage this value's own, with room for so much more.
    private mutating func makeRoom(slots: Int, bytes: Int) {
        let layout = storage.layout
        let fits = layout.fieldCount + slots <= layout.slotCapacity && layout.byteCount + bytes <= layout.byteCapacity
        if !fits || !isKnownUniquelyReferenced(&storage) {
            storage = storage.copy(addingSlots: slots, bytes: bytes)
        }
    }
}
