/// `05-26-95  10:57AM               143712 name`, `09-13-10  13:08       <DIR>          name`
enum WindowsFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard line.fields.count >= 4, let triple = DateReader.triple(line[0]) else { return nil }
        var clock = line[1]
        var field = 2
        if line[2].isText("AM") || line[2].isText("PM") {
            clock = clock + line[2]
            field = 3
        }
        guard let time = DateReader.time(clock), let date = DateReader.date(triple, time: time) else { return nil }
        let mark = line[field]
        let name: ArraySlice<UInt8>
        var kind = ListingKind.file
        let size = mark.number ?? ArraySlice(mark.filter { $0 != UInt8(ascii: ",") }).number
        if size != nil, mark.first != UInt8(ascii: ",") {
            name = line.rest(from: line.fields[field].upperBound + 1)
        } else {
            switch ListingEntry.text(mark) {
            case "<DIR>": kind = .directory
            case "<JUNCTION>", "<SYMLINK>", "<SYMLINKD>": kind = .link
            default: return nil
            }
            name = line.rest(after: field)
        }
        guard !name.isBlank else { return nil }
        var entry = ListingEntry(nameBytes: Array(name), kind: kind, format: .windows)
        entry.size = kind == .file ? size : nil
        entry.date = date
        if kind == .link { splitLink(&entry) }
        return entry
    }

    /// `name [target]`
    private static func splitLink(_ entry: inout ListingEntry) {
        let bytes = entry.nameBytes
        guard bytes.last == UInt8(ascii: "]"), let open = bytes.lastIndex(of: UInt8(ascii: "[")), open > 1,
            bytes[open - 1] == 0x20
        else { return }
        entry.linkTargetBytes = Array(bytes[(open + 1)...].dropLast())
        entry.nameBytes = Array(bytes[..<(open - 1)])
        entry.place = ListingPlace(entry.nameBytes)
    }
}
