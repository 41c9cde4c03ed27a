import Foundation
import Glibc

/// The signs and colours of a terminal: colour only on terminals and without `NO_COLOR`, ASCII unless the locale is UTF-8.
///
/// ```swift
/// let style = TerminalStyle.output
/// Terminal.print("\(style.tick) \(style.paint("works", .green))")
/// ```
struct TerminalStyle: Sendable {
    /// A colour of the terminal's palette (ECMA-48 SGR).
    enum Colour: Int, Sendable {
        case bold = 1
        case faint = 2
        case red = 31
        case green = 32
        case yellow = 33
        case blue = 34
        case magenta = 35
        case cyan = 36
    }

    let hasColour: Bool
    let isUnicode: Bool

    /// The style of standard output.
    static let output = TerminalStyle(
        isTerminal: isatty(STDOUT_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
    /// The style of standard error.
    static let errors = TerminalStyle(
        isTerminal: isatty(STDERR_FILENO) == 1, environment: ProcessInfo.processInfo.environment)

    /// The style of a page: all characters, and no colours.
    static let page = TerminalStyle(isTerminal: false, environment: ["LC_ALL": "C.UTF-8"])

    init(isTerminal: Bool, environment: [String: String]) {
        let isRefused = environment["NO_COLOR"]?.isEmpty == false || environment["TERM"] == "dumb"
        hasColour = isTerminal && !isRefused
        // The first variable that is not empty counts (POSIX, "Internationalization Variables").
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        isUnicode = locale?.lowercased().replacing("-", with: "").contains("utf8") == true
    }

    /// The text in a colour, if there are colours.
    func paint(_ text: ShownText, _ colour: Colour) -> ShownText {
        guard hasColour else { return text }
        return "\u{1b}[\(colour.rawValue)m\(text)\u{1b}[0m"
    }

    /// The text with ASCII in place of the punctuation that messages use, unless the locale is UTF-8. Letters stay.
    func plain(_ text: String) -> String {
        if isUnicode || text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        let replacements: [Unicode.Scalar: String] = [
            "“": "\"", "”": "\"", "‘": "'", "’": "'", "…": "...", "–": "-", "—": "-",
        ]
        var plain = ""
        for scalar in text.unicodeScalars {
            if let replacement = replacements[scalar] {
                plain += replacement
            } else {
                plain.unicodeScalars.append(scalar)
            }
        }
        return plain
    }

    var tick: ShownText { paint(isUnicode ? "✔" : "ok", .green) }
    var cross: ShownText { paint(isUnicode ? "✘" : "FAIL", .red) }
    var ellipsis: String { isUnicode ? "…" : "..." }
    /// A piece of a bar.
    var block: String { isUnicode ? "█" : "#" }
    /// The branch to an entry of a tree.
    var branch: String { isUnicode ? "└─ " : "`- " }
}
