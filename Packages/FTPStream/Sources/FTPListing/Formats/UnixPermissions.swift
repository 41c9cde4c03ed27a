/// `drwxr-sr-x+`: the kind, nine letters, and a mark that says there is more (an ACL, SELinux).
struct UnixPermissions {
    let kind: ListingKind
    /// Nil for the flags of Connect:Enterprise, which are no permissions.
    let mode: UInt16?
    /// `-C--E-----FTP`, as Connect:Enterprise shows mailboxes.
    let isEnterprise: Bool

    init?(_ field: ArraySlice<UInt8>) {
        guard field.count >= 10, let first = field.first, let kind = Self.kind(first) else { return nil }
        self.kind = kind
        let letters = field.dropFirst().prefix(9)
        let rest = field.dropFirst(10)
        if let mode = Self.mode(letters), rest.isEmpty || rest.isText("+") || rest.isText(".") || rest.isText("@") {
            self.mode = mode
            isEnterprise = false
        } else {
            let isFlag = { (byte: UInt8) in byte == UInt8(ascii: "-") || (0x41...0x5A).contains(byte) }
            guard rest.isText("FTP"), letters.allSatisfy(isFlag) else { return nil }
            mode = nil
            isEnterprise = true
        }
    }

    private static func kind(_ letter: UInt8) -> ListingKind? {
        switch letter {
        case UInt8(ascii: "-"): .file
        case UInt8(ascii: "d"): .directory
        case UInt8(ascii: "l"): .link
        case UInt8(ascii: "c"): .characterDevice
        case UInt8(ascii: "b"): .blockDevice
        case UInt8(ascii: "p"): .fifo
        case UInt8(ascii: "s"): .socket
        case UInt8(ascii: "D"), UInt8(ascii: "P"): .unknown  // doors and event ports of Solaris
        default: nil
        }
    }

    /// The bits of nine letters; nil if a letter is where it cannot be.
    private static func mode(_ letters: ArraySlice<UInt8>) -> UInt16? {
        var mode: UInt16 = 0
        for (index, letter) in letters.enumerated() {
            let bit: UInt16 = 0o400 >> UInt16(index)
            switch (index % 3, letter) {
            case (_, UInt8(ascii: "-")): break
            case (0, UInt8(ascii: "r")), (1, UInt8(ascii: "w")), (2, UInt8(ascii: "x")): mode |= bit
            case (2, UInt8(ascii: "s")) where index < 8: mode |= bit | (index == 2 ? 0o4000 : 0o2000)
            case (2, UInt8(ascii: "S")) where index < 8: mode |= index == 2 ? 0o4000 : 0o2000
            case (2, UInt8(ascii: "l")), (2, UInt8(ascii: "L")): if index == 5 { mode |= 0o2000 } else { return nil }
            case (2, UInt8(ascii: "t")) where index == 8: mode |= bit | 0o1000
            case (2, UInt8(ascii: "T")) where index == 8: mode |= 0o1000
            default: return nil
            }
        }
        return mode
    }
}
