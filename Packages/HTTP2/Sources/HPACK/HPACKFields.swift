/// The decoded fields of a header block, in order: their bytes in one buffer, and their positions in it.
///
/// Neither names nor values are checked: RFC 9113 §8.2 and §8.3 are rules of HTTP/2, not of HPACK. Use one value again for each
/// block: ``removeAll()`` keeps the memory, so that decoding allocates nothing.
///
/// ```swift
/// var decoder = HPACKDecoder()
/// var fields = HPACKFields()
/// try decoder.decode(block.span.bytes, isLast: true, into: &fields)
/// for field in fields {
///     print(String(decoding: fields.bytes[field.name], as: UTF8.self))
/// }
/// ```
public struct HPACKFields: Sendable {
    /// The bytes of names and values. Only the ranges of the fields are meaningful; what lies outside them is unspecified.
    public internal(set) var bytes: [UInt8] = []

    /// The size of the list as HTTP/2 counts it, including dropped fields: the bytes of each name and value, and 32 for each field
    /// (RFC 9113 §6.5.2).
    public internal(set) var listSize = 0

    /// The number of fields that were dropped because the list exceeded a limit of the decoder (``HPACKLimits``).
    ///
    /// The dynamic table contains dropped fields as the sender intended, so the connection remains usable.
    public internal(set) var droppedCount = 0

    /// The positions of the fields, and behind the first ``endIndex`` those of earlier blocks, whose memory serves again.
    @usableFromInline private(set) var fields: [Field] = []

    /// The index after the last field: the number of fields.
    public private(set) var endIndex = 0

    /// The offset in ``bytes`` behind the last field.
    private(set) var end = 0

    /// Creates an empty list.
    public init() {}

    /// Removes all fields and keeps the memory for the next block.
    public mutating func removeAll() {
        endIndex = 0
        end = 0
        listSize = 0
        droppedCount = 0
    }

    /// A field: the positions of its name and its value in ``HPACKFields/bytes``.
    public struct Field: Hashable, Sendable, BitwiseCopyable {
        var nameStart: UInt32
        var valueStart: UInt32
        var valueEnd: UInt32

        /// Whether the sender asked that no one indexes the field (RFC 7541 §6.2.3). A proxy forwards it in the same form.
        public internal(set) var isNeverIndexed: Bool

        /// The range of the name.
        public var name: Range<Int> { Int(nameStart)..<Int(valueStart) }

        /// The range of the value.
        public var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
    }
}

extension HPACKFields: RandomAccessCollection {
    /// The index of the first field: 0.
    public var startIndex: Int { 0 }

    /// The field at this index.
    ///
    /// - Precondition: `index` is in `indices`.
    @inlinable public subscript(index: Int) -> Field {
        precondition(index < endIndex, "the index is that of no field")
        return fields[index]
    }
}

// MARK: - Filling the list

extension HPACKFields {
    /// What a field counts beyond the bytes of its name and value (RFC 9113 §6.5.2).
    static let overhead = 32

    /// Returns what a field counts in the size of a list: the lengths of its name and its value in bytes, and 32 (RFC 9113 §6.5.2).
    public static func size(name: Int, value: Int) -> Int { name + value + overhead }

    /// Ensures that `count` bytes can be written behind the last field, beginning at `offset`.
    mutating func makeRoom(for count: Int, at offset: Int) {
        let missing = offset + count - bytes.count
        if missing > 0 { grow(by: missing) }
    }

    private mutating func grow(by missing: Int) {
        bytes += [UInt8](repeating: 0, count: Swift.max(missing, bytes.count, 1024))
    }

    /// The memory of ``bytes``. Use ``makeRoom(for:at:)`` before.
    mutating func write<E: Error>(_ body: (inout MutableRawSpan) throws(E) -> Void) throws(E) {
        var span = bytes.mutableSpan
        var memory = span.mutableBytes
        try body(&memory)
    }

    /// Whether a field of this size can be kept. Once one has been dropped, so are all that follow.
    func hasRoom(forSize size: Int, within limits: HPACKLimits) -> Bool {
        droppedCount == 0 && listSize + size <= limits.listSize && endIndex < limits.fieldCount
    }

    /// Counts a field without keeping it. `size` includes ``overhead``.
    mutating func drop(size: Int, within limits: HPACKLimits) throws(HPACKError) {
        listSize += size
        droppedCount += 1
        if listSize > limits.listSize + limits.droppedSize { throw HPACKError(.listTooLarge) }
    }

    /// Appends a field whose bytes have been written behind the last field, or drops it if a limit says so.
    mutating func append(
        nameLength: Int, valueLength: Int, isNeverIndexed: Bool, within limits: HPACKLimits
    ) throws(HPACKError) {
        let size = nameLength + valueLength + Self.overhead
        guard hasRoom(forSize: size, within: limits) else { return try drop(size: size, within: limits) }
        let valueStart = end + nameLength
        let field = Field(
            nameStart: UInt32(truncatingIfNeeded: end), valueStart: UInt32(truncatingIfNeeded: valueStart),
            valueEnd: UInt32(truncatingIfNeeded: valueStart + valueLength), isNeverIndexed: isNeverIndexed)
        if endIndex < fields.count { fields[endIndex] = field } else { fields.append(field) }
        endIndex += 1
        end = valueStart + valueLength
        listSize += size
    }
}
