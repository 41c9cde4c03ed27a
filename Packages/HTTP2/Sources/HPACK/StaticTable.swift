/// The static table (RFC 7541 appendix A).
///
/// Indices begin with 1, as in the RFC. The bytes of all entries are in one array, each name followed by its value.
struct StaticTable: Sendable {
    static let shared = StaticTable()

    /// The number of entries.
    static let count = 61

    let bytes: [UInt8]

    /// The positions of the entries in ``bytes``; that at index 0 is empty.
    let entries: [TableEntry]

    /// The index of the next entry with the same name as an entry, or 0.
    private let next: [UInt8]

    /// The index of the first entry with each name, in the slot of the name's hash or in one of the next. 0 ends the search.
    private let slots: [UInt8]

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
        var entries = [TableEntry(isStatic: true, start: 0, nameLength: 0, valueLength: 0)]
        var next = [UInt8](repeating: 0, count: Self.count + 1)
        for (name, value) in Self.lines {
            entries.append(
                TableEntry(
                    isStatic: true, start: bytes.count, nameLength: name.utf8.count, valueLength: value.utf8.count))
            bytes += Array(name.utf8) + Array(value.utf8)
        }
        var slots = [UInt8](repeating: 0, count: Self.slotCount)
        for index in 1...Self.count {
            let name = bytes[entries[index].name]
            if index > 1, bytes[entries[index - 1].name] == name {
                next[index - 1] = UInt8(index)
                continue
            }
            var slot = Int(name.span.bytes.hash) & (Self.slotCount - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (Self.slotCount - 1) }
            slots[slot] = UInt8(index)
        }
        (self.bytes, self.entries, self.next, self.slots) = (bytes, entries, next, slots)
    }

    /// A power of two, so large that most names have a slot of their own.
    private static let slotCount = 256

    /// Returns the index of the first entry with this name, or 0.
    @inline(__always)
    func firstIndex(of name: RawSpan, hash: UInt32) -> Int {
        var slot = Int(hash) & (Self.slotCount - 1)
        while true {
            let index = Int(slots[slot])
            if index == 0 || name.isEqual(bytes.span.bytes.extracting(entries[index].name)) { return index }
            slot = (slot + 1) & (Self.slotCount - 1)
        }
    }

    /// Returns the index of the entry with the name of entry `first`, the first with that name, and with this value, or 0.
    @inline(__always)
    func index(of value: RawSpan, firstIndex first: Int) -> Int {
        var index = first
        while index != 0, !value.isEqual(bytes.span.bytes.extracting(entries[index].value)) {
            index = Int(next[index])
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
