import Foundation
import Glibc
import NetKit

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
