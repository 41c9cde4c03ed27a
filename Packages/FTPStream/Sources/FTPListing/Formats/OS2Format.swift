/// `     0    A      DIR   05-12-97   16:44  name`
enum OS2Format {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard let size = line[0].number,
            let dateField = (1...3).first(where: { DateReader.triple(line[$0]) != nil }),
            let triple = DateReader.triple(line[dateField]), let time = DateReader.time(line[dateField + 1]),
            let date = DateReader.date(triple, time: time)
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
        entry.date = date
        return entry
    }
}
