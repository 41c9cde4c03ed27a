extension HTTPRequest {
    /// Whether the client keeps the connection open after this request, according to its fields (RFC 9112 §9.3).
    public var isPersistent: Bool {
        FramingFields(fields.storage, version, .strict).isPersistent(in: fields.storage)
    }
}

extension HTTPResponse {
    /// Whether the server keeps the connection open after this response, according to its fields (RFC 9112 §9.3).
    ///
    /// The connection cannot persist if its close delimits the body: see ``BodyFraming/untilClose``.
    public var isPersistent: Bool {
        FramingFields(fields.storage, version, .strict).isPersistent(in: fields.storage)
    }
}

extension HTTPFields {
    /// The options of the `Connection` field in lower case (RFC 9110 §7.6.1).
    public var connectionOptions: Set<String> {
        Set(rawElements(of: .connection).map { HTTPGrammar.text($0.map(HTTPGrammar.lowercased)) })
    }

    /// The content codings of the body in the order in which they were applied, in lower case and without `identity` (RFC 9110 §8.4),
    /// for which some servers write `none`.
    public var contentCodings: [String] {
        rawElements(of: .contentEncoding).map { HTTPGrammar.text($0.map(HTTPGrammar.lowercased)) }
            .filter { $0 != "identity" && $0 != "none" }
    }

    /// The elements of all fields with a name whose value is a list of tokens, without surrounding whitespace (RFC 9110 §5.6.1).
    ///
    /// Empty elements are left out, as the RFC requires of recipients. Each comma separates: not for lists that contain quoted strings.
    ///
    /// ```swift
    /// // Vary: Accept-Encoding, , Origin
    /// response.fields.elements(of: .vary)        // ["Accept-Encoding", "Origin"]
    /// ```
    public func elements(of name: HTTPFieldName) -> [String] {
        rawElements(of: name).map(HTTPGrammar.text)
    }

    private func rawElements(of name: HTTPFieldName) -> [ArraySlice<UInt8>] {
        indices(of: name).flatMap { index in
            storage.value(index).split(separator: UInt8(ascii: ",")).map { HTTPGrammar.trimmed($0) }
        }
        .filter { !$0.isEmpty }
    }
}

extension HeadStorage {
    /// Returns which of two elements a list-valued field contains, ignoring case. Creates no strings.
    func list(_ name: StaticString, contains first: StaticString, _ second: StaticString) -> (Bool, Bool) {
        var found = (false, false)
        var next = firstIndex(of: name)
        while let index = next {
            search(index, for: first, second, &found)
            next = firstIndex(of: name, from: index + 1)
        }
        return found
    }

    /// Returns whether a list-valued field contains an element, ignoring case.
    func list(_ name: StaticString, contains element: StaticString) -> Bool {
        list(name, contains: element, element).1
    }

    /// Searches the list in field `index`.
    func search(
        _ index: Int, for first: StaticString, _ second: StaticString, _ found: inout (Bool, Bool)
    ) {
        if layout.hasFolds {
            value(index).withUnsafeBufferPointer { Self.search($0, for: first, second, &found) }
        } else {
            Self.search(slice(slots[index].value), for: first, second, &found)
        }
    }

