import CFNetwork

/// Serializes a request, in source as on Apple's systems.
@main struct Consumer {
    static func main() {
        let url = URL(string: "http://example.org/a?b")! as CFURL
        let request = CFHTTPMessageCreateRequest(nil, "GET" as CFString, url, kCFHTTPVersion1_1).takeRetainedValue()
        CFHTTPMessageSetHeaderFieldValue(request, "Host" as CFString, "example.org" as CFString)
        guard let bytes = CFHTTPMessageCopySerializedMessage(request)?.takeRetainedValue() else { return }
        print(String(decoding: bytes as Data, as: UTF8.self).split(separator: "\r\n").joined(separator: "|"))
    }
}
