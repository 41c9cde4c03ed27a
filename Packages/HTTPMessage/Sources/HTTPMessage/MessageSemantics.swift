extension HTTPRequest {
    /// Whether the client keeps the connection open after this request, according to its fields (RFC 9112 §9.3).
    public var isPersistent: Bool { fields.isPersistent(in: version) }
}

extension HTTPResponse {
    /// Whether the server keeps the connection open after this response, according to its fields (RFC 9112 §9.3).
    ///
    /// The connection cannot persist if its close delimits the body: see ``BodyFraming/untilClose``.
    public var isPersistent: Bool { fields.isPersistent(in: version) }
}

extension HTTPFields {
    /// The options of the `Connection` field in lower case (RFC 9110 §7.6.1).
    public var connectionOptions: Set<String> {
        var options: Set<String> = []
        for value in values(for: .connection) {
            for element in value.utf8.split(separator: UInt8(ascii: ",")) {
                options.insert(HTTPGrammar.text(HTTPGrammar.trimmed(element)).lowercased())
            }
        }
        return options
    }

    /// Whether the connection persists after a message with these fields.
    ///
    /// `close` takes precedence over `keep-alive`. `Proxy-Connection: close` is obeyed if `Connection` has neither option,
    /// because closing is always safe. A message with ambiguous framing is the last one (RFC 9112 §6.1, §6.3).
    func isPersistent(in version: HTTPVersion) -> Bool {
        if storage.firstIndex(of: "transfer-encoding") != nil {
            if version < .http11 || storage.firstIndex(of: "content-length") != nil { return false }
        }
        let (closes, keeps) = storage.list("connection", contains: "close", "keep-alive")
        if closes { return false }
        if keeps { return true }
        if storage.list("proxy-connection", contains: "close", "keep-alive").0 { return false }
        return version >= .http11
    }
}

extension HeadStorage {
    /// Returns which of two elements a list-valued field contains, ignoring case. Creates no strings.
    func list(_ name: StaticString, contains first: StaticString, _ second: StaticString) -> (Bool, Bool) {
        var found = (false, false)
        var next = firstIndex(of: name)
        while let index = next {
            if layout.hasFolds {
                value(index).withUnsafeBufferPointer { Self.search(for: first, second, in: $0, &found) }
            } else {
                Self.search(for: first, second, in: slice(slots[index].value), &found)
            }
            next = firstIndex(of: name, from: index + 1)
        }
        return found
    }

    private static func search(
        for first: StaticString, _ second: StaticString, in list: UnsafeBufferPointer<UInt8>,
        _ found: inout (Bool, Bool)
    ) {
        var start = 0
        while start <= list.count {
            var end = start
            while end < list.count, list[end] != UInt8(ascii: ",") { end &+= 1 }
            let element = UnsafeBufferPointer(rebasing: HTTPGrammar.trimmed(list[start..<end]))
            if HTTPGrammar.equalsIgnoringCase(element, first) { found.0 = true }
            if HTTPGrammar.equalsIgnoringCase(element, second) { found.1 = true }
            start = end + 1
        }
    }
}

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
