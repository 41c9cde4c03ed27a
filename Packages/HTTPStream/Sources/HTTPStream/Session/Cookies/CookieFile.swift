internal import HTTPMessage
internal import StreamKit

/// Cookie files in Netscape's format: a line per cookie with seven parts between tabs.
///
/// The parts are the domain, whether its subdomains are included, the path, whether the cookie is secure, the expiry in seconds
/// since 1970 (0 for the end of the session), the name and the value. As in curl's files, `#HttpOnly_` in front of the domain is
/// not a comment.
enum CookieFile {
    private static let mark = Array("#HttpOnly_".utf8)

    /// - Throws: `EINVAL` for a line that is neither empty nor a comment nor a cookie.
    static func cookies(in file: [UInt8]) throws(StreamError) -> [HTTPCookie] {
        var cookies: [HTTPCookie] = []
        var number = 0
        for line in file.split(separator: 0x0a, omittingEmptySubsequences: false) {
            number += 1
            let line = line.last == 0x0d ? line.dropLast() : line
            if line.isEmpty || (line.first == UInt8(ascii: "#") && !line.starts(with: mark)) { continue }
            guard let cookie = cookie(line) else { throw .invalidCookieLine(number) }
            cookies.append(cookie)
        }
        return cookies
    }

    private static func cookie(_ line: ArraySlice<UInt8>) -> HTTPCookie? {
        let isHTTPOnly = line.starts(with: mark)
        var parts = line.dropFirst(isHTTPOnly ? mark.count : 0)
            .split(separator: 0x09, maxSplits: 6, omittingEmptySubsequences: false)
        // An empty value may lack its tab.
        if parts.count == 6 { parts.append([]) }
        guard parts.count == 7, let includesSubdomains = truth(parts[1]), let isSecure = truth(parts[3]),
            let seconds = Int64(String(decoding: parts[4], as: UTF8.self)), seconds >= 0
        else { return nil }
        let domain = parts[0].first == UInt8(ascii: ".") ? parts[0].dropFirst() : parts[0]
        let cookie = HTTPCookie(
            rawName: Array(parts[5]), rawValue: Array(parts[6]),
            domain: String(decoding: domain, as: UTF8.self).lowercased(), isHostOnly: !includesSubdomains,
            path: String(decoding: parts[2], as: UTF8.self),
            expiry: seconds == 0 ? nil : HTTPDate(secondsSinceEpoch: seconds), isSecure: isSecure,
            isHTTPOnly: isHTTPOnly, sameSite: nil)
        return cookie.isValid ? cookie : nil
    }

    private static func truth(_ text: ArraySlice<UInt8>) -> Bool? {
        switch String(decoding: text, as: UTF8.self).uppercased() {
        case "TRUE": true
        case "FALSE": false
        default: nil
        }
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
