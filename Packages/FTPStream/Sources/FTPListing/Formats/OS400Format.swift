/// `PEP               422 04/03/24 14:06:26 *STMF      readme`; a member has neither size nor date:
/// `QPGMR                                   *MEM       A.FILE/B.MBR`
enum OS400Format {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard let mark = (1...4).first(where: { line[$0].first == UInt8(ascii: "*") }), mark == 1 || mark == 4
        else { return nil }
        let type = line[mark]
        var name = line.rest(after: mark)
        while name.count > 1, name.last == UInt8(ascii: "/") || name.last == 0x20 { name = name.dropLast() }
        guard !name.isBlank else { return nil }
        let isMember = type.isText("*MEM")
        let kind: ListingKind
        switch ListingEntry.text(type) {
        case "*STMF", "*MEM", "*DOC", "*DSTMF": kind = .file
        case "*DIR", "*DDIR", "*FLR", "*LIB": kind = .directory
        case "*FILE": kind = name.suffix(5).elementsEqual(".SAVF".utf8) ? .file : .directory
        case "*SYMLNK", "*LINK": kind = .link
        default: kind = .unknown
        }
        if !isMember, let slash = name.lastIndex(of: UInt8(ascii: "/")), slash + 1 < name.endIndex {
            name = name[(slash + 1)...]  // some versions give the whole path
        }
        var entry = ListingEntry(nameBytes: Array(name), kind: kind, format: .os400)
        entry.owner = line.text(0)
        if mark == 4 {
            guard !isMember, let size = line[1].number, let triple = DateReader.triple(line[2]),
                let time = DateReader.time(line[3]), let date = date(triple, time)
            else { return nil }
            entry.size = kind == .file ? size : nil
            entry.date = date
        } else if !isMember {
            return nil
        }
        return entry
    }

    /// Year first with slashes, as the job's default is; else as it can only be.
    private static func date(_ triple: DateReader.Triple, _ clock: DateReader.Clock) -> ListingDate? {
        let (a, b, c) = triple.numbers
        if triple.separator == UInt8(ascii: "/"), !triple.beginsWithYear, b <= 12, c <= 31 {
            return DateReader.date(DateReader.fullYear(a), b, c, clock)
        }
        return DateReader.date(triple, time: clock)
    }
}