    private static func search(
        _ list: UnsafeBufferPointer<UInt8>, for first: StaticString, _ second: StaticString,
        _ found: inout (Bool, Bool)
    ) {
        // Most lists have one element.
        if HTTPGrammar.equalsIgnoringCase(list, second) {
            found.1 = true
            return
        }
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
    public var redirectLocation: String? { redirectLocation { HTTPGrammar.isTargetByte($0[$1]) } }

    /// The ``redirectLocation`` for `URL`, which escapes a whole component, escapes included, if one character in it is invalid.
    ///
    /// Outside its host and port, all characters that are invalid in a URL (RFC 3986 §2) are percent-escaped, also a percent sign that begins no
    /// escape: many servers send brackets or braces beside escapes.
    @_spi(Packages) public var redirectReference: String? {
        var authority: Range<Int>?
        return redirectLocation { bytes, index in
            switch bytes[index] {
            case UInt8(ascii: "["), UInt8(ascii: "]"):
                authority = authority ?? HTTPResponse.authority(of: bytes)
                return authority?.contains(index) == true
            case UInt8(ascii: "%"):
                return bytes[(index + 1)...].prefix(2).count { Character(UnicodeScalar($0)).isHexDigit } == 2
            case let byte: return HTTPGrammar.isTargetByte(byte) && !HTTPResponse.invalidVisible.contains(byte)
            }
        }
    }

    /// The target, in which all bytes but those that are valid are percent-escaped.
    private func redirectLocation(_ isValid: (_ bytes: [UInt8], _ index: Int) -> Bool) -> String? {
        switch status.code {
        case 300, 301, 302, 303, 307, 308: break
        default: return nil
        }
        guard let index = fields.firstIndex(of: .location) else { return nil }
        let bytes = fields[index].rawValue
        guard !bytes.isEmpty else { return nil }
        let digits = Array("0123456789ABCDEF".utf8)
        var escaped: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if byte == HTTPGrammar.hash || isValid(bytes, index) {
                escaped.append(byte)
            } else {
                escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// The visible characters of ASCII that a URL cannot contain (RFC 3986 §2), apart from those with a meaning.
    private static let invalidVisible = Set(#""<>\^`{|}"#.utf8)

    /// The place of user, host and port in a URL reference; empty if it has none (RFC 3986 §4.2).
    private static func authority(of reference: [UInt8]) -> Range<Int> {
        let delimiters = Set("/?#".utf8)
        let head = reference.prefix { !delimiters.contains($0) }
        let hasScheme = head.last == UInt8(ascii: ":") && !head.contains(UInt8(ascii: "@"))
        guard head.isEmpty || hasScheme, reference[head.endIndex...].starts(with: "//".utf8) else { return 0..<0 }
        let start = head.endIndex + 2
        return start..<(reference[start...].firstIndex { delimiters.contains($0) } ?? reference.count)
    }

    /// Whether the rest of the same representation can be requested safely with `If-Range` (RFC 9110 §13.1.5).
    ///
    /// True if the response has a strong entity tag or a `Last-Modified` at least a minute before `Date` (§8.8.2.2). Always
    /// false for HTTP/1.0.
    public var hasStrongValidators: Bool {
        strongEntityTag != nil || strongLastModified != nil
    }

    /// The maximum length of an entity tag that is sent back, in bytes.
    private static let maximumEntityTagLength = 1024

    /// The entity tag, if it is strong (RFC 9110 §8.8.3): the value of `ETag` including its quotes.
    ///
    /// Nil for one that must not be sent back with `If-Range` or `If-Match`: one that is not of ASCII characters between two quotes, or is
    /// longer than 1,024 bytes.
    @_spi(Packages) public var strongEntityTag: String? {
        let quote = UInt8(ascii: "\"")
        guard version >= .http11, let tag = fields[.entityTag], 2...Self.maximumEntityTagLength ~= tag.utf8.count,
            tag.utf8.first == quote, tag.utf8.last == quote,
            tag.utf8.dropFirst().dropLast().allSatisfy({ 0x21...0x7e ~= $0 && $0 != quote })
        else { return nil }
        return tag
    }

    /// `Last-Modified`, if it is a strong validator (RFC 9110 §8.8.2.2): at least a minute before `Date`.
    @_spi(Packages) public var strongLastModified: HTTPDate? {
        guard version >= .http11, let modified = fields[.lastModified].flatMap({ HTTPDate($0) }),
            let date = fields[.date].flatMap({ HTTPDate($0) }),
            date.secondsSinceEpoch - modified.secondsSinceEpoch >= 60
        else { return nil }
        return modified
    }
}
