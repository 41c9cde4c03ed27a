/// The format of OpenVMS: `NAME.EXT;1    118/126   14-APR-1997 12:45:27  [GROUP,OWNER]  (RWED,RWED,RE,RE)`
///
/// A long name is alone on its line, and the other fields are on the next. The version is removed from names, and `.DIR` from the
/// names of directories, because CWD takes them without it. Sizes are in blocks of 512 bytes.
enum VMSFormat {
    /// The name if the line has no other field.
    static func loneName(_ line: ListingLine) -> [UInt8]? {
        line.fields.count == 1 && baseName(line[0]) != nil ? Array(line[0]) : nil
    }

    /// Whether the line has the other fields of an entry whose name is alone on the line before; false without such a name.
    static func continues(_ line: ListingLine, _ pendingName: [UInt8]) -> Bool {
        !pendingName.isEmpty
            && (line[0].first.map { (0x30...0x39).contains($0) } == true || isRefusal(line, from: 0))
    }

    static func parse(_ line: ListingLine, after pendingName: [UInt8]) -> ListingEntry? {
        let isContinued = continues(line, pendingName)
        let field = isContinued ? 0 : 1
        guard let name = baseName(isContinued ? pendingName[...] : line[0]) else { return nil }
        let isDirectory = name.count > 4 && name.suffix(4).isWord(".dir")
        var entry = ListingEntry(
            nameBytes: Array(isDirectory ? name.dropLast(4) : name), kind: isDirectory ? .directory : .file,
            format: .vms)
        if isRefusal(line, from: field) { return entry }
        guard line.fields.count >= field + 3,
            let blocks = line[field].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).first?
                .number,
            let time = DateReader.time(line[field + 2]), let date = DateReader.dashed(line[field + 1], time: time)
        else { return nil }
        var rest = line.rest(after: field + 2)
        guard rest.isEmpty || rest.first == UInt8(ascii: "[") || rest.first == UInt8(ascii: "(") else { return nil }
        entry.date = date
        if !isDirectory {
            let (size, overflows) = blocks.multipliedReportingOverflow(by: 512)
            entry.size = overflows ? nil : size
            entry.isSizeExact = false
        }
        if rest.first == UInt8(ascii: "["), let end = rest.firstIndex(of: UInt8(ascii: "]")) {
            let owners = rest[(rest.startIndex + 1)..<end].split(separator: UInt8(ascii: ","), maxSplits: 1)
            entry.owner = owners.last.map { ListingEntry.text($0.trimmed) }
            entry.group = owners.count == 2 ? ListingEntry.text(owners[0].trimmed) : nil
            rest = rest[(end + 1)...].trimmed
        }
        entry.mode = mode(rest)
        return entry
    }

    /// Whether the server lacks the right to read the attributes, and a message replaces them: `No privilege for attempted operation`,
    /// `%RMS-E-PRV, insufficient privilege or file protection violation`.
    private static func isRefusal(_ line: ListingLine, from field: Int) -> Bool {
        (field..<min(field + 4, line.fields.count)).contains { line[$0].isWord("privilege") }
    }

    /// The name without directory and version; nil if there is no version, since every name has one.
    private static func baseName(_ field: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let semicolon = field.lastIndex(of: UInt8(ascii: ";")), field[(semicolon + 1)...].number != nil else {
            return nil
        }
        var name = field[..<semicolon]
        if let bracket = name.lastIndex(of: UInt8(ascii: "]")) { name = name[(bracket + 1)...] }
        return name.isEmpty ? nil : name
    }

    /// The mode of `(RWED,RWED,RE,)`: system, owner, group, world.
    private static func mode(_ text: ArraySlice<UInt8>) -> UInt16? {
        guard text.first == UInt8(ascii: "("), text.last == UInt8(ascii: ")") else { return nil }
        let parts = text.dropFirst().dropLast().split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        return parts.dropFirst().reduce(0) { mode, rights in
            mode << 3 | (rights.contains(UInt8(ascii: "R")) ? 4 : 0) | (rights.contains(UInt8(ascii: "W")) ? 2 : 0)
                | (rights.contains(UInt8(ascii: "E")) ? 1 : 0)
        }
    }
}

/// The format of HP NonStop: `IARPTS     101             16354 18-Mar-02 13:29:35 244, 10 "nnnn"`
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
