/// The format of Windows and IIS: `05-26-95  10:57AM               143712 name`, `09-13-10  13:08       <DIR>          name`
enum WindowsFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard line.fields.count >= 4, let triple = DateReader.triple(line[0]) else { return nil }
        var clock = line[1]
        var field = 2
        if line[2].isText("AM") || line[2].isText("PM") {
            clock = clock + line[2]
            field = 3
        }
        guard let time = DateReader.time(clock) else { return nil }
        let mark = line[field]
        let name: ArraySlice<UInt8>
        var kind = ListingKind.file
        let size = mark.number ?? mark.groupedNumber(",") ?? mark.groupedNumber(".")
        if size != nil {
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
        entry.date = DateReader.date(triple, time: time)
        if kind == .link { splitLink(&entry) }
        return entry
    }

    /// Splits `name [target]`, `name => target` or `name -> target`. Windows allows no `>` in names.
    private static func splitLink(_ entry: inout ListingEntry) {
        let bytes = entry.nameBytes
        let arrows = [Array(" => ".utf8), Array(" -> ".utf8)]
        if let start = bytes.indices.first(where: { index in
            index > 0 && arrows.contains { bytes[index...].starts(with: $0) }
        }), start + 4 < bytes.count {
            entry.linkTargetBytes = Array(bytes[(start + 4)...])
            entry.nameBytes = Array(bytes[..<start])
            entry.relation = ListingRelation(entry.nameBytes)
            return
        }
        guard bytes.last == UInt8(ascii: "]"), let open = bytes.lastIndex(of: UInt8(ascii: "[")), open > 1,
            bytes[open - 1] == 0x20
        else { return }
        entry.linkTargetBytes = Array(bytes[(open + 1)...].dropLast())
        entry.nameBytes = Array(bytes[..<(open - 1)])
        entry.relation = ListingRelation(entry.nameBytes)
    }
}

/// The format of OS/2: `     0    A      DIR   05-12-97   16:44  name`. Some servers count years from 1900: `05-12-103`.
enum OS2Format {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard let size = line[0].number,
            let dateField = (1...3).first(where: { DateReader.triple(line[$0]) != nil }),
            let triple = DateReader.triple(line[dateField]), let time = DateReader.time(line[dateField + 1])
        else { return nil }
        var isDirectory = false
        for field in 1..<dateField {
            if line[field].isText("DIR") {
                isDirectory = true
            } else if !line[field].allSatisfy({ "RSAH".utf8.contains($0) }) {
                return nil
            }
        }
        let name = line.rest(after: dateField + 1)
        guard !name.isBlank else { return nil }
        var entry = ListingEntry(nameBytes: Array(name), kind: isDirectory ? .directory : .file, format: .os2)
        entry.size = isDirectory ? nil : size
        entry.date = DateReader.date(triple, time: time)
        return entry
    }
}

/// The format of VShell: `  206876  Apr 04, 2000 21:06 name`. The names of directories end in a slash.
enum VShellFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard line.fields.count >= 6, let size = line[0].number, line[2].last == UInt8(ascii: ","),
            let day = line[2].dropLast().number, day <= 31, let month = MonthNames.month(line[1]),
            line[3].count == 4, let year = line[3].number, let time = DateReader.time(line[4])
        else { return nil }
        let name = line.rest(after: 4)
        let isDirectory = name.count > 1 && name.last == UInt8(ascii: "/")
        var entry = ListingEntry(
            nameBytes: Array(isDirectory ? name.dropLast() : name), kind: isDirectory ? .directory : .file,
            format: .vshell)
        entry.size = isDirectory ? nil : size
        entry.date = DateReader.date(Int(year), month, Int(day), time)
        return entry
    }
}

/// The format of NetWare: `d [RWCEAFMS] owner          512 Jun 25 2007 name`
enum NetWareFormat {
    static func parse(_ line: ListingLine, _ years: inout YearInference) -> ListingEntry? {
        guard let letter = line[0].first, letter == UInt8(ascii: "d") || letter == UInt8(ascii: "-") else { return nil }
        // A space may separate the rights from the letter.
        let isSeparate = line[0].count == 1
        let rights = isSeparate ? line[1] : line[0].dropFirst()
        guard rights.count >= 3, rights.first == UInt8(ascii: "["), rights.last == UInt8(ascii: "]"),
            rights.dropFirst().dropLast().allSatisfy({ $0 == UInt8(ascii: "-") || (0x41...0x5A).contains($0) })
        else { return nil }
        let kind = letter == UInt8(ascii: "d") ? ListingKind.directory : .file
        guard var entry = UnixFormat.parse(line, columns: isSeparate ? 2 : 1, kind, &years) else { return nil }
        entry.format = .netware
        let owner = line[isSeparate ? 2 : 1]
        if owner.number != nil { entry.owner = ListingEntry.text(owner) }  // here a number is not the number of links
        return entry
    }
}
