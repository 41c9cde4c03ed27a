internal import HTTPMessage

/// The value of a `Set-Cookie` field, parsed by the algorithm of the user agent (RFC 6265bis §5.6).
///
/// The algorithm accepts much more than a server may send, because servers send it: attributes in any case, empty ones, unknown
/// ones. It is strict about control characters and lengths.
struct SetCookie {
    /// The maximum number of bytes of an attribute's value; a longer attribute is ignored.
    static let maximumAttributeLength = 1024

    let name: [UInt8]
    let value: [UInt8]
    /// The attribute `Domain` in lower case, without a leading dot; empty if there is none.
    private(set) var domain = ""
    /// The attribute `Path`; nil for the default path.
    private(set) var path: String?
    /// The seconds of `Max-Age`, which has precedence over ``expires``.
    private(set) var maximumAge: Int64?
    /// `Expires` in seconds since 1970.
    private(set) var expires: Int64?
    private(set) var isSecure = false
    private(set) var isHTTPOnly = false
    private(set) var sameSite: HTTPCookie.SameSite?

    /// Parses the value of a field. Returns nil for one that sets no cookie.
    init?(_ field: [UInt8]) {
        if field.contains(where: SetCookie.isControl) { return nil }
        var parts = field.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
        let pair = parts.removeFirst()
        if let mark = pair.firstIndex(of: UInt8(ascii: "=")) {
            name = Array(SetCookie.trimmed(pair[..<mark]))
            value = Array(SetCookie.trimmed(pair[(mark + 1)...]))
        } else {
            name = []
            value = Array(SetCookie.trimmed(pair))
        }
        guard !(name.isEmpty && value.isEmpty), name.count + value.count <= HTTPCookie.maximumLength else { return nil }
        for part in parts {
            let mark = part.firstIndex(of: UInt8(ascii: "="))
            let value = mark.map { SetCookie.trimmed(part[($0 + 1)...]) } ?? []
            if value.count > SetCookie.maximumAttributeLength { continue }
            let key = SetCookie.trimmed(part[..<(mark ?? part.endIndex)])
            guard add(String(decoding: key, as: UTF8.self).lowercased(), value) else { return nil }
        }
    }

    /// The cookies of a response.
    static func all(in fields: HTTPFields) -> [SetCookie] {
        guard fields.contains(.setCookie) else { return [] }
        return fields.compactMap { $0.name == .setCookie ? SetCookie($0.rawValue) : nil }
    }

    /// Adds an attribute; the last one of a name has effect. Returns false if the cookie must be ignored.
    private mutating func add(_ name: String, _ value: ArraySlice<UInt8>) -> Bool {
        switch name {
        case "expires": expires = CookieDate.seconds(value) ?? expires
        case "max-age": maximumAge = SetCookie.seconds(value) ?? maximumAge
        case "domain":
            guard value.allSatisfy({ $0 < 0x80 }) else { return false }
            let name = value.first == UInt8(ascii: ".") ? value.dropFirst() : value
            domain = String(decoding: name, as: UTF8.self).lowercased()
        case "path":
            path = value.first == UInt8(ascii: "/") ? String(decoding: value, as: UTF8.self) : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite":
            switch String(decoding: value, as: UTF8.self).lowercased() {
            case "strict": sameSite = .strict
            case "lax": sameSite = .lax
            case "none": sameSite = HTTPCookie.SameSite.none
            default: sameSite = nil
            }
        default: break
        }
        return true
    }

    /// The seconds of `Max-Age`, clamped to the range of a 32-bit number; nil for anything but digits after an optional minus.
    private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard case 0x30...0x39 = digit else { return nil }
            number = min(number * 10 + Int64(digit - 0x30), Int64(Int32.max))
        }
        return isNegative ? -number : number
    }

    /// Whether a byte is a control character other than tab.
    static func isControl(_ byte: UInt8) -> Bool { (byte < 0x20 && byte != 0x09) || byte == 0x7f }

    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return [] }
        return bytes[first...last]
    }
}

/// The dates of cookies (RFC 6265bis §5.1.1): day, month, year and time in any order, in any of the forms that servers use.
enum CookieDate {
    /// Returns the seconds since 1970; nil for text that is no date.
    static func seconds(_ text: some Collection<UInt8>) -> Int64? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in text.split(whereSeparator: isDelimiter).map({ Array($0) }) {
            if time == nil, let found = self.time(token) {
                time = found
            } else if day == nil, let found = number(token, 1...2) {
                day = found
            } else if month == nil, let found = self.month(token) {
                month = found
            } else if year == nil, let found = number(token, 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if year < 70 { year += 2000 } else if year < 100 { year += 1900 }
        guard 1...31 ~= day, year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59 else { return nil }
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        // The weekday is not compared with the date. A day that the month does not have is refused.
        let date = "\(two(day)) \(months[month]) \(year) \(two(time.hour)):\(two(time.minute)):\(two(time.second)) GMT"
        return HTTPDate("Mon, \(date)")?.secondsSinceEpoch
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    /// A number of so many digits at the beginning of a token, followed by the end or a character that is not a digit.
    private static func number(_ token: some Collection<UInt8>, _ length: ClosedRange<Int>) -> Int? {
        let digits = token.prefix { 0x30...0x39 ~= $0 }
        guard length ~= digits.count else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func time(_ token: [UInt8]) -> (Int, Int, Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count <= 2, parts[1].count <= 2, let hour = number(parts[0], 1...2),
            let minute = number(parts[1], 1...2), let second = number(parts[2], 1...2),
            parts[0].allSatisfy({ 0x30...0x39 ~= $0 }), parts[1].allSatisfy({ 0x30...0x39 ~= $0 })
        else { return nil }
        return (hour, minute, second)
    }

    private static func month(_ token: [UInt8]) -> Int? {
        guard token.count >= 3 else { return nil }
        let start = String(decoding: token.prefix(3), as: UTF8.self).lowercased()
        return months.firstIndex { $0.lowercased() == start }
    }
}
