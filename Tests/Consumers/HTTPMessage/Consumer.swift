import HTTPMessage

/// Parses a chunked response that arrives byte by byte, and checks that a field value that would split a message is rejected.
@main struct Consumer {
    static func main() throws {
        let wire = "HTTP/1.1 200 OK\r\nsErVeR: tiny\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        var parser = MessageParser(.response)
        parser.expectResponse(to: .get)
        var seen: [String] = []
        for byte in wire.utf8 {
            try parser.append([byte])
            while let event = try parser.next() {
                switch event {
                case .response(let response): seen += [response.statusLine] + response.fields.map { "\($0.name)" }
                case .body(let bytes): seen.append(String(decoding: bytes, as: UTF8.self))
                case .end: seen.append("end")
                case .request, .informational: seen.append("unexpected")
                }
            }
        }
        var response = try HTTPResponse(status: .notFound)
        do {
            try response.fields.set("a\r\nInjected: b", for: .server)
        } catch {
            seen.append("refused")
        }
        print(seen.joined(separator: " "))
    }
}
