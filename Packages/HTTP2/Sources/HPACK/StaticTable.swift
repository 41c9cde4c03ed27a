/// The static table (RFC 7541 appendix A).
///
/// Indices begin with 1, as in the RFC. The bytes of all entries are in one array, each name followed by its value.
struct StaticTable: Sendable {
    static let shared = StaticTable()

    /// The number of entries.
    static let count = 61

    let bytes: [UInt8]

    /// The positions of the entries in ``bytes``; that at index 0 is empty.
    let entries: [Entry]

    /// The index of the first entry with each name, in the slot of the name's hash or in one of the next. 0 ends the search.
    private let slots: [UInt8]

    struct Entry: BitwiseCopyable, Sendable {
        var start: Int
        var nameLength: Int
        var valueLength: Int
        /// The index of the next entry with the same name, or 0.
        var next = 0

        var name: Range<Int> { start..<start + nameLength }
        var value: Range<Int> { start + nameLength..<start + nameLength + valueLength }
        var all: Range<Int> { start..<start + nameLength + valueLength }
    }

    /// The indices of entries whose names have a meaning for the encoder.
    enum Index {
        static let authority = 1
        static let method = 2
        static let path = 4
        static let scheme = 6
        static let status = 8
        static let age = 21
        static let authorization = 23
        static let contentLength = 28
        static let cookie = 32
        static let etag = 34
        static let ifModifiedSince = 40
        static let ifNoneMatch = 41
        static let location = 46
        static let proxyAuthorization = 49
        static let setCookie = 55
    }

    private init() {
        var bytes: [UInt8] = []
        var entries = [Entry(start: 0, nameLength: 0, valueLength: 0)]
        for (name, value) in Self.lines {
            entries.append(Entry(start: bytes.count, nameLength: name.utf8.count, valueLength: value.utf8.count))
            bytes += Array(name.utf8) + Array(value.utf8)
        }
        var slots = [UInt8](repeating: 0, count: Self.slotCount)
        for index in 1...Self.count {
            let name = bytes[entries[index].name]
            if index > 1, bytes[entries[index - 1].name] == name {
                entries[index - 1].next = index
                continue
            }
            var slot = Int(NameHash.hash(of: name.span.bytes)) & (Self.slotCount - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (Self.slotCount - 1) }
            slots[slot] = UInt8(index)
        }
        (self.bytes, self.entries, self.slots) = (bytes, entries, slots)
    }

    /// A power of two, so large that most names have a slot of their own.
    private static let slotCount = 256

    /// Returns the index of the first entry with this name, or 0.
    @inline(__always)
    func firstIndex(of name: RawSpan, hash: UInt32) -> Int {
        var slot = Int(hash) & (Self.slotCount - 1)
        while true {
            let index = Int(slots[slot])
            if index == 0 || name.equals(bytes.span.bytes.extracting(entries[index].name)) { return index }
            slot = (slot + 1) & (Self.slotCount - 1)
        }
    }

    /// Returns the index of the entry with the name of entry `first`, the first with that name, and with this value, or 0.
    @inline(__always)
    func index(of value: RawSpan, firstIndex first: Int) -> Int {
        var index = first
        while index != 0, !value.equals(bytes.span.bytes.extracting(entries[index].value)) {
            index = entries[index].next
        }
        return index
    }

    private static let lines: [(name: String, value: String)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
        (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
        (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
        ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
        ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
        ("etag", ""),
        ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
        ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
        ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
        ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
        ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
        ("www-authenticate", ""),
    ]
}

/// A hash of names of fields, from their length, beginning and end. Names with the same hash are compared.
enum NameHash {
    @inline(__always)
    static func hash(of name: RawSpan) -> UInt32 {
        let count = name.byteCount
        var (first, last): (UInt64, UInt64) = (0, 0)
        if count >= 8 {
            first = name.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self)
            last = name.unsafeLoadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
        } else if count >= 4 {
            first = UInt64(name.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self))
            last = UInt64(name.unsafeLoadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
        } else if count > 0 {
            first = UInt64(name.byte(at: 0)) | UInt64(name.byte(at: count / 2)) << 8
            last = UInt64(name.byte(at: count &- 1))
        }
        let mixed = (first ^ last &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(count)) &* 0xD6E8_FEB8_6659_FD93
        return UInt32(truncatingIfNeeded: mixed >> 32)
    }
}

extension RawSpan {
    /// Whether both spans have the same bytes.
    @inline(__always)
    func equals(_ other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        var offset = 0
        while offset &+ 8 <= byteCount {
            let (a, b) = (
                unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self),
                other.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            )
            if a != b { return false }
            offset &+= 8
        }
        while offset < byteCount {
            if byte(at: offset) != other.byte(at: offset) { return false }
            offset &+= 1
        }
        return true
    }
}
