/// Little-endian numbers and UTF-16LE text, as all of NTLM has them.
extension [UInt8] {
    mutating func append(littleEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// `text` in UTF-16LE.
    init(utf16LittleEndian text: String) {
        self = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    /// This UTF-16LE as text, an odd last byte left out and broken surrogates replaced. For display and for names that go
    /// back as they came.
    var utf16LittleEndianText: String {
        let units = stride(from: 0, to: count - count % 2, by: 2).map {
            UInt16(self[$0]) | UInt16(self[$0 + 1]) << 8
        }
        return String(decoding: units, as: UTF16.self)
    }
}

extension String {
    /// Upper case as Windows makes it for NTLM: each letter by itself, and only if the result is one letter. So `ß` stays
    /// as it is, where ``uppercased()`` gives `SS` and with it another hash.
    var upperCasedByLetter: String {
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
