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

    /// What replaces `%1`, `%2` …. Never holds a secret.
    public let arguments: [String]

    /// Makes a sentence from its parts.
    public init(_ key: String, _ template: String, _ arguments: String...) {
        self.key = key
        self.template = template
        self.arguments = arguments
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
