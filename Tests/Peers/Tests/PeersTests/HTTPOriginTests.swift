import Peers
import Testing

@Suite struct HTTPOriginTests {
    @Test func recordsAndAnswers() async throws {
        let origin = try HTTPOrigin { request in
            switch request.target {
            case "/old": .init(301, fields: [.init("Location", "/new")])
            case "/none": .init(204)
            case "/last": .init(fields: [.init("Connection", "close")], body: "bye")
            default: .init(body: "hello")
            }
        }
        defer { origin.stop() }
        let answer = try await Command(
            "curl", "-sS", "-L", "-HX-Color: red", "-w|%{http_code}|", origin.url("/old"), origin.url("/none"),
            origin.url("/last"), origin.url("/new")
        ).run()
        #expect(answer.text == "hello|200||204|bye|200|hello|200|")
        #expect(origin.requests.map(\.target) == ["/old", "/new", "/none", "/last", "/new"])
        #expect(origin.requests.map(\.connection) == [0, 0, 0, 0, 1])
        #expect(origin.requests[0]["x-color"] == ["red"])
        #expect(origin.recordings[0].text.hasPrefix("GET /old HTTP/1.1\r\nHost: 127.0.0.1:"))
    }

    @Test(arguments: [[], ["-HTransfer-Encoding: chunked"], ["-HExpect: 100-continue"]])
    func readsBodies(options: [String]) async throws {
        let origin = try HTTPOrigin { .init(body: "\($0.body.count)") }
        defer { origin.stop() }
        let body = String(repeating: "0123456789", count: 20_000)
        let command = Command(
            Program("curl"), ["-sS", "--data-binary", "@-", origin.url()] + options, input: Array(body.utf8))
        #expect(try await command.run().text == "200000")
        #expect(origin.requests[0].body == Array(body.utf8))
    }

    @Test func answersHEADWithoutABody() async throws {
        let origin = try HTTPOrigin { _ in .init(body: "hello") }
        defer { origin.stop() }
        let head = try await Command("curl", "-sS", "-I", origin.url()).run()
        #expect(head.text.contains("Content-Length: 5\r\n") && head.text.hasSuffix("\r\n\r\n"))
    }
}
