import HPACK

/// A header block, encoded and decoded.
@main struct Consumer {
    static func main() throws {
        var encoder = HPACKEncoder()
        var block: [UInt8] = []
        encoder.beginBlock(into: &block)
        encoder.encode(.status, "200".utf8.span.bytes, into: &block)
        encoder.encode(name: "Content-Type".utf8.span.bytes, value: "text/html".utf8.span.bytes, into: &block)
        encoder.encode(name: "Set-Cookie".utf8.span.bytes, value: "secret".utf8.span.bytes, into: &block)

        var decoder = HPACKDecoder()
        var fields = HPACKFields()
        try decoder.decode(block.span.bytes.extracting(0..<3), isLast: false, into: &fields)
        try decoder.decode(block.span.bytes.extracting(3...), isLast: true, into: &fields)
        for field in fields {
            let (name, value) = (fields.bytes[field.name], fields.bytes[field.value])
            let mark = field.isNeverIndexed ? " (never indexed)" : ""
            print("\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))\(mark)")
        }
        print("\(fields.count) fields of \(fields.listSize) bytes, \(decoder.tableCount) in the table")
    }
}
