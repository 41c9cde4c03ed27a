/// `d [RWCEAFMS] owner          512 Jun 25 2007 name`
enum NetWareFormat {
    static func parse(_ line: ListingLine, _ years: YearGuess) -> ListingEntry? {
        guard let letter = line[0].first, letter == UInt8(ascii: "d") || letter == UInt8(ascii: "-") else { return nil }
        // The rights stand apart from the letter, or do not.
        let isApart = line[0].count == 1
        let rights = isApart ? line[1] : line[0].dropFirst()
        guard rights.count >= 3, rights.first == UInt8(ascii: "["), rights.last == UInt8(ascii: "]"),
            rights.dropFirst().dropLast().allSatisfy({ $0 == UInt8(ascii: "-") || (0x41...0x5A).contains($0) })
        else { return nil }
        let kind = letter == UInt8(ascii: "d") ? ListingKind.directory : .file
        guard var entry = UnixFormat.parse(line, columns: isApart ? 2 : 1, kind, years) else { return nil }
        entry.format = .netware
        let owner = line[isApart ? 2 : 1]
        if owner.number != nil { entry.owner = ListingEntry.text(owner) }  // a number is no count of links here
        return entry
    }
}
