import HTTPStream
import Peers
import StreamKit
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

    @Test("the trailers of a request", arguments: [false, true])
    func trailers(isSecure: Bool) async throws {
        try await withServer(.node, isSecure: isSecure) { server in
            let pieces = AsyncStream<[UInt8]> { source in
                for number in 0..<100 { source.yield([UInt8](repeating: UInt8(number), count: 1000)) }
                source.finish()
            }
            let stream = try ReadStream(
                request: HTTPRequest(method: .post, url: url(server.url("/echo"))),
                body: .chunks(pieces) { ["X-Sum": "4950000"] }, options: makeOptions(isSecure: isSecure))
            try stream.open()
            defer { stream.close() }
            #expect(try await stream.readAll(limit: 200_000).reduce(0) { $0 + Int($1) } == 4_950_000)
            #expect(stream[.httpTrailers]?["X-Sum"] == "4950000")
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
            var connections: Set<Int> = []
            for turn in 0..<3 {
                let (questions, source) = AsyncStream.makeStream(of: [UInt8].self)
                let stream = try ReadStream(
                    request: HTTPRequest(method: .post, url: url(server.url("/echo"))), body: .chunks(questions),
                    options: options)
                try stream.open()
                source.yield([UInt8(turn)])
                #expect(try await stream.read(upTo: 10) == [UInt8(turn)])
                for case .stream(let number, let connection, _) in stream.report.steps.map(\.kind) {
                    #expect(number == 2 * turn + 1)
                    connections.insert(connection)
                }
                stream.close()
            }
            #expect(connections.count == 1)
        }
    }

    // MARK: nghttpx

    private func loadThroughProxy(_ address: String, _ large: [UInt8], _ session: HTTPSession) async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<200 {
                group.addTask {
                    let response = try await session.get(url("\(address)/hello"))
                    #expect(response.text == "hello\n" && response.version == .http20, "\(response)")
                    #expect(response.fields["Via"]?.contains("nghttpx") == true)
                }
            }
            try await group.waitForAll()
        }
        #expect(session.configuration.options.pool.idleCount == 1)
        let isWhole = try await session.get(url("\(address)/large")).body == large
        #expect(isWhole)
        #expect(try await session.get(url("\(address)/missing")).status == .notFound)
        let upload = try await session.load(
            HTTPRequest(method: .post, url: url("\(address)/upload")), body: .bytes(large))
        let isReturned = upload.body == large
        #expect(isReturned)
    }

    @Test("through nghttpx to a server of HTTP/2: loads, bodies both ways and turns", arguments: [false, true])
    func reverseProxy(isSecure: Bool) async throws {
        try await withServer(.node, isSecure: false) { server in
            let proxy = Nghttpx(port: server.port, isSecure: isSecure)
            try proxy.start()
            defer { proxy.stop() }
            let large = patterned(5_000_000)
            try server.write("large", large)
            let session = try makeSession(isSecure: isSecure)
            let address = "\(isSecure ? "https" : "http")://localhost:\(proxy.port)"
            try await loadThroughProxy(address, large, session)
            try await askInTurns("\(address)/echo", session.configuration.options, turns: 50)
        }
    }

    @Test("through nghttpx to our server of HTTP/1.1", arguments: [false, true])
    func reverseProxyToHTTP1(isSecure: Bool) async throws {
        let large = patterned(5_000_000)
        var configuration = HTTPServer.Configuration()
        configuration.limits.bodyLength = Int64(large.count)
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task {
            try await server.run { exchange in
                switch exchange.request.target.path {
                case "/hello": try await exchange.respond(.ok, body: Array("hello\n".utf8))
                case "/large": try await exchange.respond(.ok, body: large)
                case "/upload": try await exchange.respond(.ok, body: exchange.body())
                default: try await exchange.respond(.notFound)
                }
            }
        }
        defer { running.cancel() }
        let proxy = Nghttpx(port: Int(try #require(server.port)), isSecure: isSecure, usesHTTP1: true)
        try proxy.start()
        defer { proxy.stop() }
        try await loadThroughProxy(
            "\(isSecure ? "https" : "http")://localhost:\(proxy.port)", large, makeSession(isSecure: isSecure))
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

    @Test(
        "tunnels of HTTP/2 through nghttpx: the near proxy, or behind another one; a target that refuses",
        arguments: [false, true])
    func forwardProxy(isBehindAnother: Bool) async throws {
        try await withServer(.node, isSecure: true) { server in
            let large = patterned(5_000_000)
            try server.write("large", large)
            let (behind, socks) = (Tinyproxy(), Microsocks())
            try behind.start()
            defer { behind.stop() }
            try socks.start()
            defer { socks.stop() }
            let proxy = Nghttpx(port: behind.port, isSecure: true, usesHTTP1: true, isForward: true)
            try proxy.start()
            defer { proxy.stop() }
            let session = try makeSession(isSecure: true) { configuration in
                var tls = configuration.options.tls
                tls.applicationProtocols = ["h2"]
                var hops: [any StreamProxy] = [HTTPProxy(host: "localhost", port: UInt16(proxy.port), tls: tls)]
                if isBehindAnother { hops.insert(SOCKSProxy(host: "127.0.0.1", port: UInt16(socks.port)), at: 0) }
                configuration.proxies = .route(ProxyRoute(hops: hops))
            }
            #expect(try await session.get(url(server.url("/hello"))).text == "hello\n")
            let upload = try await session.load(
                HTTPRequest(method: .post, url: url(server.url("/upload"))), body: .bytes(large))
            let isReturned = upload.body == large
            #expect(isReturned && upload.version == .http20)
            for style in Style.allCases {
                let stream = try ReadStream(
                    request: HTTPRequest(method: .get, url: url(server.url("/large"))),
                    options: session.configuration.options)
                let isWhole = try await readToEnd(stream, style) == large
                #expect(isWhole, "\(style)")
            }
            let error = await #expect(throws: (any Error).self) { try await session.get(url("https://localhost:1/")) }
            let refusal = (error as? StreamError)?.underlying as? HTTPProxyRefusal
            #expect((500..<600).contains(refusal?.response.status.code ?? 0), "\(String(describing: error))")
        }
    }
}
