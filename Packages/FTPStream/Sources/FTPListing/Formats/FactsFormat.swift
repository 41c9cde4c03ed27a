/// The machine-readable format of MLSD and MLST (RFC 3659 §7): `type=file;size=951;modify=20150813175250; name`.
enum FactsFormat {
    /// Parses a line without facts: a space and the name. Any line of text may look like that, so the listing must be known to
    /// consist of facts.
    static func parseName(_ line: ListingLine) -> ListingEntry? {
        guard line.bytes.first == 0x20, !line.bytes[...].isBlank else { return nil }
        return ListingEntry(nameBytes: Array(line.bytes.dropFirst()), format: .facts)
    }

    static func parse(_ line: ListingLine) -> ListingEntry? {
        // The first "; " ends the facts. A space within a fact is not allowed by the RFC, but occurs in link targets.
        let bytes = line.bytes
        var end = 0
        while end + 1 < bytes.count, bytes[end] != UInt8(ascii: ";") || bytes[end + 1] != 0x20 { end += 1 }
        guard end + 2 < bytes.count, !beginsWithFact(bytes[(end + 2)...]) else { return nil }
        var entry = ListingEntry(nameBytes: Array(bytes[(end + 2)...]), format: .facts)
        if entry.nameBytes[...].isBlank { return nil }
        entry.factBytes = Array(bytes[..<end])
        var owner = FirstFact(of: ["unix.ownername", "unix.owner", "unix.uid"])
        var group = FirstFact(of: ["unix.groupname", "unix.group", "unix.gid"])
        var hasFact = false
        for fact in Facts(bytes[..<end]) where !fact.name.isEmpty {
            hasFact = true
            take(fact, into: &entry)
            owner.take(fact)
            group.take(fact)
        }
        if !hasFact { return nil }
        entry.owner = owner.value.map(ListingEntry.text)
        entry.group = group.value.map(ListingEntry.text)
        return entry
    }

    /// Whether a name begins with a fact: some servers put a space between facts, and a file may have such a name. A line that can be
    /// read in both ways is not read.
    private static func beginsWithFact(_ name: ArraySlice<UInt8>) -> Bool {
        var facts = Facts(name)
        guard name.contains(UInt8(ascii: ";")), let first = facts.next() else { return false }
        let known: [StaticString] = [
            "type", "size", "modify", "create", "perm", "unique", "lang", "media-type", "charset",
        ]
        return known.contains(where: first.name.isWord) || first.name.beginsWithWord("unix.")
    }

    /// The value of a property that several facts may contain: the first name in the list takes precedence.
    private struct FirstFact {
        let names: [StaticString]
        private(set) var value: ArraySlice<UInt8>?
        private var rank = Int.max

        init(of names: [StaticString]) {
            self.names = names
        }

        mutating func take(_ fact: Facts.Fact) {
            guard let found = names.firstIndex(where: fact.name.isWord), found <= rank else { return }
            (value, rank) = (fact.value, found)
        }
    }

    /// Sets the property of a fact. Facts are independent of each other (RFC 3659 §7), so an invalid value leaves the property
    /// unknown, and the entry remains.
    private static func take(_ fact: Facts.Fact, into entry: inout ListingEntry) {
        let (name, value) = (fact.name, fact.value)
        if name.isWord("type") {
            setKind(of: &entry, value)
        } else if name.isWord("size") {
            entry.size = value.number
        } else if name.isWord("modify") {
            entry.date = ListingDate(timestamp: value)
        } else if name.isWord("unix.mode") {
            entry.mode = mode(value)
        }
    }

    /// An octal mode; pyftpdlib sends it in Python's form, `0o644`.
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
            (entry.kind, entry.relation) = (.directory, .current)
        } else if value.isWord("pdir") {
            (entry.kind, entry.relation) = (.directory, .parent)
        } else if value.beginsWithWord("os.unix=") {
            setUnixKind(of: &entry, value.dropFirst("os.unix=".utf8.count))
        }
    }

    private static func setUnixKind(of entry: inout ListingEntry, _ value: ArraySlice<UInt8>) {
        if value.isWord("symlink") || value.isWord("slink") {
            entry.kind = .link
        } else if value.beginsWithWord("slink:") || value.beginsWithWord("symlink:") {
            entry.kind = .link
            if let colon = value.firstIndex(of: UInt8(ascii: ":")), colon + 1 < value.endIndex {
                entry.linkTargetBytes = Array(value[(colon + 1)...])
            }
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

/// The facts of a line in order, `name=value` separated by semicolons (RFC 3659 §7.2).
struct Facts: Sequence, IteratorProtocol {
    /// A fact. Without a name it has no meaning.
    struct Fact {
        let name: ArraySlice<UInt8>
        let value: ArraySlice<UInt8>
    }

    private var scan: FieldScanner
    private var isAtEnd = false

    init(_ bytes: ArraySlice<UInt8>) {
        scan = FieldScanner(bytes)
    }

    mutating func next() -> Fact? {
        if isAtEnd { return nil }
        let fact = scan.take(upTo: ";")
        isAtEnd = fact == nil
        let text = fact ?? scan.rest
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return Fact(name: [], value: text) }
        return Fact(name: text[..<equals].trimmed, value: text[(equals + 1)...])
    }
}

/// Easily Parsed LIST Format: `+i8388621.29609,m824255902,/,<TAB>dev`
enum EPLFFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard line.bytes.first == UInt8(ascii: "+"), let tab = line.bytes.firstIndex(of: 0x09), tab + 1 < line.count
        else { return nil }
        var entry = ListingEntry(nameBytes: Array(line.bytes[(tab + 1)...]), format: .eplf)
        for fact in line.bytes[1..<tab].split(separator: UInt8(ascii: ",")) {
            let value = fact.dropFirst()
            switch fact.first {
            case UInt8(ascii: "/"): entry.kind = .directory
            case UInt8(ascii: "r"): entry.kind = .file
            case UInt8(ascii: "s"): entry.size = value.number
            case UInt8(ascii: "m"):
                entry.date = value.number.flatMap { Int64(exactly: $0) }.flatMap { ListingDate(secondsSince1970: $0) }
            case UInt8(ascii: "u") where value.first == UInt8(ascii: "p"):
                var mode: UInt16 = 0
                for digit in value.dropFirst().prefix(5) where (0x30...0x37).contains(digit) {
                    mode = mode << 3 | UInt16(digit - 0x30)
                }
                entry.mode = mode & 0o7777
            default: break
            }
        }
        return entry
    }
}
