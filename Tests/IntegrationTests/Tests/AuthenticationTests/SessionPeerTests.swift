import Foundation
import HTTPAuth
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Sessions against servers that require a login.
@Suite(.serialized) struct SessionPeerTests {
    private func session(_ user: String, _ password: String) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.prompt = { $0.failure == nil ? .init(user: user, password: password) : nil }
        return HTTPSession(configuration)
    }

    // Parity: HM-060 (Apache, lighttpd)
    @Test(arguments: Servers.names)
    func loadsWithALogin(_ name: String) async throws {
        let request = try HTTPRequest(method: .get, url: Servers.url(name))
        let session = session("alice", "open sesame")
        for _ in 0..<3 {
            let response = try await session.load(request)
            #expect(response.status == .ok && response.body == Array("treasure".utf8))
        }
        #expect(try await self.session("alice", "wrong").load(request).status == .unauthorized)
    }

    /// A stored password is not sent before the server's challenge, and afterwards without another one.
    // Parity: HA-026, HA-039 (Apache)
    @Test(arguments: ["basic", "digest"])
    func aStoredPasswordAnswersAChallenge(_ scheme: String) async throws {
        let apache = Apache(listeners: [.plain])
        try apache.start()
        defer { apache.stop() }
        try apache.write("secret.txt", Array("treasure".utf8))
        let memory = MemoryCredentialStore()
        let space = ProtectionSpace(
            .origin, scheme: "http", host: "localhost", port: apache.port(.plain), realm: "peers")
        memory.save(Credential(user: "alice", password: "open sesame", for: space))
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.stores = CredentialSearchList(origins: [memory])
        let session = HTTPSession(configuration)
        let url = try #require(URL(string: apache.url(.plain, "/\(scheme)/secret.txt")))
        for _ in 0..<3 {
            #expect(try await session.load(HTTPRequest(method: .get, url: url)).body == Array("treasure".utf8))
        }
        #expect(await apache.logs { Self.statuses($0).count == 4 }, "\(apache.log)")
        #expect(Self.statuses(apache.log) == [401, 200, 200, 200])
    }

    /// The statuses in Apache's log of requests.
    private static func statuses(_ log: String) -> [Int] {
        log.split(separator: "\n").filter { $0.contains("HTTP/1.1\" ") }.compactMap { line in
            line.split(separator: " ").dropLast().last.flatMap { Int($0) }
        }
    }

    @Test func loadsWithALoginOverTLS() async throws {
        let url = try #require(URL(string: Servers.apache.get().url(.tls, "/digest/secret.txt")))
        var configuration = HTTPSession.Configuration()
        configuration.policy.encryptedOnly = [.basic, .digest]
        configuration.options.tls.trust = .only(file: try CertificateAuthority.shared().root)
        configuration.prompt = { question in
            #expect(question.text.hasSuffix("for \"peers\" (Digest)."))
            return .init(user: "alice", password: "open sesame")
        }
        let session = HTTPSession(configuration)
        #expect(try await session.load(HTTPRequest(method: .get, url: url)).status == .ok)
        let open = try HTTPRequest(method: .get, url: Servers.url("apache digest"))
        #expect(try await session.load(open).status == .unauthorized)
    }

    /// Another certificate of the server resets nothing: the session sends its credentials to a certificate that it trusts, without a
    /// prompt or a challenge, and nothing to another.
    // Parity: HA-039 (Apache)
    @Test("HA-039: a server with another certificate", arguments: ["basic", "digest"])
    func aServerWithAnotherCertificate(_ scheme: String) async throws {
        let apache = Apache(listeners: [.tls])
        try apache.start()
        defer { apache.stop() }
        try apache.write("secret.txt", Array("treasure".utf8))
        let authority = try CertificateAuthority.shared()
        let roots = FileManager.default.temporaryDirectory.appending(path: "roots-\(UUID()).pem")
        defer { try? FileManager.default.removeItem(at: roots) }
        try [authority.root, authority.unknownRoot].map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
            .write(to: roots, atomically: true, encoding: .utf8)
        let prompts = Locked(0)
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.options.tls.trust = .only(file: roots.path)
        configuration.prompt = { _ in
            prompts.withLock { $0 += 1 }
            return .init(user: "alice", password: "open sesame")
        }
        let session = HTTPSession(configuration)
        let url = try #require(URL(string: apache.url(.tls, "/\(scheme)/secret.txt")))
        let request = try HTTPRequest(method: .get, url: url)
        #expect(try await session.load(request).body == Array("treasure".utf8))

        try await apache.restart(with: .unknownRoot)
        #expect(try await session.load(request).body == Array("treasure".utf8))

        try await apache.restart(with: .selfSigned)
        do throws(StreamError) {
            _ = try await session.load(request)
            Issue.record("a certificate without trust was accepted")
        } catch {
            #expect(error.tlsFailure == .noRoot, "\(error)")
        }

        try await apache.restart(with: .good)
        #expect(try await session.load(request).body == Array("treasure".utf8))
        #expect(await apache.logs { Self.statuses($0).count >= 4 }, "\(apache.log)")
        #expect(Self.statuses(apache.log) == [401, 200, 200, 200], "\(apache.log)")
        #expect(prompts.withLock { $0 } == 1)
    }

    /// The cookies that nginx sets are those that it parses from the session's next request.
    @Test func cookiesOfNginx() async throws {
        let nginx = Nginx()
        try nginx.start()
        let session = HTTPSession()
        for (path, expected) in [("/cookies", ""), ("/request", "a=1; b=2")] {
            let url = try #require(URL(string: nginx.url(.plain, path)))
            let response = try await session.get(url)
            let text = String(decoding: response.body, as: UTF8.self)
            #expect(response.status == .ok && (expected.isEmpty || text.contains("cookie=\(expected)\n")), "\(text)")
        }
        #expect(session.cookies?.all.map(\.isHTTPOnly) == [false, true])
    }

    /// A body is sent again with the credentials.
    @Test func bodiesAreSentAgain() async throws {
        let url = try Servers.url("apache digest")
        let session = session("alice", "open sesame")
        let body = HTTPBody.stream(length: 300_000) { ReadStream(bytes: [UInt8](repeating: 7, count: 300_000)) }
        let response = try await session.load(HTTPRequest(method: .post, url: url), body: body)
        // Apache responds as to GET once it has read the complete body.
        #expect(response.status == .ok)
    }

    /// A peer that records the body, which Apache does not.
    @Test("A body is sent again completely with the credentials, from its beginning")
    func theSameBodyIsSentAgain() async throws {
        let expected = (0..<300_000).map { UInt8($0 % 251) }
        let server = try ScriptedServer { connection throws(PeerError) in
            let head = try connection.readHead()
            _ = try connection.read(300_000)
            let isSigned = head.lowercased().contains("\r\nauthorization: basic ")
            try connection.send(
                isSigned
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                    : "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let session = session("alice", "open sesame")
        let body = HTTPBody.stream(length: 300_000) { ReadStream(bytes: expected) }
        let response = try await session.load(HTTPRequest(method: .post, url: url), body: body)
        #expect(response.status == .ok)
        let recordings = try await server.finished(connections: 2)
        #expect(recordings.count == 2)
        for recording in recordings { #expect(Array(recording.received.suffix(300_000)) == expected) }
    }
}
