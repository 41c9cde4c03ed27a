import Foundation
import Glibc
import NetKit

/// Text that is safe to print: control characters in interpolated values are escaped, so that a terminal shows them
/// instead of executing them.
///
/// ```swift
/// Terminal.say("The server responded: \(reason)")    // `reason` may hold any characters
/// ```
///
/// Literal parts stay as they are. Every function of this program that prints takes this type instead of `String`, so that
/// no text is printed unescaped.
struct ShownText: ExpressibleByStringInterpolation, Sendable {
    /// The escaped text.
    let text: String

    init(stringLiteral value: String) {
        text = value
    }

    init(stringInterpolation: Interpolation) {
        text = stringInterpolation.text
    }

    /// Escapes text of several lines; line feeds stay.
    init(lines: String) {
        text = lines.split(separator: "\n", omittingEmptySubsequences: false).map { ShownText.escaped(String($0)) }
            .joined(separator: "\n")
    }

    /// Escapes JSON text. Control characters occur only within its strings, so each becomes a JSON escape (`\u…`).
    init(json: String) {
        text = ShownText.escaping(json) { scalar in
            UTF16.encode(scalar)?.map {
                "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count) + String($0, radix: 16)
            }
            .joined() ?? ""
        }
    }

    static func + (left: ShownText, right: ShownText) -> ShownText { "\(left)\(right)" }

    /// The text with each control or format character as `\u{…}`: terminal commands, line breaks, and changes of text direction.
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

        /// Appends text that is escaped already.
        mutating func appendInterpolation(_ shown: ShownText) {
            text += shown.text
        }

        mutating func appendInterpolation(_ value: some Any) {
            text += TerminalStyle.output.plain(ShownText.escaped("\(value)"))
        }
    }
}

/// Shadows the standard library's `print`, which does not escape control characters.
@available(*, unavailable, message: "use Terminal.print, which escapes control characters")
func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {}

/// Output to the user: lines on standard output and standard error, and the properties of the terminal.
enum Terminal {
    /// Whether standard error is a terminal, so that progress can be shown.
    static let isInteractive = isatty(STDERR_FILENO) == 1

    /// Whether standard output is a terminal.
    static let showsOutput = isatty(STDOUT_FILENO) == 1

    /// The width of the terminal in characters; 80 if unknown.
    static var width: Int {
        var size = winsize()
        return ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 20 ? Int(size.ws_col) : 80
    }

    /// The height of the terminal on standard output in lines; 24 if unknown.
    static var height: Int {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 4 ? Int(size.ws_row) : 24
    }

    /// The first failure of writing to standard output.
    private static let outputFailure = Locked<Int32?>(nil)

    /// Why a part of the output of ``print(_:terminator:)`` is missing; nil if nothing is.
    static var failureOfOutput: OutputFile.Failure? {
        outputFailure.withLock(\.self).map { OutputFile.Failure(writing: "standard output", $0) }
    }

    /// Prints a line on standard output, at once: it keeps its place among the messages on standard error.
    static func print(_ line: ShownText, terminator: ShownText = "\n") {
        write("\(line)\(terminator)", to: STDOUT_FILENO)
    }

    /// Writes a line to standard error.
    static func say(_ line: ShownText) {
        write("\(line)\n", to: STDERR_FILENO)
    }

    private static let warnings = Locked<Set<String>>([])

    /// Writes a warning to standard error, once.
    static func warn(_ text: ShownText) {
        if warnings.withLock({ $0.insert(text.text).inserted }) { say("netkit: warning: \(text)") }
    }

    /// Writes a text to a descriptor. The first failure on standard output is kept; one on standard error cannot be reported.
    static func write(_ text: ShownText, to descriptor: Int32) {
        let failure = SystemCall.writing(all: Array(text.text.utf8).span.bytes) { rest, _ in
            Glibc.write(descriptor, rest.baseAddress, rest.count)
        }
        if let failure, descriptor == STDOUT_FILENO { outputFailure.withLock { $0 = $0 ?? failure } }
    }

