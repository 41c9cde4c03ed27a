/// A text that a terminal shows and does not obey: what this program says, with all that comes from elsewhere escaped.
///
/// ```swift
/// Terminal.say("The server answered: \(reason)")    // whatever is in `reason`
/// ```
///
/// What is written in a literal stays as it is; what is put into it is escaped. Every function of this program that prints takes this type
/// and no string, so that a text cannot be printed without having passed here.
struct ShownText: ExpressibleByStringInterpolation, Sendable {
    /// The text, fit to be written.
    let text: String

    init(stringLiteral value: String) {
        text = value
    }

    init(stringInterpolation: Interpolation) {
        text = stringInterpolation.text
    }

    /// Lines that came from elsewhere: line feeds stay.
    init(lines: String) {
        text = lines.split(separator: "\n", omittingEmptySubsequences: false).map { ShownText.escaped(String($0)) }
            .joined(separator: "\n")
    }

    /// JSON: what it may not show stands in strings, where `\u` escapes it.
    init(json: String) {
        text = ShownText.escaping(json) { scalar in
            UTF16.encode(scalar)?.map {
                "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count) + String($0, radix: 16)
            }
            .joined() ?? ""
        }
    }

    static func + (left: ShownText, right: ShownText) -> ShownText { "\(left)\(right)" }

    /// A text with control and format characters as `\u{…}`: those that a terminal obeys, that break lines, or that turn text round.
    static func escaped(_ text: String) -> String {
        escaping(text) { "\\u{\(String($0.value, radix: 16))}" }
    }

    private static func escaping(_ text: String, _ escape: (Unicode.Scalar) -> String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: shown += escape(scalar)
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity)
        }

        mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        /// What has passed already.
        mutating func appendInterpolation(_ shown: ShownText) {
            text += shown.text
        }

        mutating func appendInterpolation(_ value: some Any) {
            text += ShownText.escaped("\(value)")
        }
    }
}

/// Shadows the standard library's: a string may hold anything.
@available(*, unavailable, message: "write Terminal.print, which escapes what a terminal would obey")
func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {}
