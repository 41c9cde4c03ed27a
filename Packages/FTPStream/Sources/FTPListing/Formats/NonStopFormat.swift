/// HP NonStop: `IARPTS     101             16354 18-Mar-02 13:29:35 244, 10 "nnnn"`
enum NonStopFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard line.fields.count >= 6, (1...8).contains(line[0].count),
            line[0].allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) }),
            (line[1].last == UInt8(ascii: "O") ? line[1].dropLast() : line[1]).number != nil,
            let size = line[2].number, let time = DateReader.time(line[4]),
            let date = DateReader.dashed(line[3], time: time)
        else { return nil }
        var entry = ListingEntry(nameBytes: Array(line[0]), kind: .file, format: .nonStop)
        entry.size = size
        entry.date = date
        let owners = line.rest(after: 4).prefix { $0 != UInt8(ascii: "\"") }.split(separator: UInt8(ascii: ","))
        guard owners.count == 2, let group = owners[0].trimmed.number, let user = owners[1].trimmed.number else {
            return nil
        }
        entry.group = String(group)
        entry.owner = String(user)
        return entry
    }
}
