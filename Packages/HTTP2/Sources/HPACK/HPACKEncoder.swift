public import HTTPMessage

/// Encodes fields as header blocks (RFC 7541).
///
/// One encoder belongs to one direction of one connection, and its blocks must be sent in the order in which they were made.
///
/// ```swift
/// var encoder = HPACKEncoder()
/// var block: [UInt8] = []
/// encoder.beginBlock(into: &block)
/// encoder.encode(.method, "GET".utf8.span.bytes, into: &block)
/// encoder.encode(name: "User-Agent".utf8.span.bytes, value: "example".utf8.span.bytes, into: &block)
/// ```
public struct HPACKEncoder: Sendable {
    /// The maximum size of the dynamic table, whatever the peer allows: 4,096 bytes.
    public static let maximumTableSize = 4096

    /// Whether strings are Huffman-coded where that is shorter. True by default; false saves time on fast links.
    public var usesHuffmanCoding: Bool {
        get { writer.usesHuffmanCoding }
        set { writer.usesHuffmanCoding = newValue }
    }

    private var writer = FieldWriter()
    /// The size of the table that the peer's last settings allow.
    private var allowedTableSize = maximumTableSize
    /// The smallest of the sizes that the peer has allowed since the last block. Nil if there were no new settings.
    private var smallestTableSize: Int?

    /// Creates an encoder with a dynamic table of 4,096 bytes, which is what peers allow before their first SETTINGS.
    public init() {}

    /// Sets the size of the table that the peer allows, from its SETTINGS_HEADER_TABLE_SIZE.
    ///
    /// The next block begins with the necessary size updates (RFC 7541 §4.2). The table never exceeds ``maximumTableSize``;
    /// a size below 0 is 0.
    public mutating func setPeerTableSize(_ size: Int) {
        allowedTableSize = min(max(0, size), Self.maximumTableSize)
        smallestTableSize = min(allowedTableSize, smallestTableSize ?? allowedTableSize)
    }

    /// The size of the dynamic table: for each entry, the bytes of its name and value, and 32 (RFC 7541 §4.1).
    public var tableSize: Int { writer.table.size }

    /// Begins a block: appends the size updates that the peer's settings require, in general none.
    ///
    /// There are at most two: the smallest size since the last block, if the table has to shrink, and the last one (RFC 7541 §4.2).
    public mutating func beginBlock(into output: inout [UInt8]) {
        guard let smallest = smallestTableSize else { return }
        smallestTableSize = nil
        if smallest < writer.table.maximumSize { writer.updateTableSize(smallest, into: &output) }
        if allowedTableSize != writer.table.maximumSize { writer.updateTableSize(allowedTableSize, into: &output) }
    }

    /// Appends a field. The letters of the name are sent in lower case (RFC 9113 §8.2).
    ///
    /// The default indexing keeps secrets out of the dynamic table, see ``Indexing/automatic``.
    public mutating func encode(
        name: RawSpan, value: RawSpan, indexing: Indexing = .automatic, into output: inout [UInt8]
    ) {
        if name.byteCount <= 64 {
            var lowercased = InlineArray<64, UInt8>(repeating: 0)
            var span = lowercased.mutableSpan
            var bytes = span.mutableBytes
            bytes.copyLowercased(name)
            let written = lowercased.span.bytes.extracting(0..<name.byteCount)
            writer.write(name: written, value: value, indexing: indexing, into: &output)
        } else {
            var lowercased = [UInt8](repeating: 0, count: name.byteCount)
            var span = lowercased.mutableSpan
            var bytes = span.mutableBytes
            bytes.copyLowercased(name)
            writer.write(name: lowercased.span.bytes, value: value, indexing: indexing, into: &output)
        }
    }

    /// Appends a pseudo-header field (RFC 9113 §8.3).
    public mutating func encode(
        _ name: PseudoHeader, _ value: RawSpan, indexing: Indexing = .automatic, into output: inout [UInt8]
    ) {
        if let staticName = name.staticName {
            writer.write(staticName: staticName, value: value, indexing: indexing, into: &output)
        } else {
            writer.write(name: Self.protocolName.span.bytes, value: value, indexing: indexing, into: &output)
        }
    }

    /// The only pseudo-header field without an entry in the static table.
    private static let protocolName = Array(":protocol".utf8)

    /// Appends all fields of a message or trailer section.
    public mutating func encode(_ fields: HTTPFields, into output: inout [UInt8]) {
        fields.forEachRawField { name, value in encode(name: name, value: value, into: &output) }
    }

    /// Whether a field enters the dynamic table.
    public enum Indexing: Hashable, Sendable {
        /// By name: `authorization`, `proxy-authorization`, `set-cookie` and a `cookie` of less than 20 bytes are never indexed
        /// (RFC 7541 §7.1.3); fields whose values rarely repeat, such as `content-length`, do not enter the table; all others do.
        case automatic
        /// Neither this encoder nor a proxy behind it indexes the field (RFC 7541 §6.2.3).
        case never
    }

    /// The names of the pseudo-header fields (RFC 9113 §8.3, RFC 8441 §4).
    public enum PseudoHeader: Hashable, Sendable, CaseIterable {
        /// `:authority`.
        case authority
        /// `:method`.
        case method
        /// `:path`.
        case path
        /// `:scheme`.
        case scheme
        /// `:status`.
        case status
        /// `:protocol`, of extended CONNECT.
        case `protocol`

        /// The index of the first entry of the static table with the name; nil if there is none.
        fileprivate var staticName: Int? {
            switch self {
            case .authority: StaticTable.Index.authority
            case .method: StaticTable.Index.method
            case .path: StaticTable.Index.path
            case .scheme: StaticTable.Index.scheme
            case .status: StaticTable.Index.status
            case .protocol: nil
            }
        }
    }
}
