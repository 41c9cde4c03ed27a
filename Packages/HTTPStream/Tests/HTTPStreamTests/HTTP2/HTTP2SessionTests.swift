import EventLoops
import FoundationEssentials
import HTTP2
import HTTPAuth
import HTTPMessage
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

/// What sessions and streams do with responses, over HTTP/2: redirects, logins, cookies, codings and proxies.
@Suite(.timeLimit(.minutes(5))) struct HTTP2SessionTests {
    private static func url(_ path: String) throws -> URL { try #require(URL(string: "http://www.example.org\(path)")) }

    private static func fields(_ server: HTTP2Peer, _ name: HTTPFieldName) -> [[String]] {
        server.requests.map { $0.request.head.fields.values(for: name) }
    }

    // MARK: Redirects

    @Test(
        "redirects use the same connection: with the body or without it, with an unread body, and to another origin"
    )
    func redirects() async throws {
        let unread = [UInt8](repeating: 1, count: 3 << 20)
        let waiting = Locked<Set<StreamID>>([])
        let server = HTTP2Peer { (machine, event, _) in
            func redirect(_ stream: StreamID, _ status: HTTPStatus, _ target: String) throws {
                var fields = HTTPFields()
                try fields.set(target, for: .location)
                try machine.answer(stream, status, fields: fields)
            }
            switch event {
            case .request(let stream, let request) where request.head.target.path == "/large":
                var head = try HTTPResponse(status: .seeOther)
                try head.fields.set("/end", for: .location)
                try machine.respond(stream, with: head, endsHere: false, now: .zero)
                return .send(unread, on: stream)
            case .request(let stream, let request):
                switch request.head.target.path {
                case "/303": try redirect(stream, .seeOther, "/large")
                case "/307": try redirect(stream, .temporaryRedirect, "/308")
                case "/308": try redirect(stream, .permanentRedirect, "/kept")
                case "/away": try redirect(stream, .found, "http://other.example.org/end")
                default: waiting.withLock { _ = $0.insert(stream) }
                }
            case .ended(let stream):
                if waiting.withLock({ $0.remove(stream) }) != nil { try machine.answer(stream) }
            default: break
            }
            return nil
        }
        let session = server.session()
        for (path, methods, count) in [
            ("/303", [HTTPMethod.post, .get, .get], 1), ("/307", [.post, .post, .post], 1),
            ("/away", [.post, .get], 2),
        ] {
            let first = server.requests.count
            let stream = try await session.open(
                HTTPRequest(method: .post, url: Self.url(path)), body: .bytes([1, 2, 3]))
            #expect(try await stream.readAll(limit: 10).isEmpty)
            #expect(stream[.httpResponse]?.status == .ok && stream[.httpRedirects]?.count == methods.count - 1)
            stream.close()
            #expect(server.requests[first...].map(\.request.head.method) == methods)
            #expect(server.connectionCount == count)
        }
        let last = try #require(server.requests.last?.request.head)
        #expect(last.fields[.host] == "other.example.org" && last.fields[.contentLength] == nil)
        // The rest of an unread body is not transferred: 256 KiB are the window of its stream.
        let resets = server.events.compactMap { event -> ErrorCode? in
            if case .reset(StreamID(3), let failure) = event { failure.code } else { nil }
        }
        #expect(resets == [.cancel])
    }

    // MARK: Logins

    /// Answers requests without the field with a challenge, and others with 200.
    private static func challenging(_ challenge: String) -> HTTP2Script.Handler {
        { (machine, event, _) in
            guard case .request(let stream, let request) = event else { return nil }
            var fields = HTTPFields()
            let isKnown = request.head.fields.contains(.authorization)
            if !isKnown { try fields.set(challenge, for: .wwwAuthenticate) }
            try machine.answer(stream, isKnown ? .ok : .unauthorized, fields: fields, body: Array("text".utf8))
            return nil
        }
    }

    @Test(
        "Basic and Digest answer a challenge on the same connection, and later requests before it",
        arguments: ["Basic realm=r", "Digest realm=r, nonce=n, qop=auth, algorithm=SHA-256"])
    func logins(challenge: String) async throws {
        let server = HTTP2Peer(Self.challenging(challenge))
        let session = server.session { $0.prompt = { _ in .init(user: "joe", password: "secret") } }
        for _ in 0..<2 { #expect(try await session.get(Self.url("/")).status == .ok) }
        let sent = Self.fields(server, .authorization)
        #expect(server.connectionCount == 1)
        try #require(sent.map(\.count) == [0, 1, 1])
        let scheme = challenge.prefix { $0 != " " }
        #expect(sent[1...].allSatisfy { $0[0].hasPrefix(scheme) })
        if scheme == "Basic" {
            #expect(sent[1] == ["Basic am9lOnNlY3JldA=="])
        } else {
            #expect(sent[1][0].contains("nc=00000001") && sent[2][0].contains("nc=00000002"))
        }
    }

    /// Another stream of the connection would be that of another user.
    @Test("NTLM has a connection of its own, over HTTP/1.1, while other requests share that of HTTP/2")
    func connectionBoundLogin() async throws {
        let challenge = """
            TlRMTVNTUAACAAAADAAMADgAAAAzgoriASNFZ4mrze8AAAAAAAAAACQAJABEAAAABgBwFwAAAA9TAGUAcgB2AGUAcgACAAwARABvAG0A\
            YQBpAG4AAQAMAFMAZQByAHYAZQByAAAAAAA=
            """
        let legs = Locked<[String]>([])
        let overHTTP2 = Locked<[String?]>([])
        let server = try NegotiatingServer(["h2", "http/1.1"]) { (machine, event, _) in
            guard case .request(let stream, let request) = event else { return nil }
            overHTTP2.withLock { $0.append(request.head.fields[.authorization]) }
            let isOpen = request.head.target.path == "/open"
            try machine.answer(
                stream, isOpen ? .ok : .unauthorized, fields: isOpen ? [:] : ["WWW-Authenticate": "NTLM"])
            return nil
        } http1: { exchange in
            let sent = exchange.request.fields[.authorization] ?? ""
            legs.withLock { $0.append(String(sent.prefix(17))) }
            // The first bytes of messages 1 and 3.
            if sent.hasPrefix("NTLM TlRMTVNTUAADAAAA") {
                try await exchange.respond(.ok)
            } else {
                var fields = HTTPFields()
                try fields.set(sent.isEmpty ? "NTLM" : "NTLM \(challenge)", for: .wwwAuthenticate)
                try await exchange.respond(.unauthorized, fields: fields)
            }
        }
        var configuration = HTTPSession.Configuration()
        configuration.options.tls = try TestIdentity.trusted()
        configuration.options.versions = .automatic
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        configuration.prompt = { _ in .init(user: "joe", password: "secret") }
        let session = HTTPSession(configuration)
        let open = server.url.appending(path: "open")
        #expect(try await session.get(open).version == .http20)
        let secret = try await session.get(server.url.appending(path: "secret"))
        #expect(secret.status == .ok && secret.version == .http11)
        // Without the login, other requests go on over the shared connection.
        configuration.prompt = nil
        #expect(try await HTTPSession(configuration).get(open).version == .http20)
        #expect(server.connections.withLock { $0 } == 2)
        #expect(overHTTP2.withLock { $0 } == [nil, nil, nil])
        #expect(legs.withLock { $0 }.count == 2)
    }

    // MARK: Cookies

    @Test("cookies are stored and sent, each in a field of its own")
    func cookies() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, _) = event {
                try machine.answer(
                    stream, fields: HTTPFields(["Set-Cookie": "a=1; Path=/", "set-cookie": "b=2; Path=/"]))
            }
            return nil
        }
        let session = server.session { $0.cookies = .ofSession }
        for _ in 0..<2 { _ = try await session.get(Self.url("/")) }
        let sent = server.requests.map { $0.request.head.fields[.cookie] }
        #expect(sent == [nil, "a=1; b=2"])
    }

    // MARK: Codings

    @Test("a coded body that exceeds the limit of decoded bytes fails, and its connection goes on")
    func decodingLimit() async throws {
        let coded = ContentDecoderTests.gzip
        let server = HTTP2Peer { (machine, event, _) in
            guard case .request(let stream, _) = event else { return nil }
            var head = try HTTPResponse(status: .ok)
            try head.fields.set("gzip", for: .contentEncoding)
            try machine.respond(stream, with: head, endsHere: false, now: .zero)
            // Members follow each other (RFC 1952 §2.2): 40,000 times the text.
            return .send(Array((0..<40_000).map { _ in coded }.joined()), on: stream)
        }
        let limited = try server.stream { $0.maximumDecodedLength = 100_000 }
        try limited.open()
        let error = await #expect(throws: StreamError.self) { _ = try await limited.readAll(limit: 1 << 20) }
        #expect(error?.description.contains("100000") == true, "\(error?.description ?? "")")
        limited.close()
        let whole = try server.stream()
        try whole.open()
        #expect(try await whole.readAll(limit: 1 << 20).count == 800_000)
        whole.close()
        #expect(server.connectionCount == 1)
    }

    @Test("a coded body that ends within its last member fails")
    func cutCoding() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            guard case .request(let stream, _) = event else { return nil }
            try machine.answer(
                stream, fields: HTTPFields(["Content-Encoding": "gzip"]), body: ContentDecoderTests.gzip.dropLast(3))
            return nil
        }
        let stream = try server.stream()
        try stream.open()
        await #expect(throws: StreamError.self) { _ = try await stream.readAll(limit: 100) }
        stream.close()
    }

    // MARK: Proxies

    /// A proxy that establishes tunnels, and counts them.
    private final class TunnelProxy: Sendable {
        let port: UInt16
        let heads = Locked<[String]>([])

        init() throws {
            let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
            port = try #require(listener.port)
            Task { [self] in
                try await listener.run { client in try await self.serve(client) }
            }
        }

        private func serve(_ client: StreamPair) async throws {
            var head: [UInt8] = []
            while head.suffix(4) != [13, 10, 13, 10] {
                let more = try await client.input.read(upTo: 1)
                if more.isEmpty { return }
                head += more
            }
            let line = String(decoding: head, as: UTF8.self).split(separator: "\r\n").first.map(String.init) ?? ""
            heads.withLock { $0.append(line) }
            let port =
                line.split(separator: " ").dropFirst().first?.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
            let server = StreamPair(host: "127.0.0.1", port: port)
            try server.open()
            try await client.output.writeAll(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
            await withTaskGroup(of: Void.self) { group in
                for (from, to) in [(client, server), (server, client)] {
                    group.addTask {
                        while let bytes = try? await from.input.read(upTo: 65_536), !bytes.isEmpty {
                            guard (try? await to.output.writeAll(bytes)) != nil else { break }
                        }
                        to.close()
                        from.close()
                    }
                }
            }
        }
    }

    @Test("HTTP/2 inside the tunnel of a proxy: one CONNECT for all requests of an origin")
    func tunnel() async throws {
        let server = try NegotiatingServer(["h2", "http/1.1"])
        let proxy = try TunnelProxy()
        var configuration = HTTPSession.Configuration()
        configuration.options.tls = try TestIdentity.trusted()
        configuration.options.versions = .automatic
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .route(ProxyRoute(HTTPProxy(host: "127.0.0.1", port: proxy.port)))
        let session = HTTPSession(configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    let response = try await session.get(server.url)
                    #expect(response.status == .ok && response.version == .http20)
                }
            }
            try await group.waitForAll()
        }
        #expect(proxy.heads.withLock { $0 } == ["CONNECT 127.0.0.1:\(server.port) HTTP/1.1"])
        #expect(server.connections.withLock { $0 } == 1)
    }
}
