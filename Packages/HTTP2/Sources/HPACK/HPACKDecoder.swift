/// Decodes header blocks (RFC 7541).
///
/// One decoder belongs to one direction of one connection, and takes each block of it, in order: blocks refer to the dynamic table
/// that the blocks before have filled. A block may arrive in pieces, as HEADERS and CONTINUATION frames.
///
/// ```swift
/// var decoder = HPACKDecoder()
/// var fields = HPACKFields()
/// try decoder.decode([0x82, 0x84].span.bytes, isLast: false, into: &fields)
/// try decoder.decode([0x86].span.bytes, isLast: true, into: &fields)
/// fields.count  // 3: `:method: GET`, `:path: /`, `:scheme: http`
/// ```
public struct HPACKDecoder: Sendable {
    /// The limits on the list of fields of a block.
    public var limits: HPACKLimits

    /// Creates a decoder whose dynamic table has at most this size in bytes (RFC 7541 §4.1), which is 4,096 unless
    /// SETTINGS_HEADER_TABLE_SIZE says otherwise.
    public init(maximumTableSize: Int = 4096, limits: HPACKLimits = HPACKLimits()) {
        self.limits = limits
    }

    /// Sets the maximum size of the dynamic table, once the peer has acknowledged SETTINGS_HEADER_TABLE_SIZE (RFC 7541 §4.2).
    ///
    /// If the size becomes smaller than that of the table, the next block must begin with a size update.
    public mutating func setMaximumTableSize(_ size: Int) {}

    /// Decodes the next piece of a block and appends its complete fields.
    ///
    /// The caller empties `fields` before the first piece of a block (``HPACKFields/removeAll()``). A field that the piece ends
    /// within is kept until the next piece. `isLast` says that the block is complete.
    ///
    /// Throws an ``HPACKError`` if the block is invalid; the decoder must not be used again then.
    public mutating func decode(_ piece: RawSpan, isLast: Bool, into fields: inout HPACKFields) throws(HPACKError) {}
}

/// The limits on the fields of a header block. The fields beyond a limit are dropped and counted, see ``HPACKFields/droppedCount``.
public struct HPACKLimits: Hashable, Sendable {
    /// The maximum size of the list: the bytes of each name and value, and 32 for each field (RFC 9113 §6.5.2). 256 KiB by default.
    public var listSize = 256 * 1024

    /// The maximum number of fields. 256 by default.
    public var fieldCount = 256

    /// Creates the default limits.
    public init() {}
}
