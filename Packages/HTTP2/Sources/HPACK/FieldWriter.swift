/// Writes fields in the shortest of their representations (RFC 7541 §6), and keeps the encoder's dynamic table.
struct FieldWriter: Sendable {
    var usesHuffmanCoding = true
    private(set) var table = DynamicTable(maximumSize: HPACKEncoder.maximumTableSize)
    private var index = FieldIndex()
    /// The memory in which a field is encoded, and the number of bytes in it.
    private var memory = [UInt8](repeating: 0, count: 512)
    private var end = 0

    /// Appends a dynamic table size update (RFC 7541 §6.3), and changes the size.
    mutating func updateTableSize(_ size: Int, into output: inout [UInt8]) {
        table.setMaximumSize(size)
        writeInteger(size, prefix: 5, pattern: 0x20)
        flush(into: &output)
    }

    /// Appends a field, whose name is in lower case.
    mutating func write(
        name: RawSpan, value: RawSpan, indexing: HPACKEncoder.Indexing, into output: inout [UInt8]
    ) {
        makeRoom(for: name.byteCount + value.byteCount + 3 * PrefixedInteger.maximumLength)
        let hash = NameHash.hash(of: name)
        let staticName = StaticTable.shared.firstIndex(of: name, hash: hash)
        let isNeverIndexed = indexing == .never || Self.isSecret(staticName, value)
        if !isNeverIndexed {
            let staticField = StaticTable.shared.index(of: value, firstIndex: staticName)
            if staticField != 0 {
                writeInteger(staticField, prefix: 7, pattern: 0x80)
                return flush(into: &output)
            }
        }
        let match = index.find(name: name, value: value, hash: hash, in: table)
        if match.hasValue, !isNeverIndexed {
            writeInteger(dynamicIndex(match.number), prefix: 7, pattern: 0x80)
            return flush(into: &output)
        }
        let isIndexed = !isNeverIndexed && isWorthIndexing(staticName, name.byteCount + value.byteCount)
        let nameIndex = staticName != 0 ? staticName : match.number < 0 ? 0 : dynamicIndex(match.number)
        writeInteger(nameIndex, prefix: isIndexed ? 6 : 4, pattern: isIndexed ? 0x40 : isNeverIndexed ? 0x10 : 0)
        if nameIndex == 0 { writeString(name) }
        writeString(value)
        if isIndexed, let number = table.insert(name: name, value: value) { index.insert(number, hash: hash) }
        flush(into: &output)
    }

    /// Returns the index of an entry of the dynamic table on the wire (RFC 7541 §2.3.3).
    @inline(__always)
    private func dynamicIndex(_ number: Int) -> Int { StaticTable.count + table.nextNumber - number }

    // MARK: What enters the table

    /// Whether a field carries a secret that an attacker could guess by the length of blocks (RFC 7541 §7.1).
    ///
    /// A short cookie has little entropy. A long one is indexed, since it is in each request.
    @inline(__always)
    private static func isSecret(_ staticName: Int, _ value: RawSpan) -> Bool {
        switch staticName {
        case StaticTable.Index.authorization, StaticTable.Index.proxyAuthorization, StaticTable.Index.setCookie: true
        case StaticTable.Index.cookie: value.byteCount < 20
        default: false
        }
    }

    /// Whether a field of this length enters the table: not if its value rarely repeats, or if it would evict most other entries.
    @inline(__always)
    private func isWorthIndexing(_ staticName: Int, _ length: Int) -> Bool {
        switch staticName {
        case StaticTable.Index.path, StaticTable.Index.age, StaticTable.Index.contentLength, StaticTable.Index.etag,
            StaticTable.Index.ifModifiedSince, StaticTable.Index.ifNoneMatch, StaticTable.Index.location:
            false
        default: length + DynamicTable.overhead <= table.maximumSize / 4 * 3
        }
    }

    // MARK: Bytes

    private mutating func makeRoom(for count: Int) {
        if memory.count < count { memory = [UInt8](repeating: 0, count: 2 * count) }
    }

    @inline(__always)
    private mutating func writeInteger(_ value: Int, prefix: Int, pattern: UInt8) {
        var position = end
        var span = memory.mutableSpan
        var bytes = span.mutableBytes
        PrefixedInteger.write(value, prefix: prefix, pattern: pattern, into: &bytes, at: &position)
        end = position
    }

    /// Writes a string literal (RFC 7541 §5.2), Huffman-coded if that is shorter.
    private mutating func writeString(_ string: RawSpan) {
        let count = usesHuffmanCoding ? HuffmanCode.shared.encodedLength(of: string) : string.byteCount
        let isShorter = count < string.byteCount
        writeInteger(isShorter ? count : string.byteCount, prefix: 7, pattern: isShorter ? 0x80 : 0)
        var position = end
        var span = memory.mutableSpan
        var bytes = span.mutableBytes
        if isShorter {
            HuffmanCode.shared.encode(string, into: &bytes, at: &position)
        } else {
            bytes.copy(string, to: position)
            position += string.byteCount
        }
        end = position
    }

    private mutating func flush(into output: inout [UInt8]) {
        output.append(memory.span.bytes.extracting(0..<end))
        end = 0
    }
}

/// Finds entries of the encoder's dynamic table by name.
///
/// Entries whose names have the same low bits in their hashes are linked, from the newest to the oldest. Evicted entries need no work:
/// a link to an entry that is older than all of the table ends the search.
private struct FieldIndex: Sendable {
    /// The numbers of the newest entries by the low bits of the hash of their name; -1 if there is none.
    private var newest = [Int](repeating: -1, count: slotCount)
    /// The links by the low bits of the number of the entry.
    private var links = [Link](repeating: Link(hash: 0, previous: -1), count: slotCount)

    /// As many as there are entries in a table of maximum size.
    private static let slotCount = HPACKEncoder.maximumTableSize / DynamicTable.overhead

    private struct Link: BitwiseCopyable {
        var hash: UInt32
        var previous: Int
    }

    mutating func insert(_ number: Int, hash: UInt32) {
        let slot = Int(hash) & (Self.slotCount - 1)
        links[number & (Self.slotCount - 1)] = Link(hash: hash, previous: newest[slot])
        newest[slot] = number
    }

    /// Returns the newest entry with the name and the value. If there is none, the newest with the name; its number is -1 if there is none.
    func find(
        name: RawSpan, value: RawSpan, hash: UInt32, in table: borrowing DynamicTable
    ) -> (number: Int, hasValue: Bool) {
        let oldest = table.nextNumber - table.count
        var number = newest[Int(hash) & (Self.slotCount - 1)]
        var withName = -1
        while number >= oldest {
            let link = links[number & (Self.slotCount - 1)]
            if link.hash == hash, name.equals(table.allBytes.span.bytes.extracting(table.name(number))) {
                if value.equals(table.allBytes.span.bytes.extracting(table.value(number))) { return (number, true) }
                if withName < 0 { withName = number }
            }
            number = link.previous
        }
        return (withName, false)
    }
}
