import HTTPStream
import Peers
import Testing

/// Requests whose bodies are sent while their responses arrive, with the servers of others.
@Suite(.timeLimit(.minutes(5))) struct DuplexTests {
    /// The servers that return the body of a request piece by piece.
    private static let echoing: [HTTP2Server.Implementation] = [.node, .hypercorn]

    /// Asks each question after the answer to the one before.
    private func askInTurns(_ address: String, _ options: HTTPOptions, turns: Int) async throws {
        let (questions, source) = AsyncStream.makeStream(of: [UInt8].self)
        let stream = try ReadStream(
            request: HTTPRequest(method: .post, url: url(address)), body: .chunks(questions), options: options)
        try stream.open()
        defer { stream.close() }
        for turn in 0..<turns {
            let question = Array("turn \(turn)\n".utf8)
            source.yield(question)
            var answer: [UInt8] = []
            while answer.count < question.count {
                let more = try await stream.read(upTo: question.count - answer.count)
                if more.isEmpty { break }
                answer += more
            }
            #expect(answer == question)
        }
        source.finish()
        #expect(try await stream.read(upTo: 1).isEmpty)
    }

    @Test("20 duplex requests at once, in turns", arguments: echoing, [false, true])
    func turns(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        try await withServer(implementation, isSecure: isSecure) { server in
            let options = try makeOptions(isSecure: isSecure)
            try await withThrowingTaskGroup { group in
                for _ in 0..<20 {
                    group.addTask { try await askInTurns(server.url("/echo"), options, turns: 50) }
                }
                try await group.waitForAll()
            }
            let connections = try await server.connections(20)
            #expect(Set(connections).count == 1)
        }
    }

    @Test("a body of 10 MB returns while it is sent", arguments: echoing, [false, true])
    func largeBody(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        try await withServer(implementation, isSecure: isSecure) { server in
            let bytes = patterned(10_000_000)
            for style in Style.allCases {
                let stream = try ReadStream(
                    request: HTTPRequest(method: .post, url: url(server.url("/echo"))),
                    body: .stream(length: nil) { ReadStream(bytes: bytes) }, options: makeOptions(isSecure: isSecure))
                let isWhole = try await readToEnd(stream, style) == bytes
                #expect(isWhole, "\(style)")
            }
        }
    }

    @Test("a closed duplex request leaves its connection to others", arguments: echoing, [false, true])
    func closed(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        try await withServer(implementation, isSecure: isSecure) { server in
            let options = try makeOptions(isSecure: isSecure)
            let (questions, source) = AsyncStream.makeStream(of: [UInt8].self)
            let stream = try ReadStream(
                request: HTTPRequest(method: .post, url: url(server.url("/echo"))), body: .chunks(questions),
                options: options)
            try stream.open()
            source.yield([1])
            #expect(try await stream.read(upTo: 10) == [1])
            stream.close()
            try await askInTurns(server.url("/echo"), options, turns: 3)
            let connections = try await server.connections(2)
            #expect(Set(connections).count == 1)
        }
    }

    // MARK: nghttpx

    @Test("through nghttpx: loads, bodies both ways and turns, to servers of both versions", arguments: [false, true])
    func reverseProxy(isSecure: Bool) async throws {
        for implementation in [HTTP2Server.Implementation.node, .apache] {
            try await withServer(implementation, isSecure: false) { server in
                // Apache has HTTP/1.1 at the same port.
                let proxy = Nghttpx(port: server.port, isSecure: isSecure, usesHTTP1: implementation == .apache)
                try proxy.start()
                defer { proxy.stop() }
                let address = "\(isSecure ? "https" : "http")://localhost:\(proxy.port)"
                let large = patterned(5_000_000)
                try server.write("large", large)
                let session = try makeSession(isSecure: isSecure)
                try await withThrowingTaskGroup { group in
                    for _ in 0..<200 {
                        group.addTask {
                            let response = try await session.get(url("\(address)/hello"))
                            #expect(response.text == "hello\n" && response.version == .http20)
                            #expect(response.fields["Via"]?.contains("nghttpx") == true)
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(session.configuration.options.pool.idleCount == 1)
                let isWhole =
                    try await session.load(
                        HTTPRequest(method: .get, url: url("\(address)/large"))
                    ).body == large
                #expect(isWhole)
                #expect(try await session.get(url("\(address)/missing")).status == .notFound)
                guard implementation == .node else { return }
                let upload = try await session.load(
                    HTTPRequest(method: .post, url: url("\(address)/upload")), body: .bytes(large))
                let isReturned = upload.body == large
                #expect(isReturned)
                try await askInTurns("\(address)/echo", session.configuration.options, turns: 50)
            }
        }
    }

    @Test("nghttpx answers for a server that has ended", arguments: [false, true])
    func deadBackend(isSecure: Bool) async throws {
        try await withServer(.node, isSecure: false) { server in
            let proxy = Nghttpx(port: server.port, isSecure: isSecure)
            try proxy.start()
            defer { proxy.stop() }
            let session = try makeSession(isSecure: isSecure)
            let address = "\(isSecure ? "https" : "http")://localhost:\(proxy.port)/hello"
            #expect(try await session.get(url(address)).text == "hello\n")
            server.kill()
            let response = try await session.get(url(address))
            #expect([502, 503].contains(response.status.code) && response.version == .http20)
        }
    }
}
