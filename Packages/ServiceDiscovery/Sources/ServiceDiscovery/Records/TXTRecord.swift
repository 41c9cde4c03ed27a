/// What a service tells about itself beside its address: keys with values, in an order.
///
/// ```swift
/// var record = try TXTRecord(["txtvers": "1", "path": "/status"])
/// try record.set("secure")                     // a key without a value
/// record.string("path")                        // "/status"
/// record.contains("SECURE"), record["secure"]  // (true, nil): it is there and has no value
/// ```
///
/// Keys are printable ASCII without `=` and compared without case; 9 letters or fewer are advised. Values are any bytes.
/// A key and its value, with the `=` between them, take at most 255 bytes, and all together at most 65 535. A record over
/// ``largestPublishedSize`` cannot be published, and one over ``advisedSize`` does not fit into one packet on most networks
/// (RFC 6763 §6). Everybody on the network can read it.
public struct TXTRecord: Sendable {
    /// Most bytes of one key, `=` and value (RFC 6763 §6.1).
    public static let longestEntry = 255
    /// Most bytes of a whole record, with a byte of length before each entry.
    public static let largestSize = 65_535
    /// Most bytes of a record that is published: one packet of multicast DNS, of at most 9,000 bytes with its headers
    /// (RFC 6762 §17), holds it together with the names and the location of its service.
    public static let largestPublishedSize = MulticastRules.largestPayload - 512
    /// What a record should stay below (RFC 6763 §6.2).
    public static let advisedSize = 1_300

    /// One key with its value.
    public struct Entry: Hashable, Sendable {
        /// The key, in the case it was given.
        public let key: String
        /// The value's bytes; nil for a key without `=`, which is not the same as an empty value.
        public let value: [UInt8]?
    }

    /// The keys and values in order; no key comes twice.
    public private(set) var entries: [Entry] = []

    /// A record without keys.
    public init() {}

    /// A record of texts.
    ///
    /// - Throws: as ``set(_:to:)-(String,[UInt8]?)``; also for a key that comes twice.
    public init(_ pairs: KeyValuePairs<String, String>) throws(ServiceDiscoveryError) {
        for (key, value) in pairs { try append(key, Array(value.utf8)) }
    }

