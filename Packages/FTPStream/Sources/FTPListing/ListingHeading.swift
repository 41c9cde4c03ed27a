/// The lines of a listing that describe other lines: headings, totals and rules. They are no entries, and nothing is missing without
/// them.
enum ListingHeading {
    static func matches(_ line: ListingLine) -> Bool {
        isTotal(line) || isRule(line) || isDirectory(line) || isCount(line)
            || headings.contains { heading in zip(0..., heading).allSatisfy { line[$0].isWord($1) } }
    }

    /// The heading of a list of z/OS members, with or without statistics.
    static func announcesMembers(_ line: ListingLine) -> Bool {
        line[0].isWord("name") && (line[1].isWord("vv.mm") || line[1].isWord("size") && line[2].isWord("ttr"))
    }

    /// The first words of headings: z/OS data sets and members, NonStop, VxWorks, and `dir` of Windows.
    private static let headings: [[StaticString]] = [
        ["volume", "unit", "referred"], ["name", "vv.mm"], ["name", "size", "ttr"], ["file", "code", "eof"],
        ["size", "date", "time", "name"], ["volume", "in", "drive"], ["volume", "serial", "number"],
    ]

    /// `total 12`, as `ls` prints it in each language; `Total of 11 files, 12/100 blocks.` of OpenVMS.
    private static func isTotal(_ line: ListingLine) -> Bool {
        if line[0].isWord("total") || line[1].isWord("total"), line.fields.count >= 4 {
            return (1...2).contains { line[$0].isWord("of") && line[$0 + 2].beginsWithWord("file") }
        }
        guard line.fields.count == 2, line[1].number != nil || line[1].roundedSize != nil else { return false }
        guard let text = String(validating: line[0], as: UTF8.self) else {
            return Cyrillic.readings(of: line[0]).contains(where: totals.contains)
        }
        return totals.contains(text.lowercased())
    }

    private static let totals: Set<String> = [
        "total", "totale", "totaal", "totalt", "insgesamt", "gesamt", "summe", "sum", "celkem", "spolu", "razem",
        "łącznie",
        "összesen", "yhteensä", "toplam", "итого", "всього", "загалом", "общо", "σύνολο", "合計", "总用量", "总计", "總計", "합계",
        "kokku", "kopā", "viso", "skupno", "ukupno", "guztira",
    ]

    /// A line of dashes below a heading.
    private static func isRule(_ line: ListingLine) -> Bool {
        line.count >= 3
            && line.bytes.allSatisfy { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "=") || ListingLine.isBlank($0) }
    }

    /// `Directory DISK$A:[ANONYM]`, `Directory of C:\pub`.
    private static func isDirectory(_ line: ListingLine) -> Bool {
        line[0].isWord("directory")
            && (line[1].isWord("of") || line.fields.count == 2 && line[1].last == UInt8(ascii: "]"))
    }

    /// `3 File(s)   1,234 bytes` of Windows.
    private static func isCount(_ line: ListingLine) -> Bool {
        line[0].number != nil && (line[1].isWord("file(s)") || line[1].isWord("dir(s)"))
    }
}
