import HTTP2
import Peers
import StreamKit
import Testing

/// The machines of HTTP/2 over sockets, with servers and clients of other implementations.
@Suite(.timeLimit(.minutes(5))) struct HTTP2PeerTests {
    private func request(
        _ server: HTTP2Server, _ target: String, _ method: HTTPMethod = .get, _ body: [UInt8] = []
    ) throws -> (request: HTTP2Request, body: [UInt8]) {
        try request(port: server.port, isSecure: server.isSecure, target, method, body)
    }

    private func request(
        port: Int, isSecure: Bool, _ target: String, _ method: HTTPMethod = .get, _ body: [UInt8] = []
    ) throws -> (request: HTTP2Request, body: [UInt8]) {
        var head = try HTTPRequest(method: method, target: target)
        try head.fields.set("localhost:\(port)", for: .host)
        if !body.isEmpty { try head.fields.set("\(body.count)", for: .contentLength) }
        return (HTTP2Request(head, scheme: isSecure ? "https" : "http"), body)
    }

    private static let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5) }

    /// Files, small and large, and many at once on one connection.
    @Test(arguments: [HTTP2Server.Implementation.nghttpd, .nginx, .apache], [false, true])
    func loadsFiles(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        let server = HTTP2Server(implementation, isSecure: isSecure)
        try server.start()
        defer { server.stop() }
        try server.write("hello", Array("hello\n".utf8))
        try server.write("large", Self.body)
        let client = try HTTP2Client(port: server.port, isSecure: isSecure)
        var requests = try (0..<120).map { _ in try request(server, "/hello") }
        try requests.append(request(server, "/large"))
        try requests.append(request(server, "/missing"))
        try requests.append(request(server, "/hello", .head))
        let answers = try await client.load(requests)
        try #require(answers.count == requests.count)
        #expect(answers.prefix(120).allSatisfy { $0.status == 200 && $0.body == Array("hello\n".utf8) })
        #expect(answers[120].status == 200 && answers[120].body == Self.body)
        #expect(answers[121].status == 404)
        #expect(answers[122].status == 200 && answers[122].body.isEmpty)
        if implementation == .nghttpd { #expect(answers[0].trailers?["x-trailer"] == "tail") }
    }

    /// nginx answers 1,000 requests on a connection and sends GOAWAY. Each request beyond them may be repeated, and none is lost.
    @Test func nginxEndsTheConnectionAfterAThousandRequests() async throws {
        let server = HTTP2Server(.nginx, isSecure: false)
        try server.start()
        defer { server.stop() }
        try server.write("hello", Array("hello\n".utf8))
        var counts: [Int] = []
        while counts.reduce(0, +) < 1_500, counts.count < 5 {
            let client = try HTTP2Client(port: server.port, isSecure: false)
            let requests = try (counts.reduce(0, +)..<1_500).map { _ in try request(server, "/hello") }
            let answers = try await client.load(requests)
            let failures = answers.compactMap(\.failure)
            #expect(failures.allSatisfy { $0.processing == .notProcessed }, "\(failures)")
            let answered = answers.filter { $0.failure == nil }
            #expect(answered.allSatisfy { $0.status == 200 && $0.body == Array("hello\n".utf8) })
            counts.append(answered.count)
        }
        #expect(counts == [1_000, 500])
    }

    /// Uploads. nginx with a small window refuses a request with a body that arrives before its settings are acknowledged: it is
    /// repeated at once, on the same connection.
    @Test(arguments: [HTTP2Server.Implementation.nghttpd, .nginx, .hypercorn], [false, true])
    func uploads(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        let server = HTTP2Server(implementation, isSecure: isSecure)
        try server.start()
        defer { server.stop() }
        let client = try HTTP2Client(port: server.port, isSecure: isSecure)
        let method: HTTPMethod = implementation == .nginx ? .put : .post
        let upload = try request(server, "/upload/file", method, Self.body)
        var answer = try #require(try await client.load([upload]).first)
        if answer.failure?.processing == .notProcessed {
            #expect(implementation == .nginx && answer.failure?.code == .refusedStream)
            answer = try #require(try await client.load([upload]).first)
        }
        switch implementation {
        case .nghttpd: #expect(answer.status == 200 && answer.body == Self.body)
        case .nginx:
            #expect(answer.status == 201, "\(answer.failure.debugDescription)")
            #expect(try server.read("upload/file") == Self.body)
        default: #expect(String(decoding: answer.body, as: UTF8.self) == "2 POST /upload/file 1000000\n")
        }
    }

    /// What a server does wrong, and what remains of the request.
    @Test func faults() async throws {
        let server = HTTP2Server(.faults, isSecure: true)
        try server.start()
        defer { server.stop() }
        func load(_ path: String, _ method: HTTPMethod = .get, _ body: [UInt8] = []) async throws -> HTTP2Client.Answer
        {
            let client = try HTTP2Client(port: server.port, isSecure: true)
            return try #require(try await client.load([request(server, path, method, body)]).first)
        }
        #expect(try await load("/hints").interim == [103])
        let trailers = try await load("/trailers")
        #expect(trailers.body == Array("hello".utf8) && trailers.trailers == ["x-sum": "5"])
        #expect(try await load("/bytes/1000000").body.count == 1_000_000)
        #expect(try await load("/reset/2").failure?.code == .internalError)
        #expect(try await load("/reset/13").failure?.requiresHTTP11 == true)
        #expect(try await load("/refuse").failure?.processing == .notProcessed)
        #expect(try await load("/refuse").status == 200)
        #expect(try await load("/goaway").failure?.processing == .notProcessed)
        #expect(try await load("/goaway").status == 200)
        #expect(try await load("/end").failure?.processing == .unknown)
        let short = try await load("/short")
        #expect(short.status == 200 && short.failure?.code == .protocolError)
        let early = try await load("/early", .put, Self.body)
        #expect(early.status == 413 && early.failure == nil)
        let push = try await load("/push")
        guard case .connection(let error) = push.failure?.cause else {
            Issue.record("a push was accepted")
            return
        }
        #expect(error.code == .protocolError && error.rule == "RFC 9113 §8.4")
    }

    /// nghttp, h2load and curl with our server.
    @Test(arguments: [false, true]) func serves(isSecure: Bool) async throws {
        let authority = try CertificateAuthority.shared()
        var configuration = StreamListener.Configuration()
        if isSecure {
            let identity = authority.server(.good)
            var tls = TLSConfiguration(
                server: try TLSIdentity(file: identity.chain, keyFile: identity.key))
            tls.applicationProtocols = ["h2"]
            configuration.tls = tls
        }
        let listener = try StreamListener(port: 0, isLocal: true, configuration: configuration)
        let running = Task { try await listener.run { client in try await HTTP2Responder(client).run() } }
        defer { running.cancel() }
        let url = "\(isSecure ? "https" : "http")://localhost:\(try #require(listener.port))"
        let nghttp = Program("nghttp", package: "nghttp2-client")
        let small = try await Command(nghttp, ["\(url)/bytes/5"]).run()
        #expect(small.text == "xxxxx")
        let load = Program("h2load", package: "nghttp2-client")
        let result = try await Command(load, ["-n", "1000", "-c", "4", "-m", "32", "\(url)/bytes/2000"]).run()
        #expect(result.text.contains("1000 succeeded, 0 failed"))
        let version = isSecure ? "--http2" : "--http2-prior-knowledge"
        let curl = { (arguments: [String]) in
            Command(Program("curl"), ["-sS", version, "--cacert", authority.root] + arguments, input: Self.body)
        }
        #expect(try await curl(["\(url)/bytes/1000000"]).run().output.count == 1_000_000)
        #expect(try await curl(["--data-binary", "@-", "\(url)/echo"]).run().output == Self.body)
        #expect(try await curl(["-I", "\(url)/bytes/7"]).run().text.contains("content-length: 7"))
    }

    /// Our client and our server on both sides of nghttpx, which puts the streams of several clients on a connection to the server.
    @Test(arguments: [false, true]) func throughNghttpx(isSecure: Bool) async throws {
        let listener = try StreamListener(port: 0, isLocal: true)
        let running = Task { try await listener.run { client in try await HTTP2Responder(client).run() } }
        defer { running.cancel() }
        let proxy = Nghttpx(port: Int(try #require(listener.port)), isSecure: isSecure)
        try proxy.start()
        defer { proxy.stop() }
        func make(
            _ target: String, _ method: HTTPMethod = .get, _ body: [UInt8] = []
        ) throws -> (request: HTTP2Request, body: [UInt8]) {
            try request(port: proxy.port, isSecure: isSecure, target, method, body)
        }
        for _ in 0..<2 {
            let client = try HTTP2Client(port: proxy.port, isSecure: isSecure)
            var requests = try (0..<120).map { try make("/bytes/\($0 * 100)") }
            try requests.append(make("/bytes/1000000"))
            try requests.append(make("/bytes/7", .head))
            try requests.append(make("/echo", .post, Self.body))
            let answers = try await client.load(requests)
            try #require(answers.count == requests.count)
            #expect(answers.allSatisfy { $0.status == 200 && $0.failure == nil })
            #expect(answers.prefix(120).map(\.body.count) == (0..<120).map { $0 * 100 })
            #expect(answers[120].body.count == 1_000_000)
            #expect(answers[121].body.isEmpty && answers[121].fields[.contentLength] == "7")
            #expect(answers[122].body == Self.body)
            #expect(answers[0].fields["via"] == "2 nghttpx")
        }
    }
}
