/// The format of z/OS data sets: `SAVE00 3390   2004/06/23  1    1  FB     128  6144  PS    INCOMING.RPT`
///
/// The line does not contain the size in bytes. Partitioned data sets contain members and are therefore directories.
enum MVSFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        let count = line.fields.count
        guard count >= 2, let entry = special(line) ?? dataSet(line), count <= 10 else { return nil }
        return entry
    }

    private static func dataSet(_ line: ListingLine) -> ListingEntry? {
        // The column of used tracks has five characters; a number that fills it is joined to that of the extents.
        let isJoined = line.fields.count == 9 && line[3].count > 5
        let next = isJoined ? 4 : 5
        guard line.fields.count == 10 || isJoined, line[0].count <= 6, line[1].number != nil else { return nil }
        var date: ListingDate?
        if !line[2].isText("**NONE**") {
            guard let triple = DateReader.triple(line[2]), triple.beginsWithYear else { return nil }
            date = DateReader.date(triple, time: nil)
        }
        let organization = line[next + 3]
        guard line[3].number != nil, isJoined || line[4].number != nil || line[4].isText("????"),
            line[next + 1].number != nil, line[next + 2].number != nil, (2...4).contains(organization.count)
        else { return nil }
        var entry = entry(line[next + 4], isDirectory: organization.starts(with: "PO".utf8))
        entry.date = date
        return entry
    }

    /// Migrated data sets and other special kinds.
    private static func special(_ line: ListingLine) -> ListingEntry? {
        let last = line.fields.count - 1
        if last == 1, line[0].isText("Migrated") { return entry(line[1], isDirectory: false) }
        if last == 2, line[0].isText("Pseudo"), line[1].isText("Directory") { return entry(line[2], isDirectory: true) }
        if last == 2, line[1].isText("Tape"), isVolume(line[0]) { return entry(line[2], isDirectory: false) }
        if last == 3, line[1].number != nil, line[2].isText("VSAM") { return entry(line[3], isDirectory: false) }
        if last == 5, line[1].isText("Not"), line[2].isText("Direct"), line[3].isText("Access"),
            line[4].isText("Device")
        {
            return entry(line[5], isDirectory: false)
        }
        return nil
    }

    /// Serial numbers of volumes have at most six characters.
    private static func isVolume(_ field: ArraySlice<UInt8>) -> Bool {
        field.count <= 6
            && field.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || "@#$".utf8.contains($0) }
    }

    private static func entry(_ name: ArraySlice<UInt8>, isDirectory: Bool) -> ListingEntry {
        var name = name
        let quote = UInt8(ascii: "'")
        if name.count > 2, name.first == quote, name.last == quote { name = name.dropFirst().dropLast() }
        return ListingEntry(nameBytes: Array(name), kind: isDirectory ? .directory : .file, format: .mvs)
    }

    static func parseMember(_ line: ListingLine) -> ListingEntry? { memberOfText(line) ?? memberOfModules(line) }

    /// A member without statistics: its name alone. Any word may look like that, so the list must be known to be one of members.
    static func parseMemberName(_ line: ListingLine) -> ListingEntry? {
        guard line.fields.count == 1, (1...8).contains(line[0].count),
            line[0].allSatisfy({ (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || "@#$".utf8.contains($0) })
        else { return nil }
        return ListingEntry(nameBytes: Array(line[0]), kind: .file, format: .mvsMembers)
    }

    /// A load module: `IEFBR14   000008 00010C  00 RN RU            31    ANY`. The size is hexadecimal.
    private static func memberOfModules(_ line: ListingLine) -> ListingEntry? {
        func hexadecimal(_ field: ArraySlice<UInt8>) -> UInt64? {
            field.count == 6 ? UInt64(ListingEntry.text(field), radix: 16) : nil
        }
        let last = line.fields.count - 1
        guard last >= 5, (1...8).contains(line[0].count), let size = hexadecimal(line[1]), hexadecimal(line[2]) != nil,
            ["24", "31", "64", "ANY", "MIN"].contains(line.text(last - 1)),
            ["24", "ANY", "64"].contains(line.text(last))
        else { return nil }
        var entry = ListingEntry(nameBytes: Array(line[0]), kind: .file, format: .mvsMembers)
        entry.size = size
        return entry
    }

    /// A member with statistics: `TBSHELF3  01.03 2002/09/12 2002/10/11 09:37    11    11     0 KIL001`. Sizes are in lines.
    private static func memberOfText(_ line: ListingLine) -> ListingEntry? {
        guard line.fields.count == 9, (1...8).contains(line[0].count), line[1].count == 5,
            let version = line[1].firstIndex(of: UInt8(ascii: ".")), line[1][..<version].number != nil,
            let created = DateReader.triple(line[2]), created.beginsWithYear,
            let changed = DateReader.triple(line[3]), changed.beginsWithYear, let time = DateReader.time(line[4]),
            line[5].number != nil, line[6].number != nil,
            line[7].number != nil
        else { return nil }
        var entry = ListingEntry(nameBytes: Array(line[0]), kind: .file, format: .mvsMembers)
        entry.date = DateReader.date(changed, time: time)
        entry.owner = line.text(8)
        return entry
    }
}

