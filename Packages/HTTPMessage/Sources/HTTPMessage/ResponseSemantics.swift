extension HTTPResponse {
    /// The target of a redirect: the first `Location` of a 301, 302, 303, 307 or 308 (RFC 9110 §10.2.2).
    ///
    /// This is a URL reference, to be resolved against the request's URL. Bytes that are invalid in a URL are percent-escaped,
    /// because some servers send raw UTF-8. Nil for other statuses and for an absent or empty `Location`.
    public var redirectLocation: String? {
        switch status.code {
        case 301, 302, 303, 307, 308: break
        default: return nil
        }
        guard let index = fields.firstIndex(of: .location) else { return nil }
        let bytes = fields[index].rawValue
        guard !bytes.isEmpty else { return nil }
        let digits = Array("0123456789ABCDEF".utf8)
        var escaped: [UInt8] = []
        for byte in bytes {
            if HTTPGrammar.isTargetByte(byte) {
                escaped.append(byte)
            } else {
                escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// Whether the rest of the same representation can be requested safely with `If-Range` (RFC 9110 §13.1.5).
    ///
    /// True if the response has a strong entity tag or a `Last-Modified` at least a minute before `Date` (§8.8.2.2). Always
    /// false for HTTP/1.0.
    public var hasStrongValidators: Bool {
        guard version >= .http11 else { return false }
        if let tag = fields[.entityTag], tag.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") { return true }
        guard let modified = fields[.lastModified].flatMap({ HTTPDate($0) }),
            let date = fields[.date].flatMap({ HTTPDate($0) })
        else { return false }
        return date.secondsSinceEpoch - modified.secondsSinceEpoch >= 60
    }
}
