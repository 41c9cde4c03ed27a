/// Encodes fields as header blocks (RFC 7541).
///
/// One encoder belongs to one direction of one connection, and its blocks must be sent in the order in which they were made.
///
/// ```swift
/// var encoder = HPACKEncoder()
/// var block: [UInt8] = []
/// encoder.beginBlock(into: &block)
/// encoder.encode(.method, "GET".utf8.span.bytes, into: &block)
/// encoder.encode(name: "user-agent".utf8.span.bytes, value: "example".utf8.span.bytes, into: &block)
/// ```
public struct HPACKEncoder: Sendable {
    /// The maximum size of the dynamic table, whatever the peer allows: 4,096 bytes.
    public static let maximumTableSize = 4096

    /// Whether strings are Huffman-coded where that is shorter. True by default; false saves time on fast links.
    public var usesHuffmanCoding = true

    /// Creates an encoder with a dynamic table of 4,096 bytes, which is what peers allow before their first SETTINGS.
    public init() {}

    /// Sets the size of the table that the peer allows, from its SETTINGS_HEADER_TABLE_SIZE.
    ///
    /// The next block begins with the necessary size updates (RFC 7541 §4.2).
    public mutating func setPeerTableSize(_ size: Int) {}

    /// Begins a block: appends the size updates that the peer's settings require, in general none.
    public mutating func beginBlock(into output: inout [UInt8]) {}

    /// Appends a field. The name must be in lower case (RFC 9113 §8.2).
    ///
    /// The default indexing keeps secrets out of the dynamic table, see ``Indexing/automatic``.
    public mutating func encode(
        name: RawSpan, value: RawSpan, indexing: Indexing = .automatic, into output: inout [UInt8]
    ) {}

    /// Appends a pseudo-header field (RFC 9113 §8.3).
    public mutating func encode(
        _ name: PseudoHeader, _ value: RawSpan, indexing: Indexing = .automatic, into output: inout [UInt8]
    ) {}

    /// Whether a field enters the dynamic table.
    public enum Indexing: Hashable, Sendable {
        /// By name: `authorization`, `proxy-authorization`, `set-cookie` and a `cookie` of less than 20 bytes are never indexed
        /// (RFC 7541 §7.1.3); fields whose values rarely repeat are not; all others are.
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
    }
}
