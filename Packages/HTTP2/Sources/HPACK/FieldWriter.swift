/// Writes fields in the shortest of their representations (RFC 7541 §6), and keeps the encoder's dynamic table.
struct FieldWriter: Sendable {
    var usesHuffmanCoding = true
    private(set) var table = DynamicTable(maximumSize: HPACKEncoder.maximumTableSize)
    private var index = FieldIndex()
    private let huffman = HuffmanCode.shared
    private var encoded = HuffmanEncoder()
    private let staticTable = StaticTable.shared

    /// Appends a dynamic table size update (RFC 7541 §6.3), and changes the size.
    mutating func updateTableSize(_ size: Int, into output: inout [UInt8]) {
        table.setMaximumSize(size)
        PrefixedInteger.append(size, prefix: 5, pattern: 0x20, to: &output)
    }

    /// Appends a field, whose name is in lower case.
    mutating func write(
        name: RawSpan, value: RawSpan, indexing: HPACKEncoder.Indexing, into output: inout [UInt8]
    ) {
        let hash = FieldHash(name: name, value: value)
        if indexing == .automatic, let number = index.find(name: name, value: value, hash: hash, in: table) {
            return PrefixedInteger.append(dynamicIndex(number), prefix: 7, pattern: 0x80, to: &output)
        }
        let staticName = staticTable.firstIndex(of: name, hash: hash.name)
        if writeStaticEntry(staticName, value, indexing, into: &output) { return }
        let nameIndex = staticName != 0 ? staticName : dynamicIndex(index.find(name: name, hash: hash, in: table))
        let literal = literal(staticName, name.byteCount, value, indexing)
        begin(literal, nameIndex: nameIndex, into: &output)
        if nameIndex == 0 { writeString(name, into: &output) }
        writeString(value, into: &output)
        if literal == .indexed, let number = table.insert(name: name, value: value) {
            index.insert(number, hash: hash, hasStaticName: staticName != 0)
        }
    }

    /// Appends a field with the name of an entry of the static table, the first one with that name.
    mutating func write(
        staticName: Int, value: RawSpan, indexing: HPACKEncoder.Indexing, into output: inout [UInt8]
    ) {
        if writeStaticEntry(staticName, value, indexing, into: &output) { return }
        let name = staticTable.entries[staticName].name
        let literal = literal(staticName, name.count, value, indexing)
        guard literal == .indexed else {
            // A field that does not enter the dynamic table is not searched there.
            begin(literal, nameIndex: staticName, into: &output)
            return writeString(value, into: &output)
        }
        if let number = find(staticName: name, value) {
            return PrefixedInteger.append(dynamicIndex(number), prefix: 7, pattern: 0x80, to: &output)
        }
        // The field is new to the table. This is rare enough for a copy.
        let copy = Array(staticTable.bytes[name])
        write(name: copy.span.bytes, value: value, indexing: indexing, into: &output)
    }

    private func find(staticName: Range<Int>, _ value: RawSpan) -> Int? {
        let name = staticTable.bytes.span.bytes.extracting(staticName)
        return index.find(name: name, value: value, hash: FieldHash(name: name, value: value), in: table)
    }

    /// Appends the index of an entry of the static table with this value. Returns false if there is none, or if it must not be used.
    @inline(__always)
    private func writeStaticEntry(
        _ staticName: Int, _ value: RawSpan, _ indexing: HPACKEncoder.Indexing, into output: inout [UInt8]
    ) -> Bool {
        if indexing == .never || Self.isSecret(staticName, value) { return false }
        let entry = staticTable.index(of: value, firstIndex: staticName)
        if entry == 0 { return false }
        PrefixedInteger.append(entry, prefix: 7, pattern: 0x80, to: &output)
        return true
    }

    /// Returns the index of an entry of the dynamic table on the wire (RFC 7541 §2.3.3), or 0 for nil.
    @inline(__always)
    private func dynamicIndex(_ number: Int?) -> Int {
        number.map { StaticTable.count + table.nextNumber - $0 } ?? 0
    }

