import HTTPStream
import Peers
import Testing

/// Many loads on one connection, and their way to another one.
@Suite(.timeLimit(.minutes(5))) struct SharedConnectionTests {
    @Test(
        "200 loads at once share one connection, also beyond the server's limit of streams", arguments: honestServers,
        [false, true])
    func manyLoads(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        try await withServer(implementation, isSecure: isSecure) { server in
            let session = try makeSession(isSecure: isSecure)
            let expected = implementation == .hypercorn ? "2 GET /hello 0\n" : "hello\n"
            try await withThrowingTaskGroup { group in
                for _ in 0..<200 {
                    group.addTask {
                        let response = try await session.get(url(server.url("/hello")))
                        #expect(response.text == expected && response.version == .http20)
                    }
                }
                try await group.waitForAll()
            }
            let connections = try await server.connections(200)
            #expect(connections.count == 200 && Set(connections).count == 1)
        }
    }

    @Test(
        "a body of 20 MB arrives while another one is not read",
        arguments: [HTTP2Server.Implementation.nghttpd, .nginx, .apache, .node], [false, true])
    func unreadBody(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        try await withServer(implementation, isSecure: isSecure) { server in
            let large = patterned(20_000_000)
            try server.write("large", large)
            let session = try makeSession(isSecure: isSecure)
            let request = try HTTPRequest(method: .get, url: url(server.url("/large")))
            let unread = try await session.open(request)
            for style in Style.allCases {
                var options = session.configuration.options
                options.followsRedirects = true
                let stream = try ReadStream(request: request, options: options)
                let isWhole = try await readToEnd(stream, style) == large
                #expect(isWhole, "\(style)")
            }
            // Nothing of it was lost.
            let isWhole = try await unread.readAll(limit: large.count) == large
            #expect(isWhole)
            unread.close()
            let connections = try await server.connections(4)
            #expect(connections.count == 4 && Set(connections).count == 1)
        }
    }

    /// nginx sends GOAWAY and the last answers, while further requests arrive: each is answered once, on another connection.
    @Test(
        "1,000 loads by 16 readers of all styles, at a server that ends its connections", arguments: [10, 100],
        [false, true])
    func endingConnections(limit: Int, isSecure: Bool) async throws {
        try await withServer(.nginx, isSecure: isSecure, requestsPerConnection: limit) { server in
            let options = try makeOptions(isSecure: isSecure)
            let numbers = Numbers()
            try await withThrowingTaskGroup { group in
                for reader in 0..<16 {
                    group.addTask {
                        while case let number = numbers.next(), number <= 1_000 {
                            let path = "/tell/\(number)"
                            let request = try HTTPRequest(method: .get, url: url(server.url(path)))
                            let stream = try ReadStream(request: request, options: options)
                            do {
                                let body = try await readToEnd(stream, Style.allCases[reader % 3])
                                #expect(body == Array(path.utf8))
                            } catch {
                                Issue.record("\(path), reader \(reader): \(stream[.report]?.description ?? "")")
                                throw error
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let connections = try await server.connections(1_000)
            #expect(connections.count == 1_000)
            let counts = Dictionary(grouping: connections) { $0 }.mapValues(\.count)
            #expect(counts.values.allSatisfy { $0 <= limit })
        }
    }
}
