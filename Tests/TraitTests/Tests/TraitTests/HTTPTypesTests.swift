import HTTPServerKit
import HTTPStreamTesting
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(5))) struct HTTPTypesTests {
    private typealias Request = HTTPTypes.HTTPRequest

    @Test func loads() async throws {
        let server = TestServer { exchange in
            let request = try exchange.httpTypesRequest()
            #expect(request.method == .post && request.path == "/a?b=c" && request.authority == "www.example.org")
            let body = try await exchange.body()
            var response = HTTPTypes.HTTPResponse(status: .created)
            response.headerFields[.server] = request.headerFields[.userAgent]
            try await exchange.respond(response, body: body + body)
        }
        let session = HTTPSession(server.configuration())
        var request = Request(method: .post, scheme: "https", authority: "www.example.org", path: "/a?b=c")
        request.headerFields[.userAgent] = "test"
        let (response, body) = try await session.load(request, body: .bytes([1, 2]))
        #expect(response.status == .created && response.headerFields[.server] == "test" && body == [1, 2, 1, 2])
        let (head, stream) = try await session.open(request, body: .bytes([3]))
        #expect(head.status == .created)
        #expect(try await stream.readAll(limit: 10) == [3, 3])
    }

    @Test func streamedResponses() async throws {
        let server = TestServer { exchange in
            try await exchange.begin(HTTPTypes.HTTPResponse(status: .ok), length: 2)
            try await exchange.write([4, 5])
        }
        let request = Request(method: .get, scheme: "http", authority: "example.org", path: "/")
        #expect(try await HTTPSession(server.configuration()).load(request).body == [4, 5])
    }

    @Test(arguments: [nil, "ftp"]) func requestsWithoutAnHTTPURLAreRefused(_ scheme: String?) async throws {
        let session = HTTPSession(TestServer().configuration())
        let request = Request(method: .get, scheme: scheme, authority: "example.org", path: "/")
        await #expect(throws: StreamError.self) { try await session.load(request) }
    }
}
