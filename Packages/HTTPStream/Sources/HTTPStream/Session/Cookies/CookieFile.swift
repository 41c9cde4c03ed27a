internal import HTTPAuth
internal import HTTPMessage

/// Cookie files in Netscape's format: a line per cookie with seven parts between tabs.
///
/// The parts are the domain, whether its subdomains are included, the path, whether the cookie is secure, the expiry in seconds
/// since 1970 (0 for the end of the session), the name and the value. As in curl's files, `#HttpOnly_` in front of the domain is
/// not a comment.
enum CookieFile {
    private static let mark = Array("#HttpOnly_".utf8)

    /// The cookies of a file, and the lines that are neither empty nor a comment nor a cookie.
    static func cookies(in file: [UInt8]) -> (cookies: [HTTPCookie], skipped: [SkippedLine]) {
        var cookies: [HTTPCookie] = []
        var skipped: [SkippedLine] = []
        // Editors of other systems begin a file with a byte order mark.
        let text = file.starts(with: [0xef, 0xbb, 0xbf]) ? file[3...] : file[...]
        for (index, line) in text.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
            let line = line.last == 0x0d ? line.dropLast() : line
            if line.allSatisfy(isBlank) { continue }
            // A tab in front of a cookie would be an empty domain.
            let cookieLine = line.drop(while: isBlank)
            if cookieLine.first == UInt8(ascii: "#") && !cookieLine.starts(with: mark) { continue }
            do throws(LineError) {
                cookies.append(try cookie(cookieLine))
            } catch {
                skipped.append(SkippedLine(line: index + 1, reason: error.rawValue))
            }
        }
        return (cookies, skipped)
    }

    /// The reason why a line is not a cookie.
    private enum LineError: String, Error {
        case parts = "a cookie has seven parts between tabs"
        case expiry = "the fifth part must be a time in seconds"
        case text = "the domain, path, name or value cannot be sent"
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func cookie(_ line: ArraySlice<UInt8>) throws(LineError) -> HTTPCookie {
        let isHTTPOnly = line.starts(with: mark)
        let line = line.dropFirst(isHTTPOnly ? mark.count : 0)
        var parts = line.split(separator: 0x09, maxSplits: 6, omittingEmptySubsequences: false)
        // Editors and web pages turn tabs into blanks, some of them or all.
        if parts.count < 6 { parts = line.split(whereSeparator: isBlank) }
        // An empty value may lack its tab.
        if parts.count == 6 { parts.append([]) }
        guard parts.count == 7 else { throw .parts }
        // A name and a value may have blanks in them, the other parts have none around them.
        for index in 0..<5 { parts[index] = SetCookie.trimmed(parts[index]) }
        let (includesSubdomains, isSecure) = (isTrue(parts[1]), isTrue(parts[3]))
        guard let seconds = seconds(parts[4]) else { throw .expiry }
        let domain = parts[0].first == UInt8(ascii: ".") ? parts[0].dropFirst() : parts[0]
        let path = parts[2].isEmpty ? "/" : String(decoding: parts[2], as: UTF8.self)
        let cookie = HTTPCookie(
            rawName: Array(parts[5]), rawValue: Array(SetCookie.trimmed(parts[6])),
            domain: String(decoding: domain, as: UTF8.self).lowercased(), isHostOnly: !includesSubdomains,
            path: path,
            expiry: seconds == 0 ? nil : HTTPDate(secondsSinceEpoch: seconds), isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: nil)
        guard cookie.isValid else { throw .text }
        return cookie
    }

    /// A time in seconds since 1970, cut off after the first digits: exporters of browsers write fractions. 0, as no time at all, for the
    /// end of the session. A negative time has passed. A time with an exponent is read with it. Nil for a date such as `2099-01-31`, whose
    /// year is no time in seconds.
    private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let number = text.dropFirst(isNegative ? 1 : 0)
        if number.isEmpty, !isNegative { return 0 }
        let digits = number.prefix(while: isDigit)
        guard !digits.isEmpty else { return nil }
        let rest = number.dropFirst(digits.count).drop { isDigit($0) || $0 == UInt8(ascii: ".") }
        if let letter = rest.first, letter | 0x20 == UInt8(ascii: "e") { return exponential(text) }
        if let next = rest.first, "-/:".utf8.contains(next) { return nil }
        let whole = Int64(String(decoding: digits, as: UTF8.self)) ?? .max
        return isNegative ? min(-whole, -1) : whole
    }

    /// A time with an exponent, such as `1.9e+09`.
    private static func exponential(_ text: ArraySlice<UInt8>) -> Int64? {
        guard let number = Double(String(decoding: text, as: UTF8.self)), number.isFinite else { return nil }
        if number < 0 { return -1 }
        return Int64(exactly: min(number, 1e15).rounded(.down))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Whether a part is TRUE, in any case; anything else means FALSE.
    private static func isTrue(_ text: ArraySlice<UInt8>) -> Bool {
        String(decoding: text, as: UTF8.self).uppercased() == "TRUE"
    }

    static func contents(_ cookies: [HTTPCookie]) -> [UInt8] {
        var file = Array("# Netscape HTTP Cookie File\n\n".utf8)
        for cookie in cookies
        where cookie.isValid && !cookie.rawName.contains(0x09) && !cookie.path.utf8.contains(0x09) {
            if cookie.isHTTPOnly { file += mark }
            let seconds = cookie.expiry.map { max($0.secondsSinceEpoch, 1) } ?? 0
            let parts = [
                (cookie.isHostOnly ? "" : ".") + cookie.domain, cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path,
                cookie.isSecure ? "TRUE" : "FALSE", "\(seconds)",
            ]
            for part in parts { file += Array(part.utf8) + [0x09] }
            file += cookie.rawName + [0x09] + cookie.rawValue + [0x0a]
        }
        return file
    }
}
