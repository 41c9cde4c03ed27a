/// An error in a header block: the sender's dynamic table is unknown from here on (RFC 7541).
///
/// HTTP/2 treats each as a connection error of type COMPRESSION_ERROR (RFC 9113 §4.3), except ``Code/listTooLarge``. A list that is over a
/// limit by less is not an error, see ``HPACKFields/droppedCount``.
///
/// ```swift
/// do {
///     let block: [UInt8] = [0x80]
///     var decoder = HPACKDecoder()
///     var fields = HPACKFields()
///     try decoder.decode(block.span.bytes, isLast: true, into: &fields)
/// } catch {
///     print(error)  // an index is 0 or above the tables (RFC 7541 §6.1)
/// }
/// ```
public struct HPACKError: Error, Hashable, Sendable {
    /// The kind of the error.
    public var code: Code

    /// Creates an error.
    public init(_ code: Code) {
        self.code = code
    }

    /// The kind of an error. Minor releases may add cases.
    @nonexhaustive
    public enum Code: Hashable, Sendable, CaseIterable {
        /// An index of 0, or above the number of entries in both tables.
        case invalidIndex
        /// An integer above 2^28, or of more bytes than that needs.
        case integerTooLarge
        /// A Huffman-coded string with EOS, or with padding that is not the beginning of EOS, or longer than 7 bits.
        case invalidHuffmanCode
        /// A dynamic table size update above the size that the decoder has allowed.
        case tableSizeTooLarge
        /// A dynamic table size update after the first field of a block, or a third one in one block.
        case misplacedSizeUpdate
        /// No size update at the beginning of the block after the decoder has reduced the size of the table.
        case missingSizeUpdate
        /// A block that ends within a field.
        case truncated
        /// A list whose fields beyond the limits exceed ``HPACKLimits/droppedSize``. HTTP/2 treats it as ENHANCE_YOUR_CALM.
        case listTooLarge
    }
}

extension HPACKError: CustomStringConvertible {
    /// The error and the violated rule in one phrase.
    public var description: String { "\(wording.sentence) (\(rule))" }

    /// The violated rule: a section of RFC 7541. For a list that is too large, the section on memory.
    public var rule: String { wording.rule }

    private var wording: (sentence: String, rule: String) {
        switch code {
        case .invalidIndex: ("an index is 0 or above the tables", "RFC 7541 §6.1")
        case .integerTooLarge: ("an integer is larger than allowed", "RFC 7541 §5.1")
        case .invalidHuffmanCode: ("a string is not in the Huffman code, or its padding is wrong", "RFC 7541 §5.2")
        case .tableSizeTooLarge: ("a table size update exceeds the allowed size", "RFC 7541 §6.3")
        case .misplacedSizeUpdate: ("a table size update is not at the beginning of its block", "RFC 7541 §4.2")
        case .missingSizeUpdate: ("the size of the table was not updated after it was reduced", "RFC 7541 §4.2")
        case .truncated: ("the header block ends within a field", "RFC 7541 §6")
        case .listTooLarge: ("the list of fields is far larger than allowed", "RFC 7541 §7.3")
        }
    }
}
