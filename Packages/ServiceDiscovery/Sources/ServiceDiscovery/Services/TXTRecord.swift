/// The TXT record of a service: keys with values, in order.
///
/// ```swift
/// var record = try TXTRecord(["txtvers": "1", "path": "/status"])
/// try record.set("secure")                     // a key without a value
/// record.string("path")                        // "/status"
/// record.contains("SECURE")                    // true: the key exists
/// record["secure"]                             // nil: without a value
/// ```
///
/// Keys are printable ASCII without `=` and are compared without regard to case; at most 9 characters are recommended.
/// Values are any bytes. A key, the `=` and the value have at most 255 bytes, a whole record at most 65,535. A record
/// larger than ``maximumPublishedSize`` cannot be published, and one larger than ``advisedSize`` exceeds one packet on
/// most networks (RFC 6763 §6). Any host on the network can read the record.
public struct TXTRecord: Sendable {
    /// The largest size of a key, `=` and value, in bytes (RFC 6763 §6.1).
    public static let maximumEntryLength = 255
    /// The largest size of a record in bytes, including a length byte for each entry.
    public static let maximumSize = 65_535
    /// The largest size of a record that can be published, in bytes. One multicast DNS packet of at most 9,000 bytes
    /// (RFC 6762 §17) must hold the record together with the names and the location of its service.
    public static let maximumPublishedSize = MulticastRules.maximumPayload - 512
    /// The recommended largest size in bytes (RFC 6763 §6.2).
    public static let advisedSize = 1_300

    /// A key with its value.
    public struct Entry: Hashable, Sendable {
        /// The key, in its original case.
        public let key: String
        /// The value; nil for a key without `=`, which differs from an empty value.
        public let value: [UInt8]?
    }

    /// The keys and values in order; keys are unique.
    public private(set) var entries: [Entry] = []

    /// Creates a record without keys.
    public init() {}

    /// Creates a record with text values.
    ///
    /// - Throws: the errors of ``set(_:to:)-(String,[UInt8]?)``, also for a duplicate key.
    public init(_ pairs: KeyValuePairs<String, String>) throws(ServiceDiscoveryError) {
        for (key, value) in pairs { try append(key, Array(value.utf8)) }
    }