    /// A record of bytes, in the order of the keys' text. Replaces `CFNetServiceCreateTXTDataWithDictionary`.
    ///
    /// - Throws: as ``set(_:to:)-(String,[UInt8]?)``; also for keys that differ in case only.
    public init(dictionary: [String: [UInt8]?]) throws(ServiceDiscoveryError) {
        for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) { try append(key, value) }
    }

    /// The keys and values; nil inside is a key without a value. Replaces `CFNetServiceCreateDictionaryWithTXTData`.
    public var dictionary: [String: [UInt8]?] {
        Dictionary(entries.map { ($0.key, $0.value) }) { first, _ in first }
    }

    /// The value of `key`; nil if there is no such key or it has no value (``contains(_:)`` tells them apart).
    public subscript(key: String) -> [UInt8]? {
        place(of: key).flatMap { entries[$0].value }
    }

    /// The value of `key` as text; nil if there is none or it is no UTF-8.
    public func string(_ key: String) -> String? {
        self[key].flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// True if `key` is there, with or without a value.
    public func contains(_ key: String) -> Bool {
        place(of: key) != nil
    }

    /// Gives `key` a value, in its old place if it has one; nil for a key without a value.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidRecord`` if the key is empty, has `=` or anything but
    ///   printable ASCII, if key and value take more than ``longestEntry`` bytes, or the record would exceed
    ///   ``largestSize``. The record is as before then.
    public mutating func set(_ key: String, to value: [UInt8]? = nil) throws(ServiceDiscoveryError) {
        let entry = try Self.checked(key, value)
        let old = place(of: key)
        let size = size + Self.size(of: entry) - (old.map { Self.size(of: entries[$0]) } ?? 0)
        guard size <= Self.largestSize else {
            throw Self.invalid(key, "the record would have \(size) bytes; at most \(Self.largestSize)")
        }
        if let old { entries[old] = entry } else { entries.append(entry) }
    }

    /// Gives `key` a text, as UTF-8.
    ///
    /// - Throws: as ``set(_:to:)-(String,[UInt8]?)``.
    public mutating func set(_ key: String, to value: String) throws(ServiceDiscoveryError) {
        try set(key, to: Array(value.utf8))
    }

    /// Takes `key` out; nothing happens if it is not there.
    public mutating func remove(_ key: String) {
        if let place = place(of: key) { entries.remove(at: place) }
    }

    /// Bytes on the wire.
    public var size: Int { entries.isEmpty ? 1 : entries.reduce(0) { $0 + Self.size(of: $1) } }

    /// Throws ``ServiceDiscoveryError/Code-swift.struct/invalidRecord`` for a record over ``largestPublishedSize``.
    func checkPublishedSize() throws(ServiceDiscoveryError) {
        guard size > Self.largestPublishedSize else { return }
        throw ServiceDiscoveryError(
            .invalidRecord,
            detail: "\(size) bytes do not fit into a multicast DNS packet; at most \(Self.largestPublishedSize)")
    }

    private mutating func append(_ key: String, _ value: [UInt8]?) throws(ServiceDiscoveryError) {
        guard place(of: key) == nil else { throw Self.invalid(key, "the key occurs twice") }
        try set(key, to: value)
    }

    private func place(of key: String) -> Int? {
        let wanted = Self.folded(key)
        return entries.firstIndex { Self.folded($0.key) == wanted }
    }

    private static func checked(_ key: String, _ value: [UInt8]?) throws(ServiceDiscoveryError) -> Entry {
        guard !key.isEmpty else { throw invalid(key, "a key must not be empty") }
        guard key.utf8.allSatisfy(isKeyByte) else { throw invalid(key, "a key must be printable ASCII without =") }
        let entry = Entry(key: key, value: value)
        let count = size(of: entry) - 1
        guard count <= longestEntry else {
            throw invalid(key, "key and value have \(count) bytes; at most \(longestEntry)")
        }
        return entry
    }

    /// Bytes on the wire, with the one of length.
    private static func size(of entry: Entry) -> Int {
        1 + entry.key.utf8.count + (entry.value.map { $0.count + 1 } ?? 0)
    }

    private static func folded(_ key: String) -> [UInt8] {
        key.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    static func isKeyByte(_ byte: UInt8) -> Bool {
        (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "=")
    }

    private static func invalid(_ key: String, _ rule: String) -> ServiceDiscoveryError {
        ServiceDiscoveryError(.invalidRecord, name: key, detail: rule)
    }
}

// MARK: - The wire

extension TXTRecord {
    /// Reads a record's strings as they come from the DNS (RFC 6763 §6.4): of a key that comes twice the first counts;
    /// strings that are empty, longer than ``longestEntry``, or whose key is empty or no printable ASCII, are passed over, and so
    /// is what would make the record larger than ``largestSize``.
    public init(strings: some Sequence<[UInt8]>) {
        var seen: Set<[UInt8]> = []
        var size = 0
        for string in strings.prefix(Self.largestSize) where string.count <= Self.longestEntry {
            let key = string.prefix { $0 != UInt8(ascii: "=") }
            guard !key.isEmpty, key.allSatisfy(Self.isKeyByte) else { continue }
            let text = String(decoding: key, as: UTF8.self)
            guard size + 1 + string.count <= Self.largestSize, seen.insert(Self.folded(text)).inserted else { continue }
            size += 1 + string.count
            let value = key.count == string.count ? nil : Array(string[(key.count + 1)...])
            entries.append(Entry(key: text, value: value))
        }
    }

    /// Reads a record's bytes: strings behind a byte of length each. A string longer than what is left ends the record, and what
    /// is beyond ``largestSize`` is passed over, as in ``init(strings:)``.
    public init(wire bytes: some Collection<UInt8>) {
        var strings: [[UInt8]] = []
        var rest = Array(bytes)[...]
        while let length = rest.popFirst(), rest.count >= Int(length) {
            strings.append(Array(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        self.init(strings: strings)
    }

    /// The strings as they go into a DNS record; one empty string if there is no key (RFC 6763 §6.1).
    public var strings: [[UInt8]] {
        if entries.isEmpty { return [[]] }
        return entries.map { entry in
            Array(entry.key.utf8) + (entry.value.map { [UInt8(ascii: "=")] + $0 } ?? [])
        }
    }

    /// The bytes of the record, at most ``largestSize``.
    public var wireForm: [UInt8] {
        strings.flatMap { [UInt8($0.count)] + $0 }
    }
}

extension TXTRecord: Hashable {
    /// Equal if the same strings stand in the same order; keys differ by case here, as the wire does.
    public static func == (one: TXTRecord, other: TXTRecord) -> Bool {
        one.entries == other.entries
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(entries)
    }
}

extension TXTRecord: CustomStringConvertible {
    /// The entries for people, `key=value` each; bytes that are no UTF-8 in hexadecimal.
    public var description: String {
        entries.map { entry in
            guard let value = entry.value else { return entry.key }
            if let text = String(validating: value, as: UTF8.self) { return "\(entry.key)=\(text)" }
            return entry.key + "=0x"
                + value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }.joined(separator: " ")
    }
}
