/// Decodes header blocks (RFC 7541).
///
/// One decoder belongs to one direction of one connection, and takes each block of it, in order: blocks refer to the dynamic table
/// that the blocks before have filled. A block may arrive in pieces, as HEADERS and CONTINUATION frames.
///
/// ```swift
/// let block: [UInt8] = [0x82, 0x84, 0x86]
/// var decoder = HPACKDecoder()
/// var fields = HPACKFields()
/// try decoder.decode(block.span.bytes.extracting(0..<2), isLast: false, into: &fields)
/// try decoder.decode(block.span.bytes.extracting(2..<3), isLast: true, into: &fields)
/// fields.count  // 3: `:method: GET`, `:path: /`, `:scheme: http`
/// ```
///
/// The memory of a decoder is bounded: the dynamic table, and the field within which a piece has ended. Strings that are longer than
/// ``HPACKLimits/listSize`` and four times the dynamic table are passed over without being kept.
public struct HPACKDecoder: Sendable {
    /// The limits on the list of fields of a block.
    public var limits: HPACKLimits {
        didSet { limits.requireValid() }
    }

    private let staticTable = StaticTable.shared
    private let huffman = HuffmanCode.shared
    private var table: DynamicTable
    /// The maximum that the peer may choose for the size of the table.
    private var maximumTableSize: Int
    /// The size that the next block must not exceed with its first size update. Nil if it needs none.
    private var requiredTableSize: Int?
    /// The number of size updates at the beginning of this block. Nil behind the first field.
    private var sizeUpdates: Int? = 0
    /// The beginning of the field within which the last piece has ended.
    private var rest: [UInt8] = []
    /// The string within which the last piece has ended, if it is too long to be kept.
    private var skipped: SkippedField?

    /// Creates a decoder whose dynamic table has at most this size in bytes (RFC 7541 §4.1).
    ///
    /// Every HTTP/2 connection begins with 4,096. A size below 0 is 0, and one above 2^28 is 2^28.
    ///
    /// - Precondition: the limits are in the ranges that ``HPACKLimits`` states.
    public init(maximumTableSize: Int = 4096, limits: HPACKLimits = HPACKLimits()) {
        limits.requireValid()
        self.limits = limits
        self.maximumTableSize = Self.valid(maximumTableSize)
        table = DynamicTable(maximumSize: self.maximumTableSize)
    }

    private static func valid(_ size: Int) -> Int { min(max(0, size), PrefixedInteger.maximum) }

    /// Sets the maximum size of the dynamic table, once the peer has acknowledged SETTINGS_HEADER_TABLE_SIZE (RFC 7541 §4.2).
    ///
    /// If the size is smaller than the peer's choice, the next block must begin with a size update. A size below 0 is 0, and one above
    /// 2^28 is 2^28.
    public mutating func setMaximumTableSize(_ size: Int) {
        let size = Self.valid(size)
        maximumTableSize = size
        if size < table.maximumSize { requiredTableSize = min(size, requiredTableSize ?? size) }
    }

    /// The size of the dynamic table: for each entry, the bytes of its name and value, and 32 (RFC 7541 §4.1).
    public var tableSize: Int { table.size }

    /// The number of entries in the dynamic table.
    public var tableCount: Int { table.count }

    /// Decodes the next piece of a block and appends its complete fields.
    ///
    /// The caller empties `fields` before the first piece of a block (``HPACKFields/removeAll()``). A field that the piece ends
    /// within is kept until the next piece. `isLast` says that the block is complete.
    ///
    /// Throws an ``HPACKError`` if the block is invalid; the decoder must not be used again then. A list over a limit is not an error,
    /// see ``HPACKFields/droppedCount``, unless it goes far beyond (``HPACKLimits/droppedSize``).
    public mutating func decode(_ piece: RawSpan, isLast: Bool, into fields: inout HPACKFields) throws(HPACKError) {
        if rest.isEmpty {
            let end = try decodeFields(piece, into: &fields)
            if end < piece.byteCount { rest.append(piece.extracting(end...)) }
        } else {
            var bytes = exchange(&rest, with: [])
            bytes.append(piece)
            let end = try decodeFields(bytes.span.bytes, into: &fields)
            bytes.removeFirst(end)
            rest = bytes
        }
        guard isLast else { return }
        guard rest.isEmpty, skipped == nil else { throw HPACKError(.truncated) }
        sizeUpdates = 0
    }

