internal import BenchmarkRows
internal import CMeasure
internal import HPACK
@_spi(Packages) internal import HTTPMessage

/// The heads of a file, each a list of names and values.
private struct Heads {
    var heads: [[(name: [UInt8], value: [UInt8])]] = [[]]

    /// Reads lines of the form `name: value`, with an empty line behind each head.
    init(_ arguments: Arguments) {
        for line in arguments.bytes("file").split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            guard let colon = line.dropFirst().firstIndex(of: UInt8(ascii: ":")) else {
                if heads[heads.count - 1].isEmpty { continue }
                heads.append([])
                continue
            }
            heads[heads.count - 1].append((Array(line[..<colon]), Array(line[(colon + 2)...])))
        }
        heads.removeAll(where: \.isEmpty)
    }

    func encode(_ index: Int, _ encoder: inout HPACKEncoder, into block: inout [UInt8]) {
        encoder.beginBlock(into: &block)
        for (name, value) in heads[index] {
            encoder.encode(name: name.span.bytes, value: value.span.bytes, into: &block)
        }
    }
}

/// 12f: decodes heads into messages that own their bytes.
let decodeHeads = Row("decode") { arguments in
    let heads = Heads(arguments)
    let count = arguments.number("count")
    var encoder = HPACKEncoder()
    let blocks = heads.heads.indices.map { index in
        var block: [UInt8] = []
        heads.encode(index, &encoder, into: &block)
        return block
    }
    let isRequest = heads.heads[0][0].name != Array(":status".utf8)
    var decoder = HPACKDecoder()
    var list = HPACKFields()
    var fields = 0
    measure_begin()
    for step in 0..<count {
        let index = step % blocks.count
        if index == 0 { decoder = HPACKDecoder() }
        list.removeAll()
        let block = blocks[index]
        try decoder.decode(block.span.bytes, isLast: true, into: &list)
        fields += isRequest ? try request(list).fields.count : try response(list).fields.count
    }
    measure_note("fields", Double(fields))
    measure_end(Double(count), 0)
}

/// 12g: encodes heads.
let encodeHeads = Row("encode") { arguments in
    let heads = Heads(arguments)
    let count = arguments.number("count")
    var encoder = HPACKEncoder()
    var block: [UInt8] = []
    var bytes = 0
    measure_begin()
    for step in 0..<count {
        let index = step % heads.heads.count
        if index == 0 {
            encoder = HPACKEncoder()
            bytes = 0
        }
        block.removeAll(keepingCapacity: true)
        heads.encode(index, &encoder, into: &block)
        bytes += block.count
    }
    measure_note("blocks", Double(bytes))
    measure_end(Double(count), 0)
}

func builder(_ list: HPACKFields, behind pseudoHeaders: Int) throws -> HTTPFields.Builder {
    var builder = HTTPFields.Builder(fieldCapacity: list.count, byteCapacity: list.listSize)
    for index in pseudoHeaders..<list.count {
        let field = list[index]
        let bytes = list.bytes.span.bytes
        try builder.append(name: bytes.extracting(field.name), value: bytes.extracting(field.value))
    }
    return builder
}

/// The heads begin with `:method` and `:path`, and have four pseudo-header fields.
func request(_ list: HPACKFields) throws -> HTTPRequest {
    let bytes = list.bytes.span.bytes
    return try HTTPRequest(
        method: bytes.extracting(list[0].value), target: bytes.extracting(list[1].value), version: .http20,
        fields: builder(list, behind: 4))
}

func response(_ list: HPACKFields) throws -> HTTPResponse {
    guard let code = Int(String(decoding: list.bytes[list[0].value], as: UTF8.self)), let status = HTTPStatus(code)
    else {
        stop("no status")
    }
    return try HTTPResponse(status: status, version: .http20, fields: builder(list, behind: 1))
}
