import HTTPStream
import Peers
import Testing

/// Requests and responses of the client, with the servers of others.
@Suite(.timeLimit(.minutes(5))) struct ClientMessageTests {
    /// nginx with a small window refuses a request with a body that arrives before its settings are acknowledged.
    @Test(
        "bodies of 5 MB, of known and of unknown length",
        arguments: [HTTP2Server.Implementation.nghttpd, .nginx, .hypercorn, .node], [false, true])
    func uploads(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        let bytes = patterned(5_000_000)
        let bodies: [HTTPBody] = [
            .bytes(bytes), .stream(length: nil) { ReadStream(bytes: bytes) },
            .stream(length: 5_000_000) { ReadStream(bytes: bytes) }, .stream(once: ReadStream(bytes: bytes)),
        ]
        try await withServer(implementation, isSecure: isSecure) { server in
            for (index, body) in bodies.enumerated() {
                // A new connection, whose settings the body could precede.
                let session = try makeSession(isSecure: isSecure)
                let path = "/upload/\(index)"
                let method: HTTPMethod = implementation == .nginx ? .put : .post
                let request = try HTTPRequest(method: method, url: url(server.url(path)))
                let response = try await session.load(request, body: body)
                #expect(response.version == .http20)
                switch implementation {
                case .nghttpd, .node:
                    let isWhole = response.body == bytes
                    #expect(response.status == .ok && isWhole)
                case .nginx:
                    let isWhole = try server.read(String(path.dropFirst())) == bytes
                    #expect(response.status == .created && isWhole)
                default: #expect(response.text == "2 POST \(path) 5000000\n")
                }
            }
        }
    }

    @Test(
        "coded bodies, HEAD, 204, redirects and cookies",
        arguments: [HTTP2Server.Implementation.nginx, .apache, .hypercorn, .node],
        [false, true])
    func messages(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        try await withServer(implementation, isSecure: isSecure) { server in
            let hasFiles = implementation != .hypercorn
            let large = patterned(300_000)
            try server.write("large", large)
            let session = try makeSession(isSecure: isSecure)

            let coded = try await session.get(url(server.url("/gzip/large")))
            let isWhole = coded.body == (hasFiles ? large : Array("2 GET /large 0\n".utf8))
            #expect(coded.status == .ok && coded.fields[.contentEncoding] == "gzip" && isWhole)

            let head = try await session.load(HTTPRequest(method: .head, url: url(server.url("/large"))))
            #expect(head.status == .ok && head.body.isEmpty)
            #expect(head.fields[.contentLength] == (hasFiles ? "300000" : nil))

            let empty = try await session.get(url(server.url("/empty")))
            #expect(empty.status == .noContent && empty.body.isEmpty)

            let redirected = try await session.open(HTTPRequest(method: .get, url: url(server.url("/redirect"))))
            #expect(redirected[.httpFinalURL] == (try url(server.url("/hello"))))
            #expect(redirected[.httpRedirects]?.map(\.status) == [.found])
            let hello = try await redirected.readAll(limit: 100)
            #expect(hello == Array((hasFiles ? "hello\n" : "2 GET /hello 0\n").utf8))
            redirected.close()

            let first = try await session.get(url(server.url("/cookies")))
            #expect(first.fields["X-Cookie"] ?? "" == "")
            #expect(try await session.get(url(server.url("/cookies"))).fields["X-Cookie"] == "a=1")
            let connections = try await server.connections(7)
            #expect(connections.count == 7 && Set(connections).count == 1)
        }
    }

    @Test("trailers and interim responses", arguments: [false, true])
    func trailers(isSecure: Bool) async throws {
        for (implementation, body) in [(HTTP2Server.Implementation.nghttpd, nil), (.node, HTTPBody.bytes([1, 2]))] {
            try await withServer(implementation, isSecure: isSecure) { server in
                let stream = try ReadStream(
                    request: HTTPRequest(method: body == nil ? .get : .post, url: url(server.url("/hello"))),
                    body: body,
                    options: makeOptions(isSecure: isSecure))
                #expect(try await readToEnd(stream, .task) == (body == nil ? Array("hello\n".utf8) : [1, 2]))
                #expect(stream[.httpTrailers]?["X-Trailer"] == "tail")
            }
        }
        try await withServer(.faults, isSecure: isSecure) { server in
            for style in Style.allCases {
                let options = try makeOptions(isSecure: isSecure)
                let trailing = try ReadStream(
                    request: HTTPRequest(method: .get, url: url(server.url("/trailers"))), options: options)
                #expect(try await readToEnd(trailing, style) == Array("hello".utf8))
                #expect(trailing[.httpTrailers] == ["X-Sum": "5"])
                let hinting = try ReadStream(
                    request: HTTPRequest(method: .get, url: url(server.url("/hints"))), options: options)
                #expect(try await readToEnd(hinting, style).isEmpty)
                #expect(hinting[.httpInterimResponses]?.map(\.status) == [.earlyHints])
            }
        }
    }

    @Test("servers that refuse, end or spoil a request", arguments: [false, true])
    func faults(isSecure: Bool) async throws {
        try await withServer(.faults, isSecure: isSecure) { server in
            let session = try makeSession(isSecure: isSecure)
            // The first request is not processed, and is sent again.
            for path in ["/refuse", "/goaway"] {
                #expect(try await session.get(url(server.url(path))).text == "hello\n", "\(path)")
            }
            for path in ["/reset/2", "/short", "/push", "/end"] {
                await #expect(throws: StreamError.self, "\(path)") { _ = try await session.get(url(server.url(path))) }
            }
            let early = try await session.load(
                HTTPRequest(method: .put, url: url(server.url("/early"))), body: .bytes(patterned(1_000_000)))
            #expect(early.status == .contentTooLarge)
            #expect(try await session.get(url(server.url("/bytes/1000000"))).body.count == 1_000_000)
        }
    }
}
