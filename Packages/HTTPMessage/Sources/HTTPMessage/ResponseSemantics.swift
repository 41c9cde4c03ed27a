extension HTTPResponse {
    /// Where a redirect leads: the first `Location` of a 301, 302, 303, 307 or 308, a reference to be resolved against
    /// the request's URL (RFC 9110 §10.2.2). Nil for other statuses and without `Location`.
    ///
    /// Bytes that no URL may hold are percent-escaped, since servers send raw UTF-8.
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

    /// Whether a later part of the same representation can be asked for safely, with `If-Range` (RFC 9110 §13.1.5):
    /// there is a strong entity tag, or a `Last-Modified` at least a minute before `Date` (§8.8.2.2). Never in HTTP/1.0.
    public var hasStrongValidators: Bool {
        guard version >= .http11 else { return false }
        if let tag = fields[.entityTag], tag.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") { return true }
        guard let modified = fields[.lastModified].flatMap({ HTTPDate($0) }),
            let date = fields[.date].flatMap({ HTTPDate($0) })
        else { return false }
        return date.secondsSinceEpoch - modified.secondsSinceEpoch >= 60
    }
}
