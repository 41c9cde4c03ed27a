/// Easily Parsed LIST Format: `+i8388621.29609,m824255902,/,<TAB>dev`
enum EPLFFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard line.bytes.first == UInt8(ascii: "+"), let tab = line.bytes.firstIndex(of: 0x09), tab + 1 < line.count
        else { return nil }
        var entry = ListingEntry(nameBytes: Array(line.bytes[(tab + 1)...]), format: .eplf)
        for fact in line.bytes[1..<tab].split(separator: UInt8(ascii: ",")) {
            let value = fact.dropFirst()
            switch fact.first {
            case UInt8(ascii: "/"): entry.kind = .directory
            case UInt8(ascii: "r"): entry.kind = .file
            case UInt8(ascii: "s"): entry.size = value.number
            case UInt8(ascii: "m"):
                entry.date = value.number.flatMap { Int64(exactly: $0) }.flatMap { ListingDate(secondsSince1970: $0) }
            case UInt8(ascii: "u") where value.first == UInt8(ascii: "p"):
                var mode: UInt16 = 0
                for digit in value.dropFirst().prefix(5) where (0x30...0x37).contains(digit) {
                    mode = mode << 3 | UInt16(digit - 0x30)
                }
                entry.mode = mode & 0o7777
            default: break
            }
        }
        return entry
    }
}
