/// The format of VxWorks: `     512    JAN-01-1980   00:00:00   SUB               <DIR>`
enum VxWorksFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard line.fields.count >= 4, let size = line[0].number, let time = DateReader.time(line[2]) else { return nil }
        var scan = FieldScanner(line[1])
        guard let month = scan.take(upTo: "-").flatMap(MonthNames.month), let day = scan.number(digits: 1...2),
            scan.take("-"), let year = scan.number(digits: 4...4), scan.isAtEnd
        else { return nil }
        let isDirectory = line.fields.count >= 5 && line[line.fields.count - 1].isText("<DIR>")
        var name = line.rest(after: 2)
        if isDirectory { name = name.dropLast("<DIR>".utf8.count) }
        while name.last.map(ListingLine.isBlank) == true { name = name.dropLast() }
        var entry = ListingEntry(nameBytes: Array(name), kind: isDirectory ? .directory : .file, format: .vxWorks)
        entry.size = isDirectory ? nil : size
        entry.date = DateReader.date(year, month, day, time)
        return entry
    }
}
