/// `ls -l`, and what imitates it.
///
/// ```
/// drwxr-xr-x   2 john smith     group         4096 Mar  2 15:13 a name
/// ```
///
/// The columns before the size are many or few, and owners may have blanks. So the date is looked for first: it is the first
/// one with a number before it, which is the size.
enum UnixFormat {
    static func parse(_ line: ListingLine, _ years: YearGuess) -> ListingEntry? {
        guard line.fields.count >= 5, let permissions = UnixPermissions(line[0]) else { return nil }
        guard var entry = parse(line, columns: 1, permissions.kind, years) else { return nil }
        entry.mode = permissions.mode
        entry.format = .unix
        if permissions.isEnterprise {
            entry.owner = line.fields.count > 2 ? line.text(2) : nil
            entry.group = line.fields.count > 3 ? line.text(3) : nil
        }
        return entry
    }

    /// Reads from the columns after the permissions on.
    static func parse(
        _ line: ListingLine, columns first: Int, _ kind: ListingKind, _ years: YearGuess
    ) -> ListingEntry? {
        guard let (sizeField, found) = findDate(line, from: first, years), let name = name(line, after: found)
        else { return nil }
        var entry = ListingEntry(nameBytes: Array(name), kind: kind, format: .unix)
        entry.date = found.date
        var end = sizeField
        switch kind {
        case .characterDevice, .blockDevice:
            // Major and minor number in the place of the size: "0, 27".
            if end > first, line[end - 1].last == UInt8(ascii: ",") { end -= 1 }
        case .directory, .link, .fifo, .socket: break
        case .file, .unknown: entry.size = line[sizeField].number
        }
        setOwners(of: &entry, line, first..<end)
        if kind == .link { splitLink(&entry, size: line[sizeField].number) }
        return entry.nameBytes[...].isBlank ? nil : entry
    }

    private static func findDate(_ line: ListingLine, from first: Int, _ years: YearGuess) -> (Int, DateReader.Found)? {
        // A size that ran into the group before it ("ftpadmin153198592") is the second choice: it is then unknown.
        for isStrict in [true, false] {
            for field in first..<max(first, line.fields.count - 2) {
                let size = line[field]
                guard let last = size.last, last >= 0x30, last <= 0x39, !isStrict || size.number != nil,
                    let found = DateReader.listDate(line, at: field + 1, years)
                else { continue }
                return (field, found)
            }
        }
        return nil
    }

    /// One blank ends the date; all others belong to the name.
    private static func name(_ line: ListingLine, after found: DateReader.Found) -> ArraySlice<UInt8>? {
        let date = line.fields[found.lastField]
        var start = date.upperBound + 1
        // A year in a column of five, where a time has its colon: flush left ("Mar  1 2003  x") it has one more blank.
        if found.date.precision == .day, date.lowerBound - line.fields[found.lastField - 1].upperBound == 1,
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
            // Mac servers give the sizes of both forks, then their sum.
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

    /// "name -> target": if several arrows are there, the one behind which the target is as long as the size says.
    private static func splitLink(_ entry: inout ListingEntry, size: UInt64?) {
        let bytes = entry.nameBytes
        let arrow = Array(" -> ".utf8)
        var places: [Int] = []
        var place = 0
        while place + arrow.count <= bytes.count {
            if bytes[place..<(place + arrow.count)].elementsEqual(arrow) { places.append(place) }
            place += 1
        }
        let fitting = places.first { place in size == UInt64(bytes.count - place - arrow.count) }
        guard let split = fitting ?? places.first, split > 0 else { return }
        entry.nameBytes = Array(bytes[..<split])
        entry.linkTargetBytes = Array(bytes[(split + arrow.count)...])
        entry.place = ListingPlace(entry.nameBytes)
    }
}
