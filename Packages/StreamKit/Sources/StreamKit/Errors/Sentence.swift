internal import EventLoops
internal import Glibc

/// A localizable message: a key, an English template and its arguments.
///
/// All messages of a package are in one catalogue file. To show them in another language, pass ``catalogue(_:)`` a
/// table from keys to templates; `%1`, `%2` … stand for the arguments.
public struct Sentence: Sendable, Hashable, CustomStringConvertible {
    /// The stable name of the message, for translation tables and scripts: `connect.refused`.
    public let key: String

    /// The English template.
    public let template: String

    /// The values for `%1`, `%2` …. They hold no secrets and no characters that control a terminal.
    public let arguments: [String]

    /// Makes a message from its parts.
    ///
    /// Arguments may quote a peer. Control and format characters, which could control a terminal or reverse the text
    /// direction, are written as `\u{…}`.
    public init(_ key: String, _ template: String, _ arguments: String...) {
        self.key = key
        self.template = template
        self.arguments = arguments.map(Sentence.escaped)
    }

    private static func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                escaped += "\\u{\(String(scalar.value, radix: 16))}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static let translations = Locked<[String: String]>([:])

    /// Sets the templates that replace the English ones, by key. An empty table restores English.
    public static func catalogue(_ templates: [String: String]) {
        translations.withLock { $0 = templates }
    }

    /// The message with its arguments, in the language of the catalogue.
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
