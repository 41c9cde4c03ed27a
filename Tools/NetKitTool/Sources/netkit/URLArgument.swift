import ArgumentParser
import Foundation
@_spi(Packages) import NetKit

/// Messages about a wrong URL on the command line. A password in it is not repeated.
enum URLArgument {
    /// The text is not a URL.
    struct Invalid: Error, CustomStringConvertible {
        let description: String

        init(_ text: String) {
            let guess = "http://\(text)"
            let isHost =
                !text.utf8.contains(UInt8(ascii: "@")) && !text.contains("//")
                && URL(string: guess)?.host()?.isEmpty == false
            let isJSON = text.utf8.first == UInt8(ascii: "{") || text.utf8.first == UInt8(ascii: "[")
            let advice = isHost ? " Did you mean \(guess)?" : isJSON ? " Use --json-body to send JSON." : ""
            description = "'\(Terminal.shownURL(text))' is not a URL.\(advice)"
        }

        /// - Parameter reason: the fault and its remedy, without a period.
        init(_ text: String, _ reason: String) {
            description = "'\(Terminal.shownURL(text))' is not a URL: \(reason)."
        }
    }

    /// The URL of a text as browsers and curl read it: without `.` and `..` in its path, and with the older forms of IPv4 addresses,
    /// such as `127.1`, as dotted quads. Nil if the text is not a URL. FTP paths stay as they are.
    static func url(_ text: String) -> URL? {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        else { return URL(string: text) }
        let path = withoutDots(parts.percentEncodedPath)
        let address = parts.host.flatMap(OlderIPv4Address.dottedQuad)
        if path == parts.percentEncodedPath, address == nil { return url }
        parts.percentEncodedPath = path
        if let address { parts.host = address }
        return parts.url
    }

    /// A path without the segments `.` and `..` (RFC 3986 §5.2.4), also if their dots are escaped.
    static func withoutDots(_ path: String) -> String {
        guard path.hasPrefix("/") else { return path }
        var kept: [Substring] = []
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment.lowercased().replacing("%2e", with: ".") {
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            case ".":
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }

    /// The last name in a URL, for the file of `-O`; an escape in it cannot lead to another folder.
    static func fileName(of text: String) throws -> String {
        let path = URL(string: text)?.path(percentEncoded: true) ?? ""
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last?.removingPercentEncoding ?? ""
        if name.isEmpty { throw ValidationError("'\(Terminal.shownURL(text))' has no file name; use -o FILE.") }
        if let refusal = LocalFileName.refusal(of: name.utf8) {
            throw ValidationError("'\(Terminal.shownURL(text))' has no safe file name: \(refusal); use -o FILE.")
        }
        return name
    }

    /// Throws if a percent sign begins no escape (RFC 3986 §2.1), or if only a part of the URL is escaped. Foundation would
    /// silently turn each percent sign into `%25`.
    static func checkEscapes(_ text: String) throws {
        // The zone of an IPv6 address has a percent sign of its own.
        let rest = text.replacing(/\/\/[^\/]*\]/, with: "//h")
        guard rest.utf8.contains(UInt8(ascii: "%")) else { return }
        let bytes = Array(rest.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "%") {
            let digits = bytes[(index + 1)...].prefix(2)
            if digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) { continue }
            let escape = Terminal.shown(String(decoding: [UInt8(ascii: "%")] + digits, as: UTF8.self))
            throw Invalid(text, "\(escape) is not an escape; write a percent sign as %25")
        }
        if URL(string: rest, encodingInvalidCharacters: false) == nil {
            throw Invalid(text, "only a part of it is escaped; write a space as %20")
        }
    }

    /// The URL has another scheme than those that the verb supports; `HOST:PORT` is read as scheme and path.
    static func unsupported(_ text: String, _ scheme: String, use schemes: String) -> StreamError {
        let rest = text.dropFirst(scheme.count + 1)
        let isPort = !text.utf8.contains(UInt8(ascii: "@")) && (0x30...0x39).contains(rest.utf8.first ?? 0)
        let advice = isPort ? "Did you mean http://\(Terminal.shown(text))?" : "Use \(schemes)."
        return StreamError(
            domain: .http, code: HTTPErrorNumber.badURL.rawValue,
            sentence: Sentence("tool.scheme", "Unsupported scheme \"%1\". %2", scheme, advice))
    }
}