    /// Appends a string literal (RFC 7541 §5.2), Huffman-coded if that is shorter.
    @inline(__always)
    private mutating func writeString(_ string: RawSpan, into output: inout [UInt8]) {
        if usesHuffmanCoding, let count = encoded.encode(string, huffman) {
            PrefixedInteger.append(count, prefix: 7, pattern: 0x80, to: &output)
            output.append(encoded.memory.span.bytes.extracting(0..<count))
        } else {
            PrefixedInteger.append(string.byteCount, prefix: 7, pattern: 0, to: &output)
            output.append(string)
        }
    }

    // MARK: Literals

    /// The three representations of a literal field.
    private enum Literal {
        /// With incremental indexing (RFC 7541 §6.2.1): the field enters the dynamic table.
        case indexed
        /// Without indexing (RFC 7541 §6.2.2).
        case notIndexed
        /// Never indexed (RFC 7541 §6.2.3).
        case neverIndexed
    }

    /// Appends the first bytes of a literal field: its representation, and the index of its name, or 0.
    @inline(__always)
    private func begin(_ literal: Literal, nameIndex: Int, into output: inout [UInt8]) {
        switch literal {
        case .indexed: PrefixedInteger.append(nameIndex, prefix: 6, pattern: 0x40, to: &output)
        case .notIndexed: PrefixedInteger.append(nameIndex, prefix: 4, pattern: 0, to: &output)
        case .neverIndexed: PrefixedInteger.append(nameIndex, prefix: 4, pattern: 0x10, to: &output)
        }
    }

    /// Chooses the representation of a field.
    @inline(__always)
    private func literal(
        _ staticName: Int, _ nameLength: Int, _ value: RawSpan, _ indexing: HPACKEncoder.Indexing
    ) -> Literal {
        if indexing == .never || Self.isSecret(staticName, value) { return .neverIndexed }
        return isWorthIndexing(staticName, nameLength + value.byteCount) ? .indexed : .notIndexed
    }

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
}

/// The hashes of a field's name, and of its name and value.
struct FieldHash {
    var name: UInt32
    var field: UInt32

    @inline(__always)
    init(name: RawSpan, value: RawSpan) {
        self.name = name.hash
        field = self.name &* 31 &+ value.hash
    }
}

/// Finds entries of the encoder's dynamic table: by name and value, and by name for names that the static table lacks.
private struct FieldIndex: Sendable {
    private var fields = HashChains()
    private var names = HashChains()

    mutating func insert(_ number: Int, hash: FieldHash, hasStaticName: Bool) {
        fields.insert(number, hash: hash.field)
        if !hasStaticName { names.insert(number, hash: hash.name) }
    }

    /// Returns the number of the newest entry with this name and value.
    @inline(__always)
    func find(name: RawSpan, value: RawSpan, hash: FieldHash, in table: borrowing DynamicTable) -> Int? {
        let oldest = table.nextNumber - table.count
        var number = fields.newest(hash.field)
        while number >= oldest {
            if fields.hash(number) == hash.field {
                let entry = table.entry(number)
                if value.isEqual(table.allBytes.span.bytes.extracting(entry.value)),
                    name.isEqual(table.allBytes.span.bytes.extracting(entry.name))
                {
                    return number
                }
            }
            number = fields.previous(number)
        }
        return nil
    }

    /// Returns the number of the newest entry with this name.
    func find(name: RawSpan, hash: FieldHash, in table: borrowing DynamicTable) -> Int? {
        let oldest = table.nextNumber - table.count
        var number = names.newest(hash.name)
        while number >= oldest {
            if names.hash(number) == hash.name,
                name.isEqual(table.allBytes.span.bytes.extracting(table.entry(number).name))
            {
                return number
            }
            number = names.previous(number)
        }
        return nil
    }
}

/// The numbers of entries by a hash. Numbers whose hashes have the same low bits are linked, from the newest to the oldest.
///
/// Evicted entries need no work: a number that is older than all of the table ends a search.
private struct HashChains: Sendable {
    /// The newest number by the low bits of its hash; -1 if there is none.
    private var newest = [Int](repeating: -1, count: slotCount)
    /// The links by the low bits of the number.
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

    func newest(_ hash: UInt32) -> Int { newest[Int(hash) & (Self.slotCount - 1)] }

    func hash(_ number: Int) -> UInt32 { links[number & (Self.slotCount - 1)].hash }

    func previous(_ number: Int) -> Int { links[number & (Self.slotCount - 1)].previous }
}