    /// Decodes the complete fields in `bytes`, and returns the offset behind them.
    private mutating func decodeFields(_ bytes: RawSpan, into fields: inout HPACKFields) throws(HPACKError) -> Int {
        var position = 0
        while position < bytes.byteCount {
            let isComplete =
                try skipped == nil
                ? decodeField(bytes, at: &position, into: &fields) : skip(bytes, at: &position, into: &fields)
            if !isComplete { break }
        }
        return position
    }

    // MARK: Representations (RFC 7541 §6)

    // Each function below returns false if the bytes end within what it decodes. `position` is then unchanged, unless a string is
    // skipped.

    @inline(__always)
    private mutating func decodeField(
        _ bytes: RawSpan, at position: inout Int, into fields: inout HPACKFields
    ) throws(HPACKError) -> Bool {
        let first = bytes.byte(at: position)
        if first & 0xE0 == 0x20 { return try decodeSizeUpdate(bytes, at: &position) }
        if sizeUpdates != nil {
            if requiredTableSize != nil { throw HPACKError(.missingSizeUpdate) }
            sizeUpdates = nil
        }
        if first & 0x80 != 0 { return try decodeIndexed(bytes, at: &position, into: &fields) }
        if first & 0x40 != 0 {
            return try decodeLiteral(bytes, at: &position, prefix: 6, isIndexed: true, into: &fields)
        }
        return try decodeLiteral(bytes, at: &position, prefix: 4, isIndexed: false, into: &fields)
    }

    /// A dynamic table size update (RFC 7541 §6.3): at most two at the beginning of a block (§4.2).
    private mutating func decodeSizeUpdate(_ bytes: RawSpan, at position: inout Int) throws(HPACKError) -> Bool {
        guard let updates = sizeUpdates, updates < 2 else { throw HPACKError(.misplacedSizeUpdate) }
        guard let size = try PrefixedInteger.read(bytes, at: &position, prefix: 5) else { return false }
        if size > maximumTableSize { throw HPACKError(.tableSizeTooLarge) }
        if size > requiredTableSize ?? size { throw HPACKError(.missingSizeUpdate) }
        sizeUpdates = updates + 1
        requiredTableSize = nil
        table.setMaximumSize(size)
        return true
    }

    /// An indexed field (RFC 7541 §6.1).
    @inline(__always)
    private mutating func decodeIndexed(
        _ bytes: RawSpan, at position: inout Int, into fields: inout HPACKFields
    ) throws(HPACKError) -> Bool {
        guard let index = try PrefixedInteger.read(bytes, at: &position, prefix: 7) else { return false }
        let entry = try entry(index)
        let size = entry.nameLength + entry.valueLength + HPACKFields.overhead
        // Without a copy: a byte on the wire can mean thousands.
        guard fields.hasRoom(forSize: size, within: limits) else {
            try fields.drop(size: size, within: limits)
            return true
        }
        var end = fields.end
        fields.makeRoom(for: entry.nameLength + entry.valueLength, at: end)
        fields.write { copy(entry, entry.nameLength + entry.valueLength, into: &$0, at: &end) }
        try fields.append(
            nameLength: entry.nameLength, valueLength: entry.valueLength, isNeverIndexed: false, within: limits)
        return true
    }

