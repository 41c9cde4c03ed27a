import HTTPMessage
import Testing

/// The example of the README, verbatim.
@Test func readmeExample() throws {
    var output: [String] = []
    func print(_ items: Any...) { output.append(items.map { "\($0)" }.joined(separator: " ")) }

    var request = try HTTPRequest(method: .get, target: "/index.html")
    try request.fields.set("example.org", for: .host)
    let bytes = request.serialized()

    var parser = MessageParser(.response, leniency: .client)
    parser.expectResponse(to: .get)
    try parser.append(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8))
    while let event = try parser.next() {
        if case .response(let response) = event { print(response.status, response.fields[.contentLength] ?? "") }
        if case .body(let body) = event { print(String(decoding: body, as: UTF8.self)) }
    }

    #expect(output == ["200 5", "hello"])
    #expect(bytes == Array("GET /index.html HTTP/1.1\r\nHost: example.org\r\n\r\n".utf8))
}
