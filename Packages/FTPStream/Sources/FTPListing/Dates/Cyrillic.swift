/// Words in the one-byte codes that servers used before UTF-8.
enum Cyrillic {
    /// What the bytes may mean, in lower case: as Latin-1, KOI8-R, Windows-1251 and ISO 8859-5.
    static func readings(of word: ArraySlice<UInt8>) -> [String] {
        [latin1, koi8, windows, iso].map { letter in
            var text = ""
            for byte in word { text.unicodeScalars.append(letter(byte)) }
            return text.lowercased()
        }
    }

    private static func latin1(_ byte: UInt8) -> Unicode.Scalar { Unicode.Scalar(byte) }

    /// KOI8-R has the letters in the order of the Latin ones that sound alike.
    private static let koi8Order = Array("юабцдефгхийклмнопярстужвьызшэщчъ".unicodeScalars)

    private static func koi8(_ byte: UInt8) -> Unicode.Scalar {
        byte >= 0xC0 ? koi8Order[Int(byte & 0x1F)] : Unicode.Scalar(byte)
    }

    private static func windows(_ byte: UInt8) -> Unicode.Scalar {
        switch byte {
        case 0xC0...0xFF: cyrillic(Int(byte) - 0xC0)
        case 0xB3: "і"
        case 0xBF: "ї"
        default: Unicode.Scalar(byte)
        }
    }

    private static func iso(_ byte: UInt8) -> Unicode.Scalar {
        switch byte {
        case 0xB0...0xEF: cyrillic(Int(byte) - 0xB0)
        case 0xF6: "і"
        case 0xF7: "ї"
        default: Unicode.Scalar(byte)
        }
    }

    /// Capital A of the alphabet is U+0410, small YA U+044F.
    private static func cyrillic(_ index: Int) -> Unicode.Scalar {
        Unicode.Scalar(UInt16(0x410 + index)) ?? "?"
    }
}