    /// A literal field (RFC 7541 §6.2), whose name is a literal or that of an entry.
    private mutating func decodeLiteral(
        _ bytes: RawSpan, at position: inout Int, prefix: Int, isIndexed: Bool, into fields: inout HPACKFields
    ) throws(HPACKError) -> Bool {
        let isNeverIndexed = !isIndexed && bytes.byte(at: position) & 0x10 != 0
        var offset = position
        guard let index = try PrefixedInteger.read(bytes, at: &offset, prefix: prefix) else { return false }
        var name: EncodedString?
        if index == 0 {
            guard let string = try EncodedString(bytes, at: &offset) else { return false }
            guard string.end <= bytes.byteCount else {
                return beginSkipping(string, behindName: nil, isIndexed, bytes.byteCount, at: &position)
            }
            name = string
        }
        let nameEntry = index == 0 ? nil : try entry(index)
        guard let value = try EncodedString(bytes, at: &offset) else { return false }
        guard value.end <= bytes.byteCount else {
            let nameLength = name?.count ?? nameEntry?.nameLength
            return beginSkipping(value, behindName: nameLength, isIndexed, bytes.byteCount, at: &position)
        }
        // A name of one byte can stand for one of the whole table: it is not copied for a field that will be dropped.
        let entryLength = nameEntry?.nameLength ?? 0
        let isDropped =
            !isIndexed && !fields.hasRoom(forSize: entryLength + HPACKFields.overhead, within: limits)
        let copied = isDropped ? 0 : entryLength
        let start = fields.end
        var (valueStart, end) = (start, start)
        fields.makeRoom(for: (name?.maximumLength ?? copied) + value.maximumLength, at: start)
        try fields.write { memory throws(HPACKError) in
            if let name {
                try name.decode(bytes, huffman, into: &memory, at: &end)
            } else if let nameEntry {
                copy(nameEntry, copied, into: &memory, at: &end)
            }
            valueStart = end
            try value.decode(bytes, huffman, into: &memory, at: &end)
        }
        if isIndexed {
            let span = fields.bytes.span.bytes
            table.insert(name: span.extracting(start..<valueStart), value: span.extracting(valueStart..<end))
        }
        try fields.append(
            nameLength: valueStart - start + entryLength - copied, valueLength: end - valueStart,
            isNeverIndexed: isNeverIndexed,
            within: limits)
        position = value.end
        return true
    }

    // MARK: Entries of both tables

    /// Returns an entry of the static table or, behind it, of the dynamic table, newest first (RFC 7541 §2.3.3).
    @inline(__always)
    private func entry(_ index: Int) throws(HPACKError) -> TableEntry {
        if index <= StaticTable.count {
            if index == 0 { throw HPACKError(.invalidIndex) }
            return staticTable.entries[index]
        }
        let age = index - StaticTable.count
        if age > table.count { throw HPACKError(.invalidIndex) }
        return table.entry(table.nextNumber - age)
    }

    /// Copies the first bytes of an entry, its name or its name and value, and moves `end` behind them.
    private func copy(_ entry: TableEntry, _ count: Int, into memory: inout MutableRawSpan, at end: inout Int) {
        let range = entry.start..<entry.start + count
        if entry.isStatic {
            memory.copy(staticTable.bytes.span.bytes.extracting(range), to: end)
        } else {
            memory.copy(table.allBytes.span.bytes.extracting(range), to: end)
        }
        end += count
    }

    // MARK: Strings that are too long

    /// A field that is passed over without being kept.
    private struct SkippedField {
        /// The number of bytes that are left of the string.
        var remaining: Int
        /// Whether the string is the name, which the value follows.
        var isName: Bool
        /// Whether the field was to be inserted into the dynamic table, which it empties then (RFC 7541 §4.4).
        var isIndexed: Bool
        /// What the field counts in the size of the list, with the lengths of its strings as they are encoded.
        var size: Int
    }

    /// Passes over a string that has not arrived completely, if it is too long for the list, and for the dynamic table even if each
    /// of its symbols has the longest code. The string is a name, or a value behind a name of a known length. Returns false if the
    /// string is to be kept.
    private mutating func beginSkipping(
        _ string: EncodedString, behindName nameLength: Int?, _ isIndexed: Bool, _ end: Int, at position: inout Int
    ) -> Bool {
        guard string.count > max(limits.listSize, 4 * maximumTableSize) else { return false }
        skipped = SkippedField(
            remaining: string.end - end, isName: nameLength == nil, isIndexed: isIndexed,
            size: (nameLength ?? 0) + string.count + HPACKFields.overhead)
        position = end
        return true
    }

