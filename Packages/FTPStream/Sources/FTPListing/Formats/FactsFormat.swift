/// `type=file;size=951;modify=20150813175250; name`: RFC 3659 §7.
enum FactsFormat {
    static func parse(_ line: ListingLine) -> ListingEntry? {
        // The first "; " ends the facts; a blank within a fact is more than the RFC allows, and met with in link targets.
        let bytes = line.bytes
        var end = 0
        while end + 1 < bytes.count, bytes[end] != UInt8(ascii: ";") || bytes[end + 1] != 0x20 { end += 1 }
        guard end + 2 < bytes.count else { return nil }
        var entry = ListingEntry(nameBytes: Array(bytes[(end + 2)...]), format: .facts)
        for fact in bytes[..<end].split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false) {
            guard let equals = fact.place(of: UInt8(ascii: "=")), equals > fact.startIndex else { return nil }
            let name = ListingEntry.text(fact[..<equals].trimmed).lowercased()
            let value = fact[(equals + 1)...]
            guard take(value, named: name, into: &entry) else { return nil }
            entry.facts[name] = ListingEntry.text(value)
        }
        entry.owner = ["unix.ownername", "unix.owner", "unix.uid"].lazy.compactMap { entry.facts[$0] }.first
        entry.group = ["unix.groupname", "unix.group", "unix.gid"].lazy.compactMap { entry.facts[$0] }.first
        return entry.nameBytes[...].isBlank ? nil : entry
    }

    /// False if the value is not what the fact must have.
    private static func take(_ value: ArraySlice<UInt8>, named name: String, into entry: inout ListingEntry) -> Bool {
        switch name {
        case "type": setKind(of: &entry, value)
        case "size", "sizd":
            guard let size = value.number else { return false }
            if name == "size" { entry.size = size }
        case "modify":
            guard let date = DateReader.stamp(value) else { return false }
            entry.date = date
        case "unix.mode": entry.mode = mode(value)
        default: break
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
        let text = ListingEntry.text(value).lowercased()
        switch text {
        case "file": entry.kind = .file
        case "dir": entry.kind = .directory
        case "cdir":
            entry.kind = .directory
            entry.place = .current
        case "pdir":
            entry.kind = .directory
            entry.place = .parent
        case "os.unix=symlink", "os.unix=slink": entry.kind = .link
        case "os.unix=socket": entry.kind = .socket
        case "os.unix=fifo": entry.kind = .fifo
        case _ where text.hasPrefix("os.unix=slink:"):
            entry.kind = .link
            let target = value.dropFirst("os.unix=slink:".utf8.count)
            entry.linkTargetBytes = target.isEmpty ? nil : Array(target)
        case _ where text.hasPrefix("os.unix=chr"): entry.kind = .characterDevice
        case _ where text.hasPrefix("os.unix=blk"): entry.kind = .blockDevice
        default: break
        }
    }
}