    /// Creates a record with binary values, sorted by key. Replaces `CFNetServiceCreateTXTDataWithDictionary`.
    ///
    /// - Throws: the errors of ``set(_:to:)-(String,[UInt8]?)``, also for keys that differ only in case.
    public init(dictionary: [String: [UInt8]?]) throws(ServiceDiscoveryError) {
        for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) { try append(key, value) }
    }

    /// The keys and values; the inner nil marks a key without a value. Replaces
    /// `CFNetServiceCreateDictionaryWithTXTData`.
    public var dictionary: [String: [UInt8]?] {
        Dictionary(entries.map { ($0.key, $0.value) }) { first, _ in first }
    }

    /// The value of `key`; nil if the key is missing or has no value, which ``contains(_:)`` distinguishes.
    public subscript(key: String) -> [UInt8]? {
        index(of: key).flatMap { entries[$0].value }
    }

    /// The value of `key` as text; nil if there is no value or it is not UTF-8.
    public func string(_ key: String) -> String? {
        self[key].flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Whether `key` exists, with or without a value.
    public func contains(_ key: String) -> Bool {
        index(of: key) != nil
    }

    /// Sets the value of `key`, which keeps its position if it exists. Nil for a key without a value.
    ///
    /// - Throws: ``ServiceDiscoveryError/Code-swift.struct/invalidRecord`` if the key is empty or has characters other
    ///   than printable ASCII without `=`, if key and value exceed ``maximumEntryLength`` bytes, or if the record would
    ///   exceed ``maximumSize``. The record is unchanged then.
    public mutating func set(_ key: String, to value: [UInt8]? = nil) throws(ServiceDiscoveryError) {
        let entry = try Self.checked(key, value)
        let old = index(of: key)
        let size = size + Self.size(of: entry) - (old.map { Self.size(of: entries[$0]) } ?? 0)
        guard size <= Self.maximumSize else {
            throw Self.invalid(key, "the record would have \(size) bytes; at most \(Self.maximumSize)")
        }
        if let old { entries[old] = entry } else { entries.append(entry) }
    }

    /// Sets the value of `key` to a text in UTF-8.
    ///
    /// - Throws: the errors of ``set(_:to:)-(String,[UInt8]?)``.
    public mutating func set(_ key: String, to value: String) throws(ServiceDiscoveryError) {
        try set(key, to: Array(value.utf8))
    }

    /// Removes `key`, if it exists.
    public mutating func remove(_ key: String) {
        if let index = index(of: key) { entries.remove(at: index) }
    }

    /// The size of the record on the wire, in bytes.
    public var size: Int { entries.isEmpty ? 1 : entries.reduce(0) { $0 + Self.size(of: $1) } }

    /// Throws ``ServiceDiscoveryError/Code-swift.struct/invalidRecord`` for a record larger than
    /// ``maximumPublishedSize``.
    func checkPublishedSize() throws(ServiceDiscoveryError) {
        try [OwnRecord]().checkPublishedSize(with: size)
    }

    private mutating func append(_ key: String, _ value: [UInt8]?) throws(ServiceDiscoveryError) {
        guard index(of: key) == nil else { throw Self.invalid(key, "the key occurs twice") }
        try set(key, to: value)
    }

    private func index(of key: String) -> Int? {
        let wanted = Self.folded(key)
        return entries.firstIndex { Self.folded($0.key) == wanted }
    }

    private static func checked(_ key: String, _ value: [UInt8]?) throws(ServiceDiscoveryError) -> Entry {
        guard !key.isEmpty else { throw invalid(key, "a key must not be empty") }
        guard key.utf8.allSatisfy(isKeyByte) else { throw invalid(key, "a key must be printable ASCII without =") }
        let entry = Entry(key: key, value: value)
        let count = size(of: entry) - 1
        guard count <= maximumEntryLength else {
            throw invalid(key, "key and value have \(count) bytes; at most \(maximumEntryLength)")
        }
        return entry
    }

    /// The size of an entry on the wire with its length byte.
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

// MARK: - Wire form

extension TXTRecord {
    /// Parses the strings of a DNS record (RFC 6763 §6.4). Only the first entry of a duplicate key is used. Strings are
    /// ignored if they are empty, longer than ``maximumEntryLength``, have an invalid key, or would make the record larger
    /// than ``maximumSize``.
    public init(strings: some Sequence<[UInt8]>) {
        var seen: Set<[UInt8]> = []
        var size = 0
        for string in strings.prefix(Self.maximumSize) where string.count <= Self.maximumEntryLength {
            let key = string.prefix { $0 != UInt8(ascii: "=") }
            guard !key.isEmpty, key.allSatisfy(Self.isKeyByte) else { continue }
            let text = String(decoding: key, as: UTF8.self)
            guard size + 1 + string.count <= Self.maximumSize, seen.insert(Self.folded(text)).inserted else { continue }
            size += 1 + string.count
            let value = key.count == string.count ? nil : Array(string[(key.count + 1)...])
            entries.append(Entry(key: text, value: value))
        }
    }

    /// Parses the bytes of a record: strings, each after a length byte. A string that exceeds the rest ends the record.
    /// Strings are ignored as in ``init(strings:)``.
    public init(wire bytes: some Collection<UInt8>) {
        var strings: [[UInt8]] = []
        var rest = Array(bytes)[...]
        while let length = rest.popFirst(), rest.count >= Int(length) {
            strings.append(Array(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        self.init(strings: strings)
    }

    /// The strings of the DNS record; one empty string if there are no keys (RFC 6763 §6.1).
    public var strings: [[UInt8]] {
        if entries.isEmpty { return [[]] }
        return entries.map { entry in
            Array(entry.key.utf8) + (entry.value.map { [UInt8(ascii: "=")] + $0 } ?? [])
        }
    }

    /// The bytes of the record, at most ``maximumSize``.
    public var wireForm: [UInt8] {
        strings.flatMap { [UInt8($0.count)] + $0 }
    }
}

extension TXTRecord: Hashable {
    /// Whether the same strings are in the same order. The case of keys is compared, because the wire form preserves
    /// it.
    public static func == (one: TXTRecord, other: TXTRecord) -> Bool {
        one.entries == other.entries
    }

    /// Hashes the values that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(entries)
    }
}

extension TXTRecord: CustomStringConvertible {
    /// The entries for display, each as `key=value`; values that are not UTF-8 in hexadecimal.
    public var description: String {
        entries.map { entry in
            guard let value = entry.value else { return entry.key }
            if let text = String(validating: value, as: UTF8.self) { return "\(entry.key)=\(text)" }
            return entry.key + "=0x"
                + value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }.joined(separator: " ")
    }
}
