@testable import HPACK

/// Runs the file of header blocks. The blocks of a row are for one decoder, in order.
///
/// The fields of accepted blocks are also encoded and decoded again. Where the source is the encoder of nghttp2, ours must not need more
/// than 1.02 times its bytes.
struct HPACKScorer: Scorer {
    func runs(file: String) -> Bool { file == "http2-hpack.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let steps = try (row.json["steps"] as? [[String: Any]] ?? []).map { try HPACKStep($0, row) }
        guard !steps.isEmpty else { throw CaseError("\(row.name): there are no steps") }
        do {
            let dropped = try decode(steps, row)
            switch row.verdict {
            case "limit": return dropped > 0 ? .agreed : .laxer(detail: "no limit stops the list")
            case "reject": return .laxer(detail: "the blocks decode")
            default: break
            }
            if dropped > 0 { return .stricter(rule: "hpackLimits") }
        } catch let error as HPACKError {
            return ["reject", "limit", "either"].contains(row.verdict) ? .agreed : .stricter(rule: "\(error.code)")
        } catch let difference as HPACKDifference {
            return .wrongFields(detail: difference.text)
        }
        return row.verdict == "accept" ? try encode(steps, row) : .agreed
    }

    /// Decodes all blocks, compares what the row states, and returns the number of dropped fields.
    private func decode(_ steps: [HPACKStep], _ row: CaseRow) throws -> Int {
        var decoder = HPACKDecoder()
        var list = HPACKFields()
        var dropped = 0
        for (index, step) in steps.enumerated() {
            for size in step.tableSizes { decoder.setMaximumTableSize(size) }
            list.removeAll()
            try decoder.decode(step.wire.span.bytes, isLast: true, into: &list)
            dropped += list.droppedCount
            if list.droppedCount > 0 { continue }
            if let fields = step.fields, fields != list.pairs { throw HPACKDifference("block \(index): \(list.pairs)") }
            if let size = step.dynamicTableSize, size != decoder.tableSize {
                throw HPACKDifference("block \(index): the table has \(decoder.tableSize) bytes instead of \(size)")
            }
            if let marked = step.neverIndexed, marked != list.map(\.isNeverIndexed) {
                throw HPACKDifference("block \(index): other fields are never indexed")
            }
        }
        return dropped
    }

    /// Encodes the fields of all blocks, decodes them, and compares the number of bytes.
    private func encode(_ steps: [HPACKStep], _ row: CaseRow) throws -> Outcome {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        var list = HPACKFields()
        var (bytes, sourceBytes) = (0, 0)
        for (index, step) in steps.enumerated() {
            for size in step.tableSizes {
                encoder.setPeerTableSize(size)
                decoder.setMaximumTableSize(size)
            }
            var block: [UInt8] = []
            encoder.beginBlock(into: &block)
            for field in step.fields ?? [] {
                encoder.encode(name: field.name.span.bytes, value: field.value.span.bytes, into: &block)
            }
            list.removeAll()
            try decoder.decode(block.span.bytes, isLast: true, into: &list)
            guard list.pairs == step.fields ?? [] else {
                return .wrongFields(detail: "block \(index) encoded and decoded")
            }
            bytes += block.count
            sourceBytes += step.wire.count
        }
        if row.text("encoder") == "nghttp2", bytes * 100 > sourceBytes * 102 {
            return .wrongFields(detail: "\(bytes) bytes instead of \(sourceBytes)")
        }
        return .agreed
    }
}

/// Runs the file of strings in the Huffman code, in both directions.
struct HuffmanScorer: Scorer {
    func runs(file: String) -> Bool { file == "http2-huffman.jsonl" }

    func score(_ row: CaseRow, file: String) throws -> Outcome {
        let wire = try row.hex("wire_hex")
        var text = [UInt8](repeating: 0, count: HuffmanDecoding.maximumLength(ofDecoded: wire.count))
        var end = 0
        var span = text.mutableSpan
        var memory = span.mutableBytes
        let isValid = HuffmanCode.shared.decode(wire.span.bytes, into: &memory, at: &end)
        guard row.verdict == "accept" else { return isValid ? .laxer(detail: "it decodes") : .agreed }
        guard isValid else { return .stricter(rule: "invalidHuffmanCode") }
        let expected = try row.hex("text_hex")
        guard Array(text[..<end]) == expected else { return .wrongFields(detail: "\(text[..<end])") }
        // The encoder leaves out what would not be shorter than the text.
        guard row.text("kind") == "both", wire.count < expected.count else { return .agreed }
        var encoder = HuffmanEncoder()
        let count = encoder.encode(expected.span.bytes, .shared)
        return count.map { Array(encoder.memory[..<$0]) } == wire ? .agreed : .wrongFields(detail: "encoded")
    }
}

/// A name and a value.
private struct HPACKPair: Equatable, CustomStringConvertible {
    var name: [UInt8]
    var value: [UInt8]

    var description: String { "\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))" }
}

/// A block of a row, and what the row states about it.
private struct HPACKStep {
    var wire: [UInt8]
    /// The settings that were acknowledged before the block.
    var tableSizes: [Int]
    var fields: [HPACKPair]?
    var dynamicTableSize: Int?
    var neverIndexed: [Bool]?

    init(_ json: [String: Any], _ row: CaseRow) throws {
        guard let hex = json["wire_hex"] as? String else { throw CaseError("\(row.name): a step without wire_hex") }
        wire = try CaseRow.bytes(hex: hex)
        tableSizes = json["table_sizes"] as? [Int] ?? (json["table_size"] as? Int).map { [$0] } ?? []
        // Text of the rows is ISO 8859-1.
        fields = (json["headers"] as? [[String]])?.map { pair in
            HPACKPair(name: CaseRow.latin1(pair[0]), value: CaseRow.latin1(pair[1]))
        }
        dynamicTableSize = json["dynamic_table_bytes"] as? Int
        neverIndexed = json["never_indexed"] as? [Bool]
    }
}

private struct HPACKDifference: Error {
    var text: String

    init(_ text: String) {
        self.text = text
    }
}

extension HPACKFields {
    fileprivate var pairs: [HPACKPair] { map { HPACKPair(name: Array(bytes[$0.name]), value: Array(bytes[$0.value])) } }
}

extension CaseRow {
    /// Returns the bytes of a member in hexadecimal.
    func hex(_ key: String) throws -> [UInt8] {
        guard let text = text(key) else { throw CaseError("\(name): \(key) is missing") }
        return try Self.bytes(hex: text)
    }

    static func bytes(hex: String) throws -> [UInt8] {
        let digits = try hex.utf8.map { digit in
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else {
                throw CaseError("\(hex) is not hexadecimal")
            }
            return UInt8(value)
        }
        guard digits.count.isMultiple(of: 2) else { throw CaseError("\(hex) has an odd number of digits") }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Returns the bytes of a text whose scalars are bytes.
    static func latin1(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}
