/// The part of a representation that a message contains, in bytes: the value of `Content-Range` (RFC 9110 §14.4).
///
/// ```swift
/// let part = ContentRange("bytes 400-499/1000")       // range 400..<500, length 1000
/// let none = ContentRange("bytes */1000")             // a 416: no range, length 1000
/// ```
public struct ContentRange: Hashable, Sendable {
    /// The positions of the bytes; nil for a 416, which contains none.
    public let range: Range<Int64>?
    /// The length of the whole representation; nil if it is unknown.
    public let length: Int64?

    /// Makes the range of a part; nil unless it is within the length.
    ///
    /// - Parameters:
    ///   - range: The positions, at least one.
    ///   - length: The length of the whole representation; nil if it is unknown.
    public init?(_ range: Range<Int64>, of length: Int64? = nil) {
        guard range.lowerBound >= 0, !range.isEmpty, range.upperBound <= length ?? .max else { return nil }
        self.init(range: range, length: length)
    }

    /// Parses the value of a field.
    ///
    /// Returns nil for another unit than bytes, and for positions that contradict each other or the length. The unit is compared without
    /// regard to case (§14.1). As some servers do, it may be missing or end in `=`, and the length may be missing.
    public init?(_ value: String) {
        var rest = value.utf8[...]
        let unit = rest.prefix { HTTPGrammar.isToken($0) && !HTTPGrammar.isDigit($0) && $0 != UInt8(ascii: "*") }
        if !unit.isEmpty {
            rest = rest[unit.endIndex...]
            guard HTTPGrammar.equalsIgnoringCase(Array(unit), "bytes"), let next = rest.first,
                HTTPGrammar.isSpaceOrTab(next) || next == UInt8(ascii: "=")
            else { return nil }
            rest = rest.dropFirst()
        }
        let parts = rest.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { HTTPGrammar.trimmed($0) }
        let isLengthUnknown = parts.count == 1 || parts[1].elementsEqual("*".utf8)
        let length = isLengthUnknown ? nil : ContentRange.number(parts[1])
        guard isLengthUnknown || length != nil else { return nil }
        if parts[0].elementsEqual("*".utf8) {
            guard let length else { return nil }
            self.init(range: nil, length: length)
            return
        }
        let bounds = parts[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard bounds.count == 2, let first = ContentRange.number(bounds[0]), let last = ContentRange.number(bounds[1]),
            first <= last, last < length ?? .max
        else { return nil }
        self.init(range: first..<last + 1, length: length)
    }

    private init(range: Range<Int64>?, length: Int64?) {
        self.range = range
        self.length = length
    }

    private static func number(_ text: Substring.UTF8View) -> Int64? {
        let digits = HTTPGrammar.trimmed(text)
        return digits.allSatisfy(HTTPGrammar.isDigit) ? Int64(Substring(digits)) : nil
    }
}

extension ContentRange: CustomStringConvertible {
    /// The value of the field, such as `bytes 0-99/200`.
    public var description: String {
        let positions = range.map { "\($0.lowerBound)-\($0.upperBound - 1)" } ?? "*"
        return "bytes \(positions)/\(length.map { "\($0)" } ?? "*")"
    }
}

extension HTTPResponse {
    /// The value of `Content-Range`; nil if there is none or it is invalid.
    public var contentRange: ContentRange? { fields[.contentRange].flatMap { ContentRange($0) } }

    /// What a response to a request for the bytes from a position on means for those that the client has.
    public enum Continuation: Hashable, Sendable {
        /// The body is a part, which begins at the position or before it, and ends after it; the length is that of the whole
        /// representation, nil if it is unknown.
        case part(Range<Int64>, length: Int64?)
        /// The client has the whole representation.
        case complete
        /// A 206 or 416 that does not continue at the position, such as a part elsewhere, several parts (`multipart/byteranges`), or
        /// another length: the bytes have to be requested in another way.
        case unusable
        /// Another status. A 200 has the whole representation.
        case other
    }

    /// What this response to a request for the bytes from a position on (`Range: bytes=400-`) means.
    ///
    /// ```swift
    /// var response = try HTTPResponse(status: .partialContent)
    /// try response.fields.set("bytes 400-999/1000", for: .contentRange)
    /// let rest = response.continuation(from: 400)  // a part, 400..<1000, of 1000 bytes
    /// ```
    ///
    /// A 206 may begin before the position, since a server may have its own units, and may end before the representation does
    /// (RFC 9110 §15.3.7). A 416 whose `Content-Range` is `bytes */N`, with the position as its length, says that nothing is
    /// left (§15.5.17).
    ///
    /// - Parameter position: the first byte that was requested, above 0.
    public func continuation(from position: Int64) -> Continuation {
        let part = contentRange
        switch status {
        case .partialContent:
            guard let part, let range = part.range, range.lowerBound <= position, range.upperBound > position else {
                return .unusable
            }
            return .part(range, length: part.length)
        case .rangeNotSatisfiable:
            return part?.range == nil && part?.length == position ? .complete : .unusable
        default: return .other
        }
    }
}
