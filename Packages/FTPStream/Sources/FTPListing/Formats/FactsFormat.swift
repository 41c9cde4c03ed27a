/// The machine-readable format of MLSD and MLST (RFC 3659 §7): `type=file;size=951;modify=20150813175250; name`.
enum FactsFormat {
    /// Parses a line without facts: a space and the name. Any line of text may look like that, so the listing must be known to
    /// consist of facts.
    static func parseName(_ line: ListingLine) -> ListingEntry? {
        guard line.bytes.first == 0x20, !line.bytes[...].isBlank else { return nil }
        return ListingEntry(nameBytes: Array(line.bytes.dropFirst()), format: .facts)
    }

    static func parse(_ line: ListingLine) -> ListingEntry? {
        guard let (facts, name, isWhole) = split(line.bytes), !name.isBlank else { return nil }
        var entry = ListingEntry(nameBytes: Array(name), format: .facts)
        entry.factBytes = Array(facts)
        var owner = FirstFact(of: ["unix.ownername", "unix.owner", "unix.uid"])
        var group = FirstFact(of: ["unix.groupname", "unix.group", "unix.gid"])
        var hasFact = !isWhole
        for fact in Facts(facts) where !fact.name.isEmpty {
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

    /// Splits a line into its facts and its name; nil for another line, and for one whose name would begin at an uncertain place.
    ///
    /// The first "; " ends the facts. A space within a fact is not allowed by the RFC, but occurs in link targets and names of owners.
    /// If there is none, or a space before it is within a fact whose value has no spaces, the line must begin with a known fact: the
    /// first space then ends the facts as the RFC requires, and the one before it, which has no semicolon, is left out.
    private static func split(
        _ bytes: [UInt8]
    ) -> (facts: ArraySlice<UInt8>, name: ArraySlice<UInt8>, isWhole: Bool)? {
        guard let space = bytes.firstIndex(of: 0x20) else { return nil }
        let semicolon = UInt8(ascii: ";")
        let begin = bytes[..<space].lastIndex(of: semicolon) ?? -1
        var facts = Facts(bytes[(begin + 1)..<space])
        let last = facts.next()
        if let end = bytes.indices.dropLast().first(where: { bytes[$0] == semicolon && bytes[$0 + 1] == 0x20 }),
            space > end || last?.hasNoSpaces != true
        {
            let name = bytes[(end + 2)...]
            // Some servers put a space between facts, and a file may have such a name. A line that can be read in both ways is not read.
            if name.contains(semicolon), beginsWithFact(name) { return nil }
            return (bytes[..<end], name, true)
        }
        let name = bytes[(space + 1)...]
        guard beginsWithFact(bytes[...]), !beginsWithFact(name), last?.isLink != true else { return nil }
        return (bytes[..<max(0, begin)], name, false)
    }

    /// Whether bytes begin with a fact that is known.
    private static func beginsWithFact(_ bytes: ArraySlice<UInt8>) -> Bool {
        var facts = Facts(bytes)
        guard let name = facts.next()?.name else { return false }
        let known: [StaticString] = [
            "type", "size", "modify", "create", "perm", "unique", "lang", "media-type", "charset",
        ]
        return known.contains(where: name.isWord) || name.beginsWithWord("unix.")
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

        /// Whether the value is that of a link, which may have its target.
        var isLink: Bool { name.isWord("type") && value.beginsWithWord("os.") }

        /// Whether the fact is one whose value never has spaces, also at servers that put them into others.
        var hasNoSpaces: Bool {
            let names: [StaticString] = ["size", "modify", "create", "perm", "unix.mode"]
            return names.contains(where: name.isWord) || name.isWord("type") && !isLink
        }
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
