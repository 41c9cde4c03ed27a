internal import HPACK

extension FuzzTarget {
    /// Header blocks for one decoder, as received by a client or a server: a byte is the length of a block, the next ones are the block.
    static let hpackDecode = FuzzTarget(name: "hpack-decode") { bytes in
        for listSize in [100, HPACKLimits().listSize] {
            let whole = decoded(bytes, pieceLength: 4096, listSize: listSize)
            for length in [1, 7] {
                precondition(
                    decoded(bytes, pieceLength: length, listSize: listSize) == whole,
                    "another result in pieces of \(length)")
            }
        }
    }

    /// Fields to be sent, of any bytes, while the settings of the peer change: what is encoded is decoded.
    static let hpackEncode = FuzzTarget(name: "hpack-encode") { bytes in
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder(limits: unlimited)
        var input = bytes[...]
        while let command = input.popFirst() {
            encoder.usesHuffmanCoding = command & 0x80 == 0
            if command & 0x40 != 0 {
                let size = Int(input.popFirst() ?? 0) * 40
                encoder.setPeerTableSize(size)
                decoder.setMaximumTableSize(size)
            }
            var block: [UInt8] = []
            var sent: [[UInt8]] = []
            encoder.beginBlock(into: &block)
            for _ in 0..<command & 0x0F {
                let (name, value) = (takeText(&input), takeText(&input))
                let indexing = command & 0x20 == 0 ? HPACKEncoder.Indexing.automatic : .never
                encoder.encode(name: name.span.bytes, value: value.span.bytes, indexing: indexing, into: &block)
                sent += [name.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }, value]
            }
            var list = HPACKFields()
            do throws(HPACKError) {
                try decoder.decode(block.span.bytes, isLast: true, into: &list)
            } catch {
                preconditionFailure("an encoded block is not decoded: \(error)")
            }
            precondition(list.flatMap { [Array(list.bytes[$0.name]), Array(list.bytes[$0.value])] } == sent)
            precondition(encoder.tableSize == decoder.tableSize && encoder.tableSize <= HPACKEncoder.maximumTableSize)
        }
    }

    private static var unlimited: HPACKLimits {
        var limits = HPACKLimits()
        limits.listSize = 1 << 30
        limits.fieldCount = .max
        return limits
    }

    /// Takes a text: a length, then its bytes.
    private static func takeText(_ input: inout ArraySlice<UInt8>) -> [UInt8] {
        let count = Int(input.popFirst() ?? 0)
        defer { input = input.dropFirst(count) }
        return Array(input.prefix(count))
    }

    /// Decodes all blocks and returns their fields, the sizes and the error as text.
    private static func decoded(_ bytes: [UInt8], pieceLength: Int, listSize: Int) -> [String] {
        var limits = HPACKLimits()
        limits.listSize = listSize
        var decoder = HPACKDecoder(limits: limits)
        var input = bytes[...]
        var seen: [String] = []
        var list = HPACKFields()
        while let length = input.popFirst() {
            let block = Array(input.prefix(Int(length)))
            input = input.dropFirst(Int(length))
            list.removeAll()
            do throws(HPACKError) {
                for start in stride(from: 0, through: block.count, by: pieceLength) {
                    let end = min(start + pieceLength, block.count)
                    try decoder.decode(block.span.bytes.extracting(start..<end), isLast: false, into: &list)
                }
                try decoder.decode(block.span.bytes.extracting(block.count...), isLast: true, into: &list)
            } catch {
                return seen + ["\(error.code)"]
            }
            let fields = list.map { "\(list.bytes[$0.name]) \(list.bytes[$0.value]) \($0.isNeverIndexed)" }
            precondition(list.count <= limits.fieldCount && decoder.tableSize <= 4096)
            seen += fields + ["\(list.listSize) \(list.droppedCount) \(decoder.tableSize) \(decoder.tableCount)"]
        }
        return seen
    }
}
