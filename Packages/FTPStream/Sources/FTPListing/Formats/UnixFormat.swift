/// The format of `ls -l` and its variants.
///
/// ```
/// drwxr-xr-x   2 john smith     group         4096 Mar  2 15:13 a name
/// ```
///
/// The number of columns before the size varies, and owners may contain spaces. Therefore the date is searched first: it is the
/// first one that follows a number, which is the size.
enum UnixFormat {
    static func parse(_ line: ListingLine, _ years: inout YearInference) -> ListingEntry? {
        guard line.fields.count >= 5, let permissions = UnixPermissions(line[0]) else { return nil }
        guard var entry = parse(line, columns: 1, permissions.kind, &years) else { return nil }
        entry.mode = permissions.mode
        entry.format = .unix
        if permissions.isEnterprise {
            entry.owner = line.fields.count > 2 ? line.text(2) : nil
            entry.group = line.fields.count > 3 ? line.text(3) : nil
        }
        return entry
    }

    /// Parses the line from the columns after the permissions.
    static func parse(
        _ line: ListingLine, columns first: Int, _ kind: ListingKind, _ years: inout YearInference
    ) -> ListingEntry? {
        guard let (sizeField, found) = findDate(line, from: first, years), let name = name(line, after: found)
        else { return nil }
        var entry = ListingEntry(nameBytes: Array(name), kind: kind, format: .unix)
        entry.date = found.date
        var end = sizeField
        switch kind {
        case .characterDevice, .blockDevice:
            // Major and minor numbers instead of the size: "0, 27".
            if end > first, line[end - 1].last == UInt8(ascii: ",") { end -= 1 }
        case .directory, .link, .fifo, .socket: break
        case .file, .unknown:
            let size = line[sizeField]
            entry.size = size.number ?? size.groupedNumber(",")
            if entry.size == nil, let rounded = size.roundedSize {
                entry.size = rounded
                entry.isSizeExact = false
            }
        }
        setOwners(of: &entry, line, first..<end)
        if kind == .link { splitLink(&entry, size: line[sizeField].number) }
        if entry.nameBytes[...].isBlank { return nil }
        years.sign = found.sign
        return entry
    }

    private static func findDate(
        _ line: ListingLine, from first: Int, _ years: YearInference
    ) -> (Int, DateReader.Found)? {
        // A size without a space after the group ("ftpadmin153198592") is the second choice; the size is then unknown. A date that
        // does not exist is the last.
        for (isStrict, exists) in [(true, true), (false, true), (true, false)] {
            for field in first..<max(first, line.fields.count - 2) {
                let size = line[field]
                guard let last = size.last, isStrict ? size.number != nil : isDigit(last) || size.roundedSize != nil,
                    let found = DateReader.listDate(line, at: field + 1, years), !exists || found.date != nil
                else { continue }
                return (field, found)
            }
        }
        return nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    /// The name after the date. One blank separates them; all others belong to the name.
    private static func name(_ line: ListingLine, after found: DateReader.Found) -> ArraySlice<UInt8>? {
        let date = line.fields[found.lastField]
        var start = date.upperBound + 1
        // The column of the time is five characters wide. A year that is aligned left in it ("Mar  1 2003  x") has one more
        // blank.
        if !found.hasTime, date.lowerBound - line.fields[found.lastField - 1].upperBound == 1,
            start < line.count, ListingLine.isBlank(line.bytes[start])
        {
            start += 1
        }
        let name = line.rest(from: start)
        return name.isEmpty ? nil : name
    }

    private static func setOwners(of entry: inout ListingEntry, _ line: ListingLine, _ columns: Range<Int>) {
        var columns = columns
        if let first = columns.first, line[first].number != nil {
            let links = line[first].number
            columns = columns.dropFirst().startIndex..<columns.upperBound
            // Mac servers list the sizes of both forks, then their sum.
            if columns.count == 1, let links, let other = line[columns.lowerBound].number, let size = entry.size,
                links.addingReportingOverflow(other) == (size, false), links > 0 || other == size, size > 0
            {
                return
            }
        }
        if columns.count == 1, line[columns.lowerBound].isText("folder") { return }
        switch columns.count {
        case 0: return
        case 1: entry.owner = line.text(columns.lowerBound)
        default:
            let last = columns.upperBound - 1
            let owner = line.fields[columns.lowerBound].lowerBound..<line.fields[last - 1].upperBound
            entry.owner = ListingEntry.text(line.bytes[owner])
            entry.group = line.text(last)
        }
    }

    /// Splits "name -> target". If there are several arrows, the target is the text whose length equals the size. Servers that cannot
    /// read the target write none, with or without the blank before it.
    private static func splitLink(_ entry: inout ListingEntry, size: UInt64?) {
        let bytes = entry.nameBytes.suffix(3).elementsEqual(" ->".utf8) ? entry.nameBytes + [0x20] : entry.nameBytes
        let arrow = Array(" -> ".utf8)
        var arrows: [Int] = []
        var index = 0
        while index + arrow.count <= bytes.count {
            if bytes[index..<(index + arrow.count)].elementsEqual(arrow) { arrows.append(index) }
            index += 1
        }
        let matching = arrows.first { index in size == UInt64(bytes.count - index - arrow.count) }
        guard let split = matching ?? arrows.first, split > 0 else { return }
        entry.nameBytes = Array(bytes[..<split])
        let target = bytes[(split + arrow.count)...]
        entry.linkTargetBytes = target.isEmpty ? nil : Array(target)
        entry.relation = ListingRelation(entry.nameBytes)
    }
}

/// The first field of `ls -l`, such as `drwxr-sr-x+`: the type, nine letters, and a mark of an ACL or SELinux context.
struct UnixPermissions {
    let kind: ListingKind
    /// Nil for the flags of Connect:Enterprise, which are not permissions.
    let mode: UInt16?
    /// Whether the field has the flags of a Connect:Enterprise mailbox: `-C--E-----FTP`.
    let isEnterprise: Bool

