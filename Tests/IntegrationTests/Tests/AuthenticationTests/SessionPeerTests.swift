import Foundation
import HTTPAuth
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Sessions against servers that ask for passwords.
@Suite(.serialized) struct SessionPeerTests {
    private func session(_ user: String, _ password: String) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.pool = HTTPConnectionPool()
        configuration.prompt = { $0.failure == nil ? .init(user: user, password: password) : nil }
        return HTTPSession(configuration)
    }

    @Test(arguments: Servers.names)
    func loads(_ name: String) async throws {
        let request = try HTTPRequest(method: .get, url: Servers.url(name))
        let session = session("alice", "open sesame")
        for _ in 0..<3 {
            let response = try await session.load(request)
            #expect(response.status == .ok && response.body == Array("treasure".utf8))
        }
        #expect(try await self.session("alice", "wrong").load(request).status == .unauthorized)
    }

    @Test func encrypted() async throws {
        let url = try #require(URL(string: Servers.apache.get().url(.tls, "/digest/secret.txt")))
        var tls = TLSConfiguration()
        tls.trust = .only(file: try CertificateAuthority.shared().root)
        var configuration = HTTPSession.Configuration()
        configuration.policy.encryptedOnly = [.basic, .digest]
        configuration.prepare = { [tls] (stream) throws(StreamError) in try stream.set(.tls, to: tls) }
        configuration.prompt = { question in
            #expect(question.text.hasSuffix("for \"peers\"."))
            return .init(user: "alice", password: "open sesame")
        }
        let session = HTTPSession(configuration)
        #expect(try await session.load(HTTPRequest(method: .get, url: url)).status == .ok)
        let open = try HTTPRequest(method: .get, url: Servers.url("apache digest"))
        #expect(try await session.load(open).status == .unauthorized)
    }

    /// A body goes out again with the credentials.
    @Test func sendsBodiesAgain() async throws {
        let url = try Servers.url("apache digest")
        let session = session("alice", "open sesame")
        let body = HTTPBody.stream(length: 300_000) { ReadStream(bytes: [UInt8](repeating: 7, count: 300_000)) }
        let response = try await session.load(HTTPRequest(method: .post, url: url), body: body)
        #expect(response.status != .unauthorized && response.status.code != 400)
    }
}
