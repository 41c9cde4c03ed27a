extension HTTPRequest {
    /// Whether the connection stays open for another request after this one, as far as the client says
    /// (RFC 9112 §9.3).
    public var isPersistent: Bool { fields.keepConnection(version) }
}

extension HTTPResponse {
    /// Whether the connection stays open for another response after this one, as far as the server says
    /// (RFC 9112 §9.3). A body that ends with the connection ends it all the same.
    public var isPersistent: Bool { fields.keepConnection(version) }
}

extension HTTPFields {
    /// Options of `Connection`, in lower case (RFC 9110 §7.6.1).
    public var connectionOptions: Set<String> {
        var options: Set<String> = []
        for value in values(for: .connection) {
            for element in value.utf8.split(separator: UInt8(ascii: ",")) {
                options.insert(HTTPGrammar.text(HTTPGrammar.trimmed(element)).lowercased())
            }
        }
        return options
    }

    /// `close` wins over `keep-alive`. `Proxy-Connection` is believed where it says close and `Connection` says neither,
    /// since that errs on the safe side. A message whose framing was doubtful is the last (RFC 9112 §6.1, §6.3).
    func keepConnection(_ version: HTTPVersion) -> Bool {
        if storage.firstIndex(of: "transfer-encoding") != nil {
            if version < .http11 || storage.firstIndex(of: "content-length") != nil { return false }
        }
        if storage.list("connection", contains: "close") { return false }
        if storage.list("connection", contains: "keep-alive") { return true }
        if storage.list("proxy-connection", contains: "close") { return false }
        return version >= .http11
    }
}

extension HeadStorage {
    /// Whether a field whose value is a list has this element, whatever its letter case. Makes no strings.
    func list(_ name: StaticString, contains element: StaticString) -> Bool {
        var next = firstIndex(of: name)
        while let index = next {
            let bytes = layout.hasFolds ? nil : slice(slots[index].value)
            if let bytes {
                if Self.list(bytes, contains: element) { return true }
            } else if Self.list(value(index), contains: element) {
                return true
            }
            next = firstIndex(of: name, from: index + 1)
        }
        return false
    }

    private static func list(_ bytes: some RandomAccessCollection<UInt8>, contains element: StaticString) -> Bool {
        var start = bytes.startIndex
        while start <= bytes.endIndex {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: ",")) ?? bytes.endIndex
            if HTTPGrammar.equalsIgnoringCase(HTTPGrammar.trimmed(bytes[start..<end]), element) { return true }
            if end == bytes.endIndex { return false }
            start = bytes.index(after: end)
        }
        return false
    }
}
