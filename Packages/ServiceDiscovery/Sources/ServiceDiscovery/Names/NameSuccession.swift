/// Which name comes after one that is taken.
enum NameSuccession {
    /// `Printer`, `Printer (2)`, `Printer (3)` (RFC 6763 appendix D), kept within 63 bytes by shortening what comes
    /// before the number at a character's edge.
    static func afterService(_ name: String) -> String {
        var base = Substring(name)
        var number = 2
        if name.hasSuffix(")"), let open = name.lastIndex(of: "("), name.distance(from: name.startIndex, to: open) > 1,
            name[name.index(before: open)] == " ",
            let old = positive(name[name.index(after: open)...].dropLast())
        {
            base = name[..<name.index(before: open)]
            number = old + 1
        }
        let suffix = " (\(number))"
        return shortened(base, to: ServiceInstance.longestName - suffix.utf8.count) + suffix
    }

    /// `host`, `host-2`, `host-3`: a host's name has no blanks.
    static func afterHost(_ name: String) -> String {
        var base = Substring(name)
        var number = 2
        if let hyphen = name.lastIndex(of: "-"), hyphen > name.startIndex,
            let old = positive(name[name.index(after: hyphen)...])
        {
            base = name[..<hyphen]
            number = old + 1
        }
        let suffix = "-\(number)"
        return shortened(base, to: ServiceInstance.longestName - suffix.utf8.count) + suffix
    }

    private static func positive(_ text: Substring) -> Int? {
        guard text.utf8.count <= 6, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text.first != "0",
            let number = Int(text), number >= 2
        else { return nil }
        return number
    }

    private static func shortened(_ text: Substring, to count: Int) -> String {
        var text = text
        while text.utf8.count > count { text.removeLast() }
        return String(text)
    }
}
