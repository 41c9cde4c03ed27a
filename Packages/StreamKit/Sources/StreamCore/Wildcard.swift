/// An element of a pattern that is compared with text.
@_spi(Packages) public enum Wildcard: Sendable, Hashable {
    /// This byte.
    case byte(UInt8)
    /// One character in UTF-8.
    case anyCharacter
    /// Any number of characters.
    case anyCharacters

    /// Whether a text matches a pattern. The time is at most the product of both lengths.
    public static func matches(_ text: [UInt8], _ pattern: [Wildcard]) -> Bool {
        var (position, index) = (0, 0)
        // Where to continue if the rest does not match: after the last `*`, which then stands for one byte more.
        var retry: (position: Int, index: Int)?
        while position < text.count {
            if index < pattern.count {
                switch pattern[index] {
                case .anyCharacters:
                    index += 1
                    retry = (position, index)
                    continue
                case .anyCharacter:
                    position += 1
                    // The other bytes of a character in UTF-8.
                    while position < text.count, text[position] & 0xC0 == 0x80 { position += 1 }
                    index += 1
                    continue
                case .byte(text[position]):
                    (position, index) = (position + 1, index + 1)
                    continue
                case .byte: break
                }
            }
            guard let last = retry else { return false }
            retry = (last.position + 1, last.index)
            (position, index) = (last.position + 1, last.index)
        }
        return pattern[index...].allSatisfy { $0 == .anyCharacters }
    }
}
