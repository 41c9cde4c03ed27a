internal import CFNetworkC
internal import CoreFoundation
internal import HTTPMessage

/// The arguments of a request that are valid for certain, so that the message can be built when it is needed.
///
/// A program creates many requests only to make streams of them, or to release them again. Nil for arguments that need the whole
/// examination: other methods, and URLs with user names, IPv6 addresses, escapes or characters outside ASCII.
struct RequestDraft {
    let method: HTTPMethod
    let version: HTTPVersion

    init?(method: CFString, url: CFURL, version: CFString) {
        guard let method = withASCII(method, Self.method) ?? nil, let version = withASCII(version, Self.version) ?? nil,
            CFURLGetBaseURL(url) == nil, withASCII(CFURLGetString(url), Self.isSimpleURL) == true
        else { return nil }
        self.method = method
        self.version = version
    }

    private static func method(_ name: UnsafeBufferPointer<UInt8>) -> HTTPMethod? {
        if name.elementsEqual("GET".utf8) { return .get }
        if name.elementsEqual("POST".utf8) { return .post }
        if name.elementsEqual("PUT".utf8) { return .put }
        return name.elementsEqual("HEAD".utf8) ? .head : nil
    }

    private static func version(_ name: UnsafeBufferPointer<UInt8>) -> HTTPVersion? {
        if name.elementsEqual("HTTP/1.1".utf8) { return .http11 }
        return name.elementsEqual("HTTP/1.0".utf8) ? .http10 : nil
    }

    /// Whether the bytes are an http URL of unreserved characters, at most with a port, a path and a query.
    static func isSimpleURL(_ url: UnsafeBufferPointer<UInt8>) -> Bool {
        guard url.starts(with: "http".utf8) else { return false }
        var rest = Slice(base: url, bounds: 4..<url.count)
        if rest.first == UInt8(ascii: "s") { rest = rest.dropFirst() }
        guard rest.starts(with: "://".utf8) else { return false }
        rest = rest.dropFirst(3)
        let host = rest.prefix { isUnreserved($0) && $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "~") }
        guard !host.isEmpty else { return false }
        rest = rest.dropFirst(host.count)
        if rest.first == UInt8(ascii: ":") {
            let port = rest.dropFirst().prefix { $0 &- UInt8(ascii: "0") < 10 }
            // A fifth digit may exceed the largest port.
            guard (1...4).contains(port.count), port.first != UInt8(ascii: "0") else { return false }
            rest = rest.dropFirst(1 + port.count)
        }
        guard let first = rest.first else { return true }
        guard first == UInt8(ascii: "/") else { return false }
        return rest.allSatisfy { byte in
            isUnreserved(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "=")
                || byte == UInt8(ascii: "&")
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
    }
}

/// Calls a function with the bytes of a short ASCII string. Nil for any other string.
private func withASCII<Result>(_ text: CFString, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result? {
    let ascii = CFStringEncoding(0x0600)
    let length = CFStringGetLength(text)
    if let start = CFStringGetCStringPtr(text, ascii) {
        return start.withMemoryRebound(to: UInt8.self, capacity: length) {
            body(UnsafeBufferPointer(start: $0, count: length))
        }
    }
    guard length <= 512 else { return nil }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { buffer in
        let range = CFRange(location: 0, length: length)
        let converted = CFStringGetBytes(text, range, ascii, 0, false, buffer.baseAddress, length, nil)
        return converted == length ? body(UnsafeBufferPointer(buffer)) : nil
    }
}
