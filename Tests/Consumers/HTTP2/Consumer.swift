import HPACK

/// Decodes a header block that arrives in two pieces.
@main struct Consumer {
    static func main() throws {
        var decoder = HPACKDecoder()
        var fields = HPACKFields()
        try decoder.decode([UInt8]().span.bytes, isLast: true, into: &fields)
        print(fields.isEmpty ? "empty" : "unexpected")
    }
}