    /// Passes over the next bytes of a skipped field, and drops the field at its end.
    private mutating func skip(
        _ bytes: RawSpan, at position: inout Int, into fields: inout HPACKFields
    ) throws(HPACKError) -> Bool {
        guard var field = skipped else { return true }
        let count = min(field.remaining, bytes.byteCount - position)
        position += count
        field.remaining -= count
        if field.remaining == 0, field.isName, let value = try EncodedString(bytes, at: &position) {
            position = value.start
            field = SkippedField(
                remaining: value.count, isName: false, isIndexed: field.isIndexed, size: field.size + value.count)
            let count = min(field.remaining, bytes.byteCount - position)
            position += count
            field.remaining -= count
        }
        skipped = field
        guard field.remaining == 0, !field.isName else { return false }
        skipped = nil
        try fields.drop(size: field.size, within: limits)
        if field.isIndexed { table.removeAll() }
        return true
    }
}

/// A string literal in a block (RFC 7541 §5.2). It may end behind the bytes that have arrived.
private struct EncodedString {
    var isHuffmanCoded: Bool
    var start: Int
    var count: Int

    var end: Int { start + count }

    /// Reads the length of a string, and moves `position` behind the string. Nil if the bytes end within the length.
    @inline(__always)
    init?(_ bytes: RawSpan, at position: inout Int) throws(HPACKError) {
        guard position < bytes.byteCount else { return nil }
        isHuffmanCoded = bytes.byte(at: position) & 0x80 != 0
        guard let count = try PrefixedInteger.read(bytes, at: &position, prefix: 7) else { return nil }
        start = position
        self.count = count
        position += count
    }

    /// The maximum number of bytes of memory that ``decode(_:_:into:at:)`` needs.
    var maximumLength: Int { isHuffmanCoded ? HuffmanDecoding.maximumLength(ofDecoded: count) : count }

    /// Writes the decoded string, and moves `end` behind it.
    func decode(
        _ bytes: RawSpan, _ huffman: HuffmanCode, into memory: inout MutableRawSpan, at end: inout Int
    ) throws(HPACKError) {
        let string = bytes.extracting(start..<start + count)
        if isHuffmanCoded {
            guard huffman.decode(string, into: &memory, at: &end) else { throw HPACKError(.invalidHuffmanCode) }
        } else {
            memory.copy(string, to: end)
            end += count
        }
    }
}

/// The limits on the fields of a header block. The fields beyond a limit are dropped and counted, see ``HPACKFields/droppedCount``.
public struct HPACKLimits: Hashable, Sendable {
    /// The maximum size of the list: the bytes of each name and value, and 32 for each field (RFC 9113 §6.5.2). 256 KiB by default.
    ///
    /// - Precondition: from 0 to 1 GiB.
    public var listSize = 256 * 1024

    /// The maximum number of fields. 256 by default.
    public var fieldCount = 256

    /// The maximum size of the fields beyond these limits, which are decoded for the sake of the dynamic table alone. 1 MiB by default.
    ///
    /// A list with more is an error, ``HPACKError/Code/listTooLarge``: a byte on the wire can mean thousands, and work without end.
    ///
    /// - Precondition: from 0 to 1 GiB.
    public var droppedSize = 1024 * 1024

    /// Creates the default limits.
    public init() {}

    func requireValid() {
        if let violation { preconditionFailure(violation) }
    }

    /// What is wrong with the values, or nil: positions in a list have 32 bits.
    package var violation: String? {
        let sizes = 0...1 << 30
        if !sizes.contains(listSize) { return "listSize is from 0 to 1 GiB" }
        if !sizes.contains(droppedSize) { return "droppedSize is from 0 to 1 GiB" }
        return fieldCount < 0 ? "fieldCount is negative" : nil
    }
}
