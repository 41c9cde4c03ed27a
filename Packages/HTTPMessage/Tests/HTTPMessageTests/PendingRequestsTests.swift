import HTTPMessage
import Testing

@Suite struct PendingRequestsTests {
    /// A proxy: a parser and a writer for each direction, and the requests of each connection.
    private struct Relay {
        let ofClient = PendingRequests()
        let ofServer = PendingRequests()
        var requests: MessageParser
        var responses: MessageParser
        var toServer: MessageWriter
        var toClient: MessageWriter

        init() {
            requests = MessageParser(.request, pending: ofClient)
            toServer = MessageWriter(pending: ofServer)
            responses = MessageParser(.response, pending: ofServer)
            toClient = MessageWriter(pending: ofClient)
        }

        mutating func request(_ text: String) throws -> String { try Self.pass(text, &requests, &toServer) }
        mutating func response(_ text: String) throws -> String { try Self.pass(text, &responses, &toClient) }

        private static func pass(
            _ text: String, _ parser: inout MessageParser, _ writer: inout MessageWriter
        ) throws -> String {
            var output: [UInt8] = []
            for byte in text.utf8 {
                try parser.append(CollectionOfOne(byte))
                while let event = try parser.next() { try writer.write(event, into: &output) }
            }
            #expect(parser.isFinished == writer.isFinished)
            return String(decoding: output, as: UTF8.self)
        }
    }

    private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let page = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let bare = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"

    @Test("responses end as their requests require", arguments: [0, 1, 2])
    func order(_ interim: Int) throws {
        var relay = Relay()
        let early = String(repeating: "HTTP/1.1 103 Early\r\n\r\n", count: interim)
        // One after the other, and pipelined.
        for (requests, responses) in [
            (Self.head, early + Self.bare), (Self.get, Self.page),
            (Self.head + Self.get + Self.head + Self.get, Self.bare + Self.page + early + Self.bare + Self.page),
        ] {
            #expect(try relay.request(requests) == requests)
            #expect(try relay.response(responses) == responses)
            #expect(relay.ofClient.count == 0 && relay.ofServer.count == 0)
            #expect(relay.responses.isBetweenMessages && relay.toClient.framing == nil)
        }
    }

    @Test func aTunnelEndsBothDirections() throws {
        var relay = Relay()
        _ = try relay.request("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n")
        #expect(relay.ofServer.count == 1)
        let answer = "HTTP/1.1 200 OK\r\n\r\n"
        #expect(try relay.response(answer) == answer)
        #expect(relay.responses.isFinished && relay.toClient.isFinished && relay.ofServer.count == 0)
    }

    /// An unrequested response counts as one to `GET`, and methods recorded by calls come first.
    @Test func withoutARequest() throws {
        var relay = Relay()
        #expect(try relay.response(Self.page) == Self.page)
        relay.responses.expectResponse(to: .head)
        relay.toClient.expectResponse(to: .head)
        _ = try relay.request(Self.get)
        #expect(try relay.response(Self.bare + Self.page) == Self.bare + Self.page)
        #expect(relay.ofClient.count == 0 && relay.ofServer.count == 0)
    }

    @Test func requestsWithoutResponsesAreLimited() throws {
        let pending = PendingRequests(maximumCount: 2)
        var parser = MessageParser(.request, pending: pending)
        try parser.append(Array((Self.get + Self.get + Self.get).utf8))
        for _ in 0..<4 { _ = try parser.next() }
        let error = #expect(throws: HTTPMessageError.self) { try parser.next() }
        #expect(error?.code == .tooManyPendingRequests && error?.fault == .peer && pending.count == 2)

        var writer = MessageWriter(pending: pending)
        var output: [UInt8] = []
        let request = try HTTPRequest(method: .get, target: "/")
        let refused = #expect(throws: HTTPMessageError.self) { try writer.write(.request(request), into: &output) }
        #expect(refused?.code == .tooManyPendingRequests && refused?.fault == .caller && output.isEmpty)
    }

    /// Each direction in a task of its own.
    @Test func concurrentDirections() async throws {
        let pending = PendingRequests(maximumCount: 10_000)
        async let recorded: Void = {
            var parser = MessageParser(.request, pending: pending)
            for _ in 0..<10_000 {
                try parser.append(Array(Self.head.utf8))
                while try parser.next() != nil {}
            }
        }()
        var writer = MessageWriter(pending: pending)
        var output: [UInt8] = []
        var response = try HTTPResponse(status: .ok)
        try response.fields.set("2", for: .contentLength)
        var written = 0
        while written < 10_000, !Task.isCancelled {
            guard pending.count > 0 else {
                await Task.yield()
                continue
            }
            output.removeAll(keepingCapacity: true)
            try writer.write(.response(response), into: &output)
            try writer.write(.end(trailers: HTTPFields()), into: &output)
            written += 1
        }
        try await recorded
        #expect(pending.count == 0)
    }
}
