/// The priority of a response (RFC 9218 §4).
///
/// ```swift
/// HTTP2Priority("u=1, i")               // urgency 1, incremental
/// HTTP2Priority(urgency: 5).fieldValue  // "u=5"
/// ```
public struct HTTP2Priority: Hashable, Sendable, BitwiseCopyable {
    /// From 0, the most urgent, to 7. 3 by default.
    public var urgency: Int { Int(storedUrgency) }

    /// Whether the recipient can use the response in pieces, so that responses of the same urgency should share the connection.
    public let isIncremental: Bool

    private let storedUrgency: UInt8

    /// Creates a priority.
    ///
    /// - Precondition: the urgency is from 0 to 7.
    public init(urgency: Int = 3, isIncremental: Bool = false) {
        precondition((0...7).contains(urgency), "an urgency is from 0 to 7 (RFC 9218 §4.1)")
        storedUrgency = UInt8(urgency)
        self.isIncremental = isIncremental
    }

    /// Reads the value of a `Priority` field or of a PRIORITY_UPDATE frame.
    ///
    /// The value is a dictionary of RFC 9651. Unknown members and members of another type are ignored; if the value is not a
    /// dictionary, all of it is (RFC 9218 §5).
    public init(_ fieldValue: some Collection<UInt8>) {
        var parser = PriorityParser(Array(fieldValue))
        let found = parser.parse() ?? PriorityParser.Members()
        self.init(urgency: found.urgency ?? 3, isIncremental: found.isIncremental ?? false)
    }

    /// Reads the value of a `Priority` field.
    public init(_ fieldValue: String) {
        self.init(fieldValue.utf8)
    }

    /// The value of a `Priority` field; empty for the default priority.
    public var fieldValue: String {
        switch (urgency, isIncremental) {
        case (3, false): ""
        case (3, true): "i"
        case (_, false): "u=\(urgency)"
        case (_, true): "u=\(urgency), i"
        }
    }
}

/// Parses a dictionary of structured fields (RFC 9651 §4.2.2) and keeps the members `u` and `i`.
private struct PriorityParser {
    struct Members {
        var urgency: Int?
        var isIncremental: Bool?
    }

    /// The values that matter. All others are checked and forgotten.
    private enum Value {
        case integer(Int)
        case boolean(Bool)
        case other
    }

    private let text: [UInt8]
    private var position = 0

    init(_ text: [UInt8]) {
        self.text = text
    }

    /// Returns the members, or nil if the text is not a dictionary.
    mutating func parse() -> Members? {
        var members = Members()
        skip(" ")
        while position < text.count {
            guard let key = key() else { return nil }
            guard let value = takes("=") ? (takes("(") ? innerList() : item()) : .boolean(true), parameters() else {
                return nil
            }
            // The last member of a name counts (RFC 9651 §4.2). One of another type or range means the default (RFC 9218 §4).
            if key == "u" {
                if case .integer(let urgency) = value, (0...7).contains(urgency) {
                    members.urgency = urgency
                } else {
                    members.urgency = nil
                }
            } else if key == "i" {
                if case .boolean(let flag) = value { members.isIncremental = flag } else { members.isIncremental = nil }
            }
            skip(" \t")
            if position == text.count { return members }
            guard takes(",") else { return nil }
            skip(" \t")
            if position == text.count { return nil }
        }
        return members
    }

    private mutating func parameters() -> Bool {
        while takes(";") {
            skip(" ")
            guard key() != nil else { return false }
            if takes("="), item() == nil { return false }
        }
        return true
    }

    private mutating func innerList() -> Value? {
        while true {
            skip(" ")
            if takes(")") { return .other }
            guard item() != nil, parameters(), let next, next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else {
                return nil
            }
        }
    }

    private mutating func item() -> Value? {
        guard let next else { return nil }
        switch next {
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "%"):
            position += 1
            return takes("\"") ? displayString() : nil
        case UInt8(ascii: ":"):
            position += 1
            skip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
            return takes(":") ? .other : nil
        case UInt8(ascii: "?"):
            position += 1
            return takes("1") ? .boolean(true) : takes("0") ? .boolean(false) : nil
        case UInt8(ascii: "@"):
            position += 1
            if case .integer = number() { return .other }
            return nil
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
        case UInt8(ascii: "*"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
            skip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&'*+-.^_`|~:/")
            return .other
        default: return nil
        }
    }

    /// An integer of at most 15 digits, or a decimal of at most 12 digits and 3 after the point.
    private mutating func number() -> Value? {
        let isNegative = takes("-")
        let start = position
        skip("0123456789")
        let digits = text[start..<position]
        guard !digits.isEmpty, digits.count <= 15 else { return nil }
        guard takes(".") else {
            let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            return .integer(isNegative ? -number : number)
        }
        let point = position
        skip("0123456789")
        return digits.count <= 12 && (1...3).contains(position - point) ? .other : nil
    }

    private mutating func string() -> Value? {
        position += 1
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return .other
            case UInt8(ascii: "\\"):
                guard takes("\"") || takes("\\") else { return nil }
            case 0x20...0x7E: break
            default: return nil
            }
        }
        return nil
    }

    /// The rest of a display string: UTF-8, of which the bytes outside ASCII, the quote and the percent sign are written `%` and two digits.
    private mutating func displayString() -> Value? {
        var bytes: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: bytes, as: UTF8.self).map { _ in .other }
            case UInt8(ascii: "%"):
                guard let high = hexDigit(), let low = hexDigit() else { return nil }
                bytes.append(high << 4 | low)
            case 0x20...0x7E: bytes.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func hexDigit() -> UInt8? {
        guard let digit = next else { return nil }
        position += 1
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): return digit - UInt8(ascii: "a") + 10
        default: return nil
        }
    }

    private mutating func key() -> String? {
        let start = position
        guard let first = next, first == UInt8(ascii: "*") || first >= UInt8(ascii: "a") && first <= UInt8(ascii: "z")
        else {
            return nil
        }
        skip("abcdefghijklmnopqrstuvwxyz0123456789_-.*")
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    private var next: UInt8? { position < text.count ? text[position] : nil }

    private mutating func takes(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skip(_ characters: StaticString) {
        let characters = UnsafeBufferPointer(start: characters.utf8Start, count: characters.utf8CodeUnitCount)
        while let byte = next, characters.contains(byte) { position += 1 }
    }
}
