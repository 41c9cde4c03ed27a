@testable import HPACK

/// The bytes of a text of hexadecimal digits and spaces.
func fromHex(_ hex: String) -> [UInt8] {
    let digits = hex.unicodeScalars.filter { $0 != " " }.map { UInt8(String($0), radix: 16)! }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

extension HPACKFields {
    /// The fields as lines, `name: value`.
    var lines: [String] { map { "\(text($0.name)): \(text($0.value))" } }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}

extension HPACKDecoder {
    /// Decodes a whole block.
    mutating func decode(_ block: [UInt8]) throws(HPACKError) -> HPACKFields {
        var fields = HPACKFields()
        try decode(block.span.bytes, isLast: true, into: &fields)
        return fields
    }
}

extension HPACKEncoder {
    /// Encodes a whole block.
    mutating func encode(_ fields: [(String, String)], indexing: Indexing = .automatic) -> [UInt8] {
        var block: [UInt8] = []
        beginBlock(into: &block)
        for (name, value) in fields {
            encode(name: name.utf8.span.bytes, value: value.utf8.span.bytes, indexing: indexing, into: &block)
        }
        return block
    }
}
