/// A localizable message: a key, an English template, and the arguments of the template.
///
/// ```swift
/// let message = Sentence("host.notFound", "no such host[: %1]", name)
/// print(message)                                              // no such host: www.example.org
/// Sentence.catalogue(["host.notFound": "kein solcher Rechner[: %1]"])
/// print(message)                                              // kein solcher Rechner: www.example.org
/// ```
///
/// The messages of all packages that depend on this one are sentences, and each package keeps its own in one file. To show
/// them in another language, pass ``catalogue(_:)`` a table from keys to templates.
public struct Sentence: Sendable, Hashable, CustomStringConvertible {
    /// The stable name of the message, for translation tables and scripts: `connect.refused`.
    public let key: String

    /// The English template.
    ///
    /// `%1`, `%2` … stand for the arguments. A clause in square brackets is omitted if one of its arguments is empty.
    public let template: String

    /// The values for `%1`, `%2` …; an empty text stands for a missing value. They hold no secrets, and no characters that
    /// control a terminal.
    public let arguments: [String]

    /// The maximum number of Unicode scalars of an argument; a longer one ends in `…`.
    package static let maximumArgumentLength = 1000

    /// Creates a message from its parts.
    ///
    /// Arguments may quote a peer. Control and format characters, which could control a terminal or reverse the direction
    /// of the text, are written as `\u{…}`, and a text that is too long is cut off.
    ///
    /// - Parameters:
    ///   - key: The name of the message.
    ///   - template: The English template.
    ///   - arguments: The values for the template; nil for a missing one.
    public init(_ key: String, _ template: String, _ arguments: String?...) {
        self.key = key
        self.template = template
        self.arguments = arguments.map { $0.map(Sentence.printable) ?? "" }
    }

    private static let translations = Locked<[String: String]>([:])

    /// Sets the templates that replace the English ones, by key, for the whole process. An empty table restores English.
    public static func catalogue(_ templates: [String: String]) {
        translations.withLock { $0 = templates }
    }

    /// The message with its arguments, in the language of the catalogue.
    public var description: String {
        var text = ""
        var rest = (Sentence.translations.withLock { $0[key] } ?? template).unicodeScalars[...]
        while let open = rest.firstIndex(of: "["), let close = rest[open...].firstIndex(of: "]") {
            text += fill(rest[..<open]).text
            let clause = fill(rest[rest.index(after: open)..<close])
            if clause.isComplete { text += clause.text }
            rest = rest[rest.index(after: close)...]
        }
        return text + fill(rest).text
    }

    /// Inserts the arguments; the result is complete if none of them is empty.
    private func fill(_ template: Substring.UnicodeScalarView) -> (text: String, isComplete: Bool) {
        var text = ""
        var isComplete = true
        var rest = template
        while let percent = rest.firstIndex(of: "%") {
            text += String(rest[..<percent])
            rest = rest[rest.index(after: percent)...]
            if let digit = rest.first.flatMap({ Int(String($0)) }), digit >= 1, digit <= arguments.count {
                text += arguments[digit - 1]
                isComplete = isComplete && !arguments[digit - 1].isEmpty
                rest = rest.dropFirst()
            } else {
                text += "%"
            }
        }
        return (text + String(rest), isComplete)
    }

    private static func printable(_ text: String) -> String {
        let isShort = text.utf8.count <= maximumArgumentLength
        if isShort, text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var printable = ""
        for scalar in text.unicodeScalars.prefix(maximumArgumentLength) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                printable += "\\u{\(String(scalar.value, radix: 16))}"
            default: printable.unicodeScalars.append(scalar)
            }
        }
        return isShort || text.unicodeScalars.count <= maximumArgumentLength ? printable : printable + "…"
    }
}