/// The format of OS/400 (IBM i): `PEP               422 04/03/24 14:06:26 *STMF      readme`. A member has neither size nor date:
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
            name = name[(slash + 1)...]  // some versions send the whole path
        }
        var entry = ListingEntry(nameBytes: Array(name), kind: kind, format: .os400)
        entry.owner = line.text(0)
        if mark == 4 {
            guard !isMember, let size = line[1].number, let triple = DateReader.triple(line[2]),
                let time = DateReader.time(line[3])
            else { return nil }
            entry.size = kind == .file ? size : nil
            entry.date = date(triple, time)
        } else if !isMember {
            return nil
        }
        return entry
    }

    /// With slashes, the year is first, the default of OS/400 jobs, unless the numbers exclude this.
    private static func date(_ triple: DateReader.Triple, _ clock: DateReader.Clock) -> ListingDate? {
        let (a, b, c) = triple.numbers
        if triple.separator == UInt8(ascii: "/"), !triple.beginsWithYear,
            let date = DateReader.date(DateReader.fullYear(a), b, c, clock)
        {
            return date
        }
        return DateReader.date(triple, time: clock)
    }
}

/// The format of z/VM (CMS): `PROFILE  EXEC     V         72         25          1 2001-08-27 13:02:11 TCMNT2`
///
/// The fields are the name, its type, the record format, the length and number of records, the number of blocks, the date, the time
/// and the owner. The line does not contain the size in bytes; records of a fixed length give it without line ends. Directories
/// have the format `DIR` and no type.
enum ZVMFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        parseFile(line) ?? parseDirectory(line)
    }

    private static func parseFile(_ line: ListingLine) -> ListingEntry? {
        let isFixed = line[2].isText("F")
        guard line.fields.count == 8 || line.fields.count == 9, isWord(line[0]), isWord(line[1]),
            isFixed || line[2].isText("V"), let length = line[3].number, let records = line[4].number,
            line[5].number != nil, let moment = moment(line, at: 6)
        else { return nil }
        var entry = ListingEntry(
            nameBytes: Array(line[0]) + [UInt8(ascii: ".")] + Array(line[1]), kind: .file, format: .zvm)
        entry.date = DateReader.date(moment.triple, time: moment.time)
        let (size, overflows) = length.multipliedReportingOverflow(by: records)
        if isFixed, !overflows {
            entry.size = size
            entry.isSizeExact = false
        }
        entry.owner = owner(line, at: 8)
        return entry
    }

    private static func parseDirectory(_ line: ListingLine) -> ListingEntry? {
        guard line.fields.count == 7 || line.fields.count == 8, isWord(line[0]), line[1].isText("DIR"),
            (2...4).allSatisfy({ line[$0].isText("-") }), let moment = moment(line, at: 5)
        else { return nil }
        var entry = ListingEntry(nameBytes: Array(line[0]), kind: .directory, format: .zvm)
        entry.date = DateReader.date(moment.triple, time: moment.time)
        entry.owner = owner(line, at: 7)
        return entry
    }

    /// Names and types have at most eight characters.
    private static func isWord(_ field: ArraySlice<UInt8>) -> Bool { (1...8).contains(field.count) }

    private static func moment(
        _ line: ListingLine, at field: Int
    ) -> (triple: DateReader.Triple, time: DateReader.Clock)? {
        guard let triple = DateReader.triple(line[field]), let time = DateReader.time(line[field + 1]) else {
            return nil
        }
        return (triple, time)
    }

    private static func owner(_ line: ListingLine, at field: Int) -> String? {
        line.fields.count > field && !line[field].isText("-") ? line.text(field) : nil
    }
}
