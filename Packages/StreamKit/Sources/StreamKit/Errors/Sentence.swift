internal import EventLoops
internal import Glibc

/// A sentence for people: a key, what goes into it, and how it reads in English.
///
/// All sentences of a package stand in one catalogue file. To show them in another language, give
/// ``catalogue(_:)`` a table from keys to templates; `%1`, `%2` … stand for the arguments.
public struct Sentence: Sendable, Hashable, CustomStringConvertible {
    /// Stable name, for tables and scripts: `connect.refused`.
    public let key: String

    /// The English template.
    public let template: String

    /// What replaces `%1`, `%2` …. Never holds a secret, nor anything that a terminal would obey.
    public let arguments: [String]

    /// Makes a sentence from its parts.
    ///
    /// An argument may quote a peer: control and format characters, which a terminal obeys or which turn text round, are
    /// written as `\u{…}`.
    public init(_ key: String, _ template: String, _ arguments: String...) {
        self.key = key
        self.template = template
        self.arguments = arguments.map(Sentence.harmless)
    }

    private static func harmless(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    private static let translations = Locked<[String: String]>([:])

    /// Sets the templates used instead of the English ones, by key; the empty table goes back to English.
    public static func catalogue(_ templates: [String: String]) {
        translations.withLock { $0 = templates }
    }

    /// The sentence in the language of the catalogue.
    public var description: String {
        let template = Sentence.translations.withLock { $0[key] } ?? self.template
        guard template.utf8.contains(UInt8(ascii: "%")) else { return template }
        var text = ""
        var rest = template[...]
        while let percent = rest.firstIndex(of: "%") {
            text += rest[..<percent]
            rest = rest[rest.index(after: percent)...]
            if let digit = rest.first?.wholeNumberValue, digit >= 1, digit <= arguments.count {
                text += arguments[digit - 1]
                rest = rest.dropFirst()
            } else {
                text += "%"
            }
        }
        return text + rest
    }
}
