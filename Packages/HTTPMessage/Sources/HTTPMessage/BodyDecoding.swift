public import FoundationEssentials

extension HTTPResponse {
    /// The body as text, in the charset of `Content-Type`; UTF-8 without one.
    ///
    /// UTF-8, US-ASCII, ISO 8859-1 and UTF-16 are supported. Nil for another charset, and for bytes that are invalid in the
    /// charset.
    ///
    /// ```swift
    /// let page = try await session.get(url)
    /// print(page.text ?? "no text")
    /// ```
    public var text: String? { HTTPCharset.text(body, fields[.contentType]) }

    /// Decodes the body as JSON (RFC 8259), regardless of `Content-Type`.
    ///
    /// ```swift
    /// let user = try response.decode(User.self)
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: The decoder.
    /// - Throws: `DecodingError`, also for an empty body.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(body))
    }
}

extension HTTPRequest {
    /// The body as text, in the charset of `Content-Type`; UTF-8 without one. See ``HTTPResponse/text``.
    public var text: String? { HTTPCharset.text(body, fields[.contentType]) }

    /// Decodes the body as JSON. See ``HTTPResponse/decode(_:with:)``.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: The decoder.
    /// - Throws: `DecodingError`, also for an empty body.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: Data(body))
    }

    /// Sets the body to a value in JSON, and `Content-Type` to `application/json`.
    ///
    /// ```swift
    /// var request = try HTTPRequest(method: .post, url: url)
    /// try request.setJSON(User(name: "joe"))
    /// ```
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder.
    /// - Throws: `EncodingError`; the request is then unchanged.
    public mutating func setJSON(_ value: some Encodable, with encoder: JSONEncoder = JSONEncoder()) throws {
        let bytes = try [UInt8](encoder.encode(value))
        try fields.set("application/json", for: .contentType)
        body = bytes
    }

    /// Sets the body to the fields of a form, and `Content-Type` to `application/x-www-form-urlencoded`.
    ///
    /// ```swift
    /// request.setForm([("user", "joe"), ("city", "São Paulo")])   // user=joe&city=S%C3%A3o+Paulo
    /// ```
    ///
    /// Names and values are encoded in UTF-8 as the URL standard of the WHATWG requires for forms.
    ///
    /// - Parameter form: The names and values, in order. A name may occur several times.
    public mutating func setForm(_ form: some Sequence<(String, String)>) {
        var bytes: [UInt8] = []
        for (name, value) in form {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            HTTPForm.append(name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            HTTPForm.append(value, to: &bytes)
        }
        fields.remove(.contentType)
        // The value is a constant, which is valid.
        try? fields.set("application/x-www-form-urlencoded", for: .contentType)
        body = bytes
    }
}

/// The encoding of form fields (`application/x-www-form-urlencoded`).
private enum HTTPForm {
    static func append(_ text: String, to bytes: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                bytes.append(byte)
            case UInt8(ascii: " "): bytes.append(UInt8(ascii: "+"))
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }
}

/// The charset of a body (RFC 9110 §8.3.2).
private enum HTTPCharset {
    /// Decodes text; nil for invalid bytes and unknown charsets.
    static func text(_ bytes: [UInt8], _ contentType: String?) -> String? {
        switch name(in: contentType) {
        case "us-ascii", "ascii":
            return bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
        case "utf-8", "utf8":
            // A byte order mark is not part of the text.
            return String(validating: bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes[3...] : bytes[...], as: UTF8.self)
        case "iso-8859-1", "latin1":
            return String(decoding: bytes.map(UInt16.init), as: UTF16.self)
        case "utf-16", "utf-16be": return utf16(bytes, isBigEndian: !bytes.starts(with: [0xff, 0xfe]))
        case "utf-16le": return utf16(bytes, isBigEndian: false)
        default: return nil
        }
    }

    private static func utf16(_ bytes: [UInt8], isBigEndian: Bool) -> String? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        var units: [UInt16] = stride(from: 0, to: bytes.count, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        if units.first == 0xfeff { units.removeFirst() }
        return String(validating: units, as: UTF16.self)
    }

    /// The parameter `charset` in lower case; `utf-8` without one.
    private static func name(in contentType: String?) -> String {
        for part in contentType?.utf8.split(separator: UInt8(ascii: ";")).dropFirst() ?? [] {
            let pair = part.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard pair.count == 2, HTTPGrammar.equalsIgnoringCase(HTTPGrammar.trimmed(pair[0]), "charset") else {
                continue
            }
            let value = HTTPGrammar.text(HTTPGrammar.trimmed(pair[1])).lowercased()
            return value.hasPrefix("\"") && value.hasSuffix("\"") && value.count >= 2
                ? String(value.dropFirst().dropLast()) : value
        }
        return "utf-8"
    }
}
