import Foundation
import HTTPMessage
import HostResolver
import NetKit
import Peers
import StreamKit
import Testing

/// Known vulnerabilities of other implementations with proxies and TLS. README.md has the complete list.
@Suite(.serialized, .timeLimit(.minutes(5))) struct HistoryTests {
    private func failure(_ body: () async throws(StreamError) -> Void) async -> StreamError? {
        do throws(StreamError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    // MARK: STARTTLS

    /// Bytes between the server's consent and the handshake were injected. They end the connection: they are not kept for later, and
    /// nothing continues without TLS.
    @Test("CVE-2021-22947, CVE-2021-22946: bytes before the handshake end the stream", arguments: [false, true])
    func bytesBeforeTheHandshake(cameAlready: Bool) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.expect("STARTTLS\r\n")
            try connection.send(cameAlready ? "220 Go.\r\nEVIL\r\n" : "220 Go.\r\n")
            if !cameAlready {
                // The client has begun the handshake; the reply is not TLS.
                try connection.read(1)
                try connection.send("EVIL\r\n")
            }
            try connection.readToEnd()
        }
        let plain = StreamPair(address: .ip(.v4(.loopback), port: UInt16(server.port)))
        try plain.open()
        try await plain.output.writeAll(Array("STARTTLS\r\n".utf8))
        var reply: [UInt8] = []
        while reply.count < 9 { reply += try await plain.input.read(upTo: 9 - reply.count) }
        let error = await failure { () async throws(StreamError) in
            let secured = try StreamPair(securing: plain, with: TLSConfiguration(), peerName: "localhost")
            defer { secured.close() }
            try secured.open()
            try await secured.output.opened()
        }
        #expect(error?.tlsFailure == .protocolViolation)
        #expect(error?.description.contains(cameAlready ? "inserted" : "EVIL") == true, "\(String(describing: error))")
        #expect(await failure { () async throws(StreamError) in _ = try await plain.input.read(upTo: 1) } != nil)
        plain.close()
        let received = try #require(await server.finished().first).received.dropFirst(10)
        // At most a ClientHello, and never plaintext.
        #expect(cameAlready ? received.isEmpty : received.first == 22)
    }

    // MARK: Trust

    /// A peer that one configuration accepted is verified again for the next one, whatever was cached meanwhile.
    @Test("CVE-2025-14819: with other trust, the peer is verified again")
    func aChangedTrustVerifiesAgain() async throws {
        let matrix = try CertificateMatrix.shared()
        let server = OpenSSLServer(.statusPage, identity: matrix.identity(.fromRoot))
        try server.start()
        defer { server.stop() }
        func connect(_ change: (inout TLSConfiguration) -> Void) async throws -> TLSFailure? {
            var configuration = TLSConfiguration()
            configuration.trust = .only(file: matrix.root)
            change(&configuration)
            let pair = StreamPair(
                addresses: [.ip(.v4(.loopback), port: UInt16(server.port))], name: "localhost")
            try pair.set(.tls, to: configuration)
            defer { pair.close() }
            return await failure { () async throws(StreamError) in
                try pair.open()
                try await pair.output.writeAll(Array("GET / HTTP/1.0\r\n\r\n".utf8))
                // Tickets arrive with the response.
                _ = try await pair.input.read(upTo: 1)
                // A server's own certificate is trusted if it is named, although it is not a root.
            }?.tlsFailure
        }
        let leaf = try Certificate.all(file: matrix.identity(.fromRoot).chain)[0]
        for _ in 0..<2 {
            #expect(try await connect { _ in } == nil)
            #expect(try await connect { $0.trust = .only(file: matrix.expiredRoot) } == .unknownRoot)
            #expect(try await connect { $0.trust = .only([leaf]) } == nil)
            #expect(try await connect { $0.trust = .only([]) } == .unknownRoot)
            #expect(try await connect { $0.peerName = "other.test" } == .hostNameMismatch)
            #expect(
                try await connect {
                    $0.insecureAllowsAnyRoot = true
                    $0.trust = .only([])
                } == nil)
        }
    }

    /// RFC 9525 §6.3: a wildcard is a whole label, before and after IDNA.
    @Test(
        "CVE-2023-28321: no part of an internationalized name is matched", arguments: ["xü.peers.test", "ü.peers.test"])
    func internationalizedNames(_ name: String) async throws {
        let matrix = try CertificateMatrix.shared()
        for (entry, isRight) in [(CertificateMatrix.Entry.wildcard, true), (.partialWildcard, false)] {
            let server = OpenSSLServer(.statusPage, identity: matrix.identity(entry))
            try server.start()
            defer { server.stop() }
            var configuration = TLSConfiguration()
            configuration.trust = .only(file: matrix.root)
            let pair = StreamPair(addresses: [.ip(.v4(.loopback), port: UInt16(server.port))], name: name)
            try pair.set(.tls, to: configuration)
            defer { pair.close() }
            let error = await failure { () async throws(StreamError) in
                try pair.open()
                try await pair.output.opened()
            }
            #expect(error?.tlsFailure == (isRight ? nil : .hostNameMismatch))
        }
    }

    // MARK: Proxies

    enum Ending: CaseIterable {
        case finish, reset, waits, inHead, inBody
    }

    /// Whatever a proxy's response to CONNECT is, and however it ends: the error describes it, and the connection is closed once.
    @Test("CVE-2022-42915, CVE-2022-43552: every refusal of a tunnel, with every end", arguments: Ending.allCases)
    func everyRefusalOfATunnel(_ ending: Ending) async throws {
        let statuses = [
            101, 199, 300, 301, 304, 400, 401, 403, 404, 405, 407, 418, 429, 451, 500, 502, 503, 504, 511, 599, 999,
        ]
        for status in statuses {
            let server = try ScriptedServer { connection throws(PeerError) in
                try connection.readHead()
                let head = "HTTP/1.1 \(status) No\r\nContent-Length: 4\r\n\r\n"
                switch ending {
                case .finish, .reset, .waits: try connection.send(head + "why?")
                case .inHead: try connection.send(String(head.prefix(20)))
                case .inBody: try connection.send(head + "wh")
                }
                switch ending {
                case .finish, .inHead, .inBody: connection.finish()
                case .reset: return connection.reset()
                case .waits: break
                }
                try connection.readToEnd()
            }
            let route = ProxyRoute(HTTPProxy(host: "127.0.0.1", port: UInt16(server.port)))
            let pair = StreamPair(host: "target.test", port: 443)
            try pair.set(.proxies, to: [route])
            let refused = await failure { () async throws(StreamError) in
                try pair.open()
                try await pair.input.opened()
            }
            #expect(refused != nil, "\(status) \(ending)")
            pair.close()
            // Closing twice has no further effect.
            pair.close()
            let url = try #require(URL(string: "https://target.test/"))
            let load = ReadStream(request: try HTTPRequest(method: .get, url: url))
            try load.set(.proxies, to: [route])
            let error = await failure { () async throws(StreamError) in
                try load.open()
                _ = try await load.read(upTo: 10)
            }
            // A 407 is a response with a challenge, without the body of the refusal.
            let isAnswer = status == 407 && ending != .inHead
            #expect((error == nil) == isAnswer || ending == .reset, "\(status) \(ending)")
            load.close()
            // Both scripts have reached the end of their connection.
            for recording in try await server.finished(connections: 2) {
                #expect(recording.text.hasPrefix("CONNECT target.test:443 "))
            }
        }
    }

    /// Two proxies that record everything, and loads that alternate between them.
    @Test("CVE-2026-6253, CVE-2026-9079, CVE-2026-7168, CVE-2026-8927: a proxy never sees another's secret")
    func secretsStayAtTheirProxy() async throws {
        func recordingProxy() throws -> ScriptedServer {
            try ScriptedServer { connection throws(PeerError) in
                while let head = try? connection.readHead() {
                    let isTunnel = head.hasPrefix("CONNECT")
                    // The tunnel is refused, after the request has been recorded.
                    let status = isTunnel ? "403 No" : "200 OK"
                    try connection.send("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nok")
                }
            }
        }
        let (a, b) = (try recordingProxy(), try recordingProxy())
        func hop(_ server: ScriptedServer, _ password: String?) throws -> any StreamProxy {
            var proxy = ProxyServer(
                .http, host: "127.0.0.1", port: UInt16(server.port), user: password.map { _ in "ann" },
                password: password)
            proxy.sendsLoginUnasked = true
            return try proxy.hop()
        }
        let hops = [try hop(a, "secret-a"), try hop(b, "secret-b"), try hop(a, nil), try hop(b, nil)]
        let pool = HTTPConnectionPool()
        defer { pool.drain() }
        var expected: [[String]] = [[], []]
        for first in hops.indices {
            for second in hops.indices {
                for index in [first, second] {
                    for url in ["http://target.test/\(index)", "https://target.test/\(index)"] {
                        let url = try #require(URL(string: url))
                        let load = ReadStream(request: try HTTPRequest(method: .get, url: url))
                        try load.set(.proxies, to: [ProxyRoute(hops: [hops[index]])])
                        try load.set(.http(\.pool), to: pool)
                        try load.set(.http(\.keepsConnection), to: true)
                        _ = await failure { () async throws(StreamError) in
                            try load.open()
                            while try await !load.read(upTo: 100).isEmpty {}
                        }
                        load.close()
                        let secret = index < 2 ? Data("ann:secret-\(["a", "b"][index])".utf8).base64EncodedString() : ""
                        expected[index % 2].append(secret)
                    }
                }
            }
        }
        for (server, expected) in zip([a, b], expected) {
            let lines = server.recordings.flatMap { $0.text.components(separatedBy: "\r\n") }
            let secrets = lines.filter { $0.lowercased().hasPrefix("proxy-authorization: basic ") }
                .map { String($0.dropFirst(27)) }
            // Connections are kept, so their order is not chronological.
            #expect(secrets.sorted() == expected.filter { !$0.isEmpty }.sorted())
            #expect(lines.count { $0.contains("target.test") && $0.contains(" HTTP/1.1") } == expected.count)
        }
    }
}
