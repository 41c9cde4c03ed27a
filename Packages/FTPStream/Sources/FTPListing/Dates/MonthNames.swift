/// The names and abbreviations of months in the languages of `ls`.
///
/// A word that means different months in two languages is omitted, or has the meaning in the language with more speakers.
enum MonthNames {
    /// The month that a word names, 1 to 12; nil if it is not a month.
    static func month(_ field: ArraySlice<UInt8>) -> Int? {
        guard (2...24).contains(field.count) else { return nil }
        if field.count == 3, let month = english(field) { return month }
        var word = field
        if word.last == UInt8(ascii: ".") || word.last == UInt8(ascii: ",") { word = word.dropLast() }
        guard word.contains(where: { $0 < 0x30 || $0 > 0x39 }) else { return nil }
        guard let text = String(validating: word, as: UTF8.self) else {
            return Cyrillic.readings(of: word).lazy.compactMap { table[$0] }.first
        }
        let lower = text.lowercased()
        return table[lower] ?? numbered(lower)
    }

    /// The common case, without creating a string.
    private static func english(_ field: ArraySlice<UInt8>) -> Int? {
        var key: UInt32 = 0
        for byte in field { key = key << 8 | UInt32(byte | 0x20) }
        return englishKeys.firstIndex(of: key).map { $0 + 1 }
    }

    private static let englishKeys: [UInt32] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { $0.utf8.reduce(0) { $0 << 8 | UInt32($1) } }

    /// `5月`, `5월`.
    private static func numbered(_ text: String) -> Int? {
        guard text.hasSuffix("月") || text.hasSuffix("월"), let month = Int(text.dropLast()),
            (1...12).contains(month)
        else { return nil }
        return month
    }

    private static let words: [String] = [
        // English, German, French, Spanish, Italian, Portuguese, Dutch, Nordic, Finnish, Polish, Czech, Slovak, Hungarian,
        // Romanian, Turkish, Estonian, Latvian, Lithuanian; Russian, Ukrainian, Bulgarian; Greek.
        "jan january jän januar janv janvier ene enero gen gennaio janeiro tammi sty led ian oca jaan sau янв январь січ яну "
            + "ιαν",
        "feb february febr februar févr fév février febrero febbraio fev fevereiro helmi lut úno únor şub veebr vas фев "
            + "февр февраль лют φεβ",
        "mar march mär mrz märz mars marzo março mrt maalis bře březen márc märts marts kov мар март бер μαρ μάρ",
        "apr april avr avril abr abril aprile huhti kwi dub duben ápr nis aprill bal апр апрель кві απρ",
        "may mai mayo mag maggio maio mei maj touko kvě květen máj maijs geg май мая тра μαι μάι μαΐ",
        "jun june juni juin junio giu giugno junho kesä cze čen červen jún iun haz juuni jūn bir июн июнь чер юни ιουν",
        "jul july juli juil juillet julio lug luglio julho heinä lip čec červenec júl iul tem juuli jūl lie июл июль юли "
            + "ιουλ",
        "aug august août aoû agosto ago elo sie srp srpen ağu avg rgp авг август сер αυγ",
        "sep sept september septembre septiembre set settembre setembro syys wrz zář září szept eyl rgs сен сент сентябрь "
            + "вер сеп σεπ",
        "oct october okt oktober octobre octubre ott ottobre out outubro loka paź říj říjen eki spa окт октябрь жов οκτ",
        "nov november novembre noviembre novembro marras lis listopad noi kas lap ноя ноябрь лис ное νοε",
        "dec december dez dezember déc décembre dic diciembre dicembre dezembro des joulu gru pro prosinec ara dets grd дек "
            + "декабрь гру δεκ",
    ]

    private static let table: [String: Int] = {
        var table: [String: Int] = [:]
        for (index, list) in words.enumerated() {
            for word in list.split(separator: " ") { table[String(word)] = index + 1 }
        }
        return table
    }()
}

/// Words in the single-byte encodings that servers used before UTF-8.
enum Cyrillic {
    /// The possible readings of a word in lower case: as Latin-1, KOI8-R, Windows-1251 and ISO 8859-5.
    static func readings(of word: ArraySlice<UInt8>) -> [String] {
        [latin1, koi8, windows, iso].map { letter in
            var text = ""
            for byte in word { text.unicodeScalars.append(letter(byte)) }
            return text.lowercased()
        }
    }

    private static func latin1(_ byte: UInt8) -> Unicode.Scalar { Unicode.Scalar(byte) }

    /// KOI8-R orders its letters like the Latin letters with a similar sound.
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

    /// A letter of the Russian alphabet: 0 is capital A (U+0410), 63 is small Ya (U+044F).
    private static func cyrillic(_ index: Int) -> Unicode.Scalar {
        Unicode.Scalar(UInt16(0x410 + index)) ?? "?"
    }
}