    init?(_ field: ArraySlice<UInt8>) {
        guard field.count >= 10, let first = field.first, let kind = Self.kind(first) else { return nil }
        self.kind = kind
        let letters = field.dropFirst().prefix(9)
        let rest = field.dropFirst(10)
        if let mode = Self.mode(letters), rest.isEmpty || rest.isText("+") || rest.isText(".") || rest.isText("@") {
            self.mode = mode
            isEnterprise = false
        } else {
            let isFlag = { (byte: UInt8) in byte == UInt8(ascii: "-") || (0x41...0x5A).contains(byte) }
            guard rest.isText("FTP"), letters.allSatisfy(isFlag) else { return nil }
            mode = nil
            isEnterprise = true
        }
    }

    private static func kind(_ letter: UInt8) -> ListingKind? {
        switch letter {
        case UInt8(ascii: "-"): .file
        case UInt8(ascii: "d"): .directory
        case UInt8(ascii: "l"): .link
        case UInt8(ascii: "c"): .characterDevice
        case UInt8(ascii: "b"): .blockDevice
        case UInt8(ascii: "p"): .fifo
        case UInt8(ascii: "s"): .socket
        case UInt8(ascii: "D"), UInt8(ascii: "P"): .unknown  // Solaris doors and event ports
        default: nil
        }
    }

    /// The bits of nine letters; nil if a letter is not valid at its position.
    private static func mode(_ letters: ArraySlice<UInt8>) -> UInt16? {
        var mode: UInt16 = 0
        for (index, letter) in letters.enumerated() {
            let bit: UInt16 = 0o400 >> UInt16(index)
            switch (index % 3, letter) {
            case (_, UInt8(ascii: "-")): break
            case (0, UInt8(ascii: "r")), (1, UInt8(ascii: "w")), (2, UInt8(ascii: "x")): mode |= bit
            case (2, UInt8(ascii: "s")) where index < 8: mode |= bit | (index == 2 ? 0o4000 : 0o2000)
            case (2, UInt8(ascii: "S")) where index < 8: mode |= index == 2 ? 0o4000 : 0o2000
            case (2, UInt8(ascii: "l")), (2, UInt8(ascii: "L")): if index == 5 { mode |= 0o2000 } else { return nil }
            case (2, UInt8(ascii: "t")) where index == 8: mode |= bit | 0o1000
            case (2, UInt8(ascii: "T")) where index == 8: mode |= 0o1000
            default: return nil
            }
        }
        return mode
    }
}
