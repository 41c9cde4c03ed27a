/// Little-endian numbers and UTF-16LE text, the encodings of NTLM.
extension [UInt8] {
    mutating func append(littleEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Encodes `text` in UTF-16LE.
    init(utf16LittleEndian text: String) {
        self = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    /// The bytes decoded as UTF-16LE. An odd last byte is dropped, and invalid surrogates are replaced. For display,
    /// and for names that are sent back.
    var utf16LittleEndianText: String {
        let units = stride(from: 0, to: count - count % 2, by: 2).map {
            UInt16(self[$0]) | UInt16(self[$0 + 1]) << 8
        }
        return String(decoding: units, as: UTF16.self)
    }
}

extension String {
    /// Uppercases the string as Windows does for NTLM: character by character, and only if the result is one character.
    /// `ß` is unchanged, where ``uppercased()`` yields `SS` and thus another hash.
    var uppercasedByCharacter: String {
        var text = ""
        for scalar in unicodeScalars {
            let mapped = scalar.properties.uppercaseMapping.unicodeScalars
            guard mapped.count == 1, let upper = mapped.first, (upper.value > 0xffff) == (scalar.value > 0xffff) else {
                text.unicodeScalars.append(scalar)
                continue
            }
            text.unicodeScalars.append(upper)
        }
        return text
    }
}