    /// Escapes text from a peer for messages that ArgumentParser or a package prints.
    static func shown(_ text: String) -> String { ShownText.escaped(text) }

    /// An error of a password store as a sentence.
    static func sentence(_ error: HTTPAuthError) -> String {
        let text = error.description
        return text.prefix(1).uppercased() + text.dropFirst() + "."
    }

    /// A URL as typed, without its password, because output is often logged. The text need not be a valid URL.
    static func shownURL(_ text: String) -> String {
        if let parts = URLComponents(string: text), parts.password == nil, parts.host != nil { return shown(text) }
        // By scalars: an `@` beside a combining mark is part of another `Character`, and the password would be shown.
        let scalars = text.unicodeScalars
        let start = scalars.firstRange(of: "//".unicodeScalars)?.upperBound ?? text.startIndex
        guard let end = scalars[start...].lastIndex(of: "@"), let colon = scalars[start..<end].firstIndex(of: ":")
        else { return shown(text) }
        return shown("\(text[..<colon]):…\(text[end...])")
    }

    /// The value of a response field as it may be shown.
    ///
    /// The `rspauth` of an `Authentication-Info` is replaced: it is derived from the password, so that passwords could be
    /// guessed from it.
    ///
    /// - Parameter hidesCookies: whether the value of `Set-Cookie` is replaced as well.
    static func shownField(_ name: String, _ value: String, hidesCookies: Bool = false) -> String {
        if hidesCookies, name.lowercased() == "set-cookie" { return "…" }
        guard name.lowercased().hasSuffix("authentication-info") else { return value }
        return value.replacing(/(rspauth *= *)("[^"]*"|[^ ,]*)/.ignoresCase().matchingSemantics(.unicodeScalar)) {
            "\($0.1)\"…\""
        }
    }
}

/// The output of `--json`: one object per line, with sorted keys.
///
/// The object of a failed verb has `error`: an object with `sentence`, and for a network error `domain` and `code`.
enum JSONOutput {
    /// The members of a JSON object.
    typealias Facts = [String: any Sendable]

    /// A JSON object or array as one line.
    static func line(_ value: Any) -> ShownText {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? JSONSerialization.data(withJSONObject: value, options: options)) ?? Data("{}".utf8)
        return ShownText(json: String(decoding: data, as: UTF8.self))
    }

    /// Prints a JSON value as a line on standard output, without buffering.
    static func show(_ value: Any) {
        Terminal.write("\(line(value))\n", to: STDOUT_FILENO)
    }

    /// The object that describes an error.
    static func error(_ error: any Error) -> Facts {
        if let error = error as? ResolverError {
            let domain = StreamErrorDomain(rawValue: error.domain.rawValue)
            return ["sentence": "\(error)", "domain": domain.description, "code": error.number]
        }
        guard let error = error as? StreamError else { return ["sentence": "\(error)"] }
        return ["sentence": error.description, "domain": error.domain.description, "code": error.code]
    }

    /// A URL without user and password, because output is often logged.
    static func url(_ text: String) -> String {
        guard var parts = URLComponents(string: text), parts.host != nil else {
            // `user:password@host` is no URL with a user, and may be meant as one.
            return text.utf8.contains(UInt8(ascii: "@")) ? Terminal.shownURL(text) : text
        }
        if parts.user == nil, parts.password == nil { return text }
        (parts.user, parts.password) = (nil, nil)
        return parts.string ?? ""
    }

    /// The steps of a connection, with their times in seconds.
    static func steps(_ report: ConnectionReport) -> [Facts] {
        report.steps.map { step in
            var facts: Facts = [
                "step": step.kind.description, "start": step.start / .seconds(1), "outcome": step.outcome.description,
            ]
            facts["seconds"] = step.time.map { $0 / .seconds(1) }
            if case .stream(let stream, let connection, let others) = step.kind {
                facts["stream"] = stream
                facts["connection"] = connection
                facts["others"] = others
            }
            return facts
        }
    }
}
