/// `type=file;size=951;modify=20150813175250; name`: RFC 3659 §7.
enum FactsFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        // The first "; " ends the facts; a blank within a fact is more than the RFC allows, and met with in link targets.
        let bytes = line.bytes
        var end = 0
        while end + 1 < bytes.count, bytes[end] != UInt8(ascii: ";") || bytes[end + 1] != 0x20 { end += 1 }
        guard end + 2 < bytes.count else { return nil }
        var entry = ListingEntry(nameBytes: Array(bytes[(end + 2)...]), format: .facts)
        if entry.nameBytes[...].isBlank { return nil }
        entry.factBytes = Array(bytes[..<end])
        var owner = Told(by: ["unix.ownername", "unix.owner", "unix.uid"])
        var group = Told(by: ["unix.groupname", "unix.group", "unix.gid"])
        for fact in Facts(bytes[..<end]) {
            guard !fact.name.isEmpty, take(fact, into: &entry) else { return nil }
            owner.take(fact)
            group.take(fact)
        }
        entry.owner = owner.value.map(ListingEntry.text)
        entry.group = group.value.map(ListingEntry.text)
        return entry
    }

    /// What may be told by facts of several names: the first of the names counts.
    private struct Told {
        let names: [StaticString]
        private(set) var value: ArraySlice<UInt8>?
        private var rank = Int.max

        init(by names: [StaticString]) {
            self.names = names
        }

        mutating func take(_ fact: Facts.Fact) {
            guard let found = names.firstIndex(where: fact.name.isWord), found <= rank else { return }
            (value, rank) = (fact.value, found)
        }
    }

    /// False if the value is not what the fact must have.
    private static func take(_ fact: Facts.Fact, into entry: inout ListingEntry) -> Bool {
        let (name, value) = (fact.name, fact.value)
        if name.isWord("type") {
            setKind(of: &entry, value)
        } else if name.isWord("size") || name.isWord("sizd") {
            guard let size = value.number else { return false }
            if name.isWord("size") { entry.size = size }
        } else if name.isWord("modify") {
            guard let date = DateReader.stamp(value) else { return false }
            entry.date = date
        } else if name.isWord("unix.mode") {
            entry.mode = mode(value)
        }
        return true
    }

    /// Octal; pyftpdlib writes it as Python does, `0o644`. What is none costs the mode, not the entry.
    private static func mode(_ value: ArraySlice<UInt8>) -> UInt16? {
        let digits = value.starts(with: "0o".utf8) ? value.dropFirst(2) : value
        guard (1...7).contains(digits.count) else { return nil }
        var mode: UInt32 = 0
        for digit in digits {
            guard (0x30...0x37).contains(digit) else { return nil }
            mode = mode << 3 | UInt32(digit - 0x30)
        }
        return UInt16(mode & 0o7777)
    }

    private static func setKind(of entry: inout ListingEntry, _ value: ArraySlice<UInt8>) {
        if value.isWord("file") {
            entry.kind = .file
        } else if value.isWord("dir") {
            entry.kind = .directory
        } else if value.isWord("cdir") {
            (entry.kind, entry.place) = (.directory, .current)
        } else if value.isWord("pdir") {
            (entry.kind, entry.place) = (.directory, .parent)
        } else if value.beginsWithWord("os.unix=") {
            setUnixKind(of: &entry, value.dropFirst("os.unix=".utf8.count))
        }
    }

    private static func setUnixKind(of entry: inout ListingEntry, _ value: ArraySlice<UInt8>) {
        if value.isWord("symlink") || value.isWord("slink") {
            entry.kind = .link
        } else if value.beginsWithWord("slink:") {
            entry.kind = .link
            let target = value.dropFirst("slink:".utf8.count)
            entry.linkTargetBytes = target.isEmpty ? nil : Array(target)
        } else if value.isWord("socket") {
            entry.kind = .socket
        } else if value.isWord("fifo") {
            entry.kind = .fifo
        } else if value.beginsWithWord("chr") {
            entry.kind = .characterDevice
        } else if value.beginsWithWord("blk") {
            entry.kind = .blockDevice
        }
    }
}
