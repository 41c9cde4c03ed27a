import Foundation
import Glibc
import NetKit

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

/// Where the tool talks to a person: standard error, with what a terminal can do.
enum Terminal {
    /// True if standard error is a terminal, so that progress may be shown.
    static let isInteractive = isatty(STDERR_FILENO) == 1

    /// True if standard output is a terminal.
    static let showsOutput = isatty(STDOUT_FILENO) == 1

    /// Characters in a line.
    static var width: Int {
        var size = winsize()
        return ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 20 ? Int(size.ws_col) : 80
    }

    /// Prints a line on standard output.
    static func print(_ line: ShownText, terminator: ShownText = "\n") {
        Swift.print(line.text, terminator: terminator.text)
    }

    /// Writes a line to standard error.
    static func say(_ line: ShownText) {
        write("\(line)\n", to: STDERR_FILENO)
    }

    /// Writes all of a text; nothing can be done if that fails.
    static func write(_ text: ShownText, to descriptor: Int32) {
        let bytes = Array(text.text.utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 { return }
            written += count
        }
    }

    /// A text from a stranger, safe to show: for messages that others print.
    static func shown(_ text: String) -> String { ShownText.escaped(text) }

    /// An error of a store of passwords as a sentence.
    static func sentence(_ error: HTTPAuthError) -> String {
        let text = error.description
        return text.prefix(1).uppercased() + text.dropFirst() + "."
    }

    /// A URL as it was typed, without its password: output may be kept longer than anyone thinks. The text need not be a URL.
    static func shownURL(_ text: String) -> String {
        if let parts = URLComponents(string: text), parts.password == nil { return shown(text) }
        let start = text.range(of: "//")?.upperBound ?? text.startIndex
        guard let end = text[start...].lastIndex(of: "@"),
            let colon = text[start..<end].firstIndex(of: ":")
        else { return shown(text) }
        return shown("\(text[..<colon]):…\(text[end...])")
    }

    /// A field of an answer. A server's proof that it knows the password is made of it, so that passwords could be tried on it.
    static func shownField(_ name: String, _ value: String) -> String {
        guard name.lowercased().hasSuffix("authentication-info") else { return value }
        return value.replacing(/(rspauth *= *)("[^"]*"|[^ ,]*)/.ignoresCase()) { "\($0.1)\"…\"" }
    }
}

/// What `--json` prints: one line, keys in alphabetical order.
///
/// Where a verb fails, its object has `error`: an object with `sentence`, and where the network failed `domain` and `code`.
enum JSONOutput {
    /// What is known about something, by name.
    typealias Facts = [String: any Sendable]

    /// An object or an array as one line.
    static func line(_ value: Any) -> ShownText {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? JSONSerialization.data(withJSONObject: value, options: options)) ?? Data("{}".utf8)
        return ShownText(json: String(decoding: data, as: UTF8.self))
    }

    /// Prints a line on standard output, at once.
    static func show(_ value: Any) {
        Terminal.write("\(line(value))\n", to: STDOUT_FILENO)
    }

    /// What failed.
    static func error(_ error: any Error) -> Facts {
        if let error = error as? ResolverError {
            let domain = StreamErrorDomain(rawValue: error.domain.rawValue)
            return ["sentence": "\(error)", "domain": domain.description, "code": error.number]
        }
        guard let error = error as? StreamError else { return ["sentence": "\(error)"] }
        return ["sentence": error.description, "domain": error.domain.description, "code": error.code]
    }

    /// A URL without user and password: what is printed may be kept.
    static func url(_ text: String) -> String {
        guard var parts = URLComponents(string: text), parts.user != nil || parts.password != nil else { return text }
        (parts.user, parts.password) = (nil, nil)
        return parts.string ?? ""
    }

    /// Every step of a connection, with seconds.
    static func steps(_ report: ConnectionReport) -> [Facts] {
        report.steps.map { step in
            var facts: Facts = [
                "step": step.kind.description, "start": step.start / .seconds(1), "outcome": step.outcome.description,
            ]
            facts["seconds"] = step.time.map { $0 / .seconds(1) }
            return facts
        }
    }
}
