internal import HTTPStream

/// The choice of a content coding by the client's preferences (RFC 9110 §12.5.3). Pure.
enum ContentCoding: Hashable {
    case identity
    case gzip

    /// Returns the coding for a value of `Accept-Encoding`; nil is a request without the field, which gets no coding.
    ///
    /// gzip is used if it is acceptable and not less preferred than `identity`. A client that accepts neither gets `identity`,
    /// as the RFC allows. A list element with an invalid weight is ignored.
    static func preferred(_ acceptEncoding: String?) -> ContentCoding {
        guard let acceptEncoding else { return .identity }
        var weights: [String: Int] = [:]
        for element in acceptEncoding.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = element.split(separator: UInt8(ascii: ";"), maxSplits: 1, omittingEmptySubsequences: false)
            let name = trimmed(parts[0]).lowercased()
            guard !name.isEmpty, let weight = parts.count == 1 ? 1000 : weight(parts[1]) else { continue }
            weights[name == "x-gzip" ? "gzip" : name] = weight
        }
        guard let gzip = weights["gzip"] ?? weights["*"], gzip > 0 else { return .identity }
        return gzip >= weights["identity"] ?? 0 ? .gzip : .identity
    }

    /// Adds `Accept-Encoding` to `Vary`.
    static func vary(_ fields: inout HTTPFields) throws(HTTPMessageError) {
        let named = fields[.vary]?.utf8.split(separator: UInt8(ascii: ",")).map { trimmed($0).lowercased() } ?? []
        if named.contains("*") || named.contains("accept-encoding") { return }
        try fields.append("Accept-Encoding", for: .vary)
    }

    /// Parses `q=` and a weight of at most three decimals (RFC 9110 §12.4.2), in thousandths.
    private static func weight(_ text: Substring.UTF8View) -> Int? {
        let parts = text.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
        guard parts.count == 2, trimmed(parts[0]).lowercased() == "q" else { return nil }
        let digits = trimmed(parts[1]).utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { Substring($0) }
        guard digits.count <= 2, digits[0] == "0" || digits[0] == "1" else { return nil }
        let decimals = digits.count == 2 ? digits[1] : ""
        guard decimals.count <= 3, decimals.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let thousandths = Int("\(digits[0])\(decimals)\(String(repeating: "0", count: 3 - decimals.count))")
        else { return nil }
        return thousandths <= 1000 ? thousandths : nil
    }

    private static func trimmed(_ text: Substring.UTF8View) -> Substring {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return Substring(text[first...last])
    }
}
