/// The ranges of a request (RFC 9110 §14), and the body of a response with several. Pure.
enum ByteRanges: Hashable {
    /// The field has no effect: the whole representation is sent.
    case whole
    /// One or more ranges, none empty, in the order of the request.
    case parts([Range<Int64>])
    /// None of the ranges has a byte: 416.
    case unsatisfiable

    /// The maximum number of ranges in one request. More of them, or ranges that overlap, have no effect (RFC 9110 §14.2 allows
    /// this against attacks).
    static let maximumParts = 16

    /// Parses the value of `Range` for a representation of this length.
    ///
    /// Another unit and a malformed value have no effect, as the RFC requires. Several ranges are sent as
    /// `multipart/byteranges`, unless that would be more bytes than the representation.
    static func parse(_ value: String?, length: Int64) -> ByteRanges {
        guard let value, let equals = value.utf8.firstIndex(of: UInt8(ascii: "=")),
            value[..<equals].lowercased() == "bytes"
        else { return .whole }
        var parts: [Range<Int64>] = []
        var count = 0
        for element in value.utf8[equals...].dropFirst().split(separator: UInt8(ascii: ",")) {
            let text = element.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            if text.isEmpty { continue }
            count += 1
            let bounds = text.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
            guard bounds.count == 2, count <= maximumParts else { return .whole }
            switch (number(bounds[0]), number(bounds[1])) {
            case (let first?, let last?):
                guard first <= last else { return .whole }
                if first < length { parts.append(first..<min(last, length - 1) + 1) }
            case (let first?, nil) where bounds[1].isEmpty:
                if first < length { parts.append(first..<length) }
            case (nil, let suffix?) where bounds[0].isEmpty:
                if suffix > 0, length > 0 { parts.append(max(0, length - suffix)..<length) }
            default: return .whole
            }
        }
        if count == 0 { return .whole }
        if parts.isEmpty { return .unsatisfiable }
        let sorted = parts.sorted { $0.lowerBound < $1.lowerBound }
        guard zip(sorted, sorted.dropFirst()).allSatisfy({ $0.upperBound <= $1.lowerBound }) else { return .whole }
        return .parts(parts)
    }

    /// A number of digits; one that is too large is the largest.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self)) ?? .max - 1
    }

    /// The value of `Content-Range` for a part.
    static func field(_ part: Range<Int64>, of length: Int64) -> String {
        "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)"
    }
}

/// A body of type `multipart/byteranges` (RFC 9110 §14.6).
struct MultipartRanges {
    /// The text before each part, and the part.
    let parts: [(head: [UInt8], range: Range<Int64>)]
    let end: [UInt8]
    let contentType: String

    init(_ ranges: [Range<Int64>], type: String, length: Int64, boundary: String) {
        parts = ranges.enumerated().map { index, range in
            let head =
                "\(index == 0 ? "" : "\r\n")--\(boundary)\r\nContent-Type: \(type)\r\n"
                + "Content-Range: \(ByteRanges.field(range, of: length))\r\n\r\n"
            return (Array(head.utf8), range)
        }
        end = Array("\r\n--\(boundary)--\r\n".utf8)
        contentType = "multipart/byteranges; boundary=\(boundary)"
    }

    /// The length of the body.
    var byteCount: Int64 { parts.reduce(Int64(end.count)) { $0 + Int64($1.head.count + $1.range.count) } }
}
