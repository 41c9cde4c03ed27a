import EventLoops
import FoundationEssentials
import HTTP2
import HTTPMessage
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

/// Which version of HTTP a connection over TLS carries: the server chooses one that the load offers (RFC 9113 §3.2).
@Suite(.timeLimit(.minutes(5))) struct HTTP2NegotiationTests {
    private typealias Server = NegotiatingServer

    private func session(_ versions: HTTPVersions, _ change: (inout HTTPOptions) -> Void = { _ in }) throws
        -> HTTPSession
    {
        var configuration = HTTPSession.Configuration()
        configuration.options.tls = try TestIdentity.trusted()
        configuration.options.versions = versions
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        change(&configuration.options)
        return HTTPSession(configuration)
    }

    @Test(
        "the server's choice",
        arguments: [
            (["h2", "http/1.1"], HTTPVersions.automatic, HTTPVersion.http20), (["http/1.1"], .automatic, .http11),
            ([], .automatic, .http11), (["h2", "http/1.1"], .http1, .http11), (["h2"], .http2, .http20),
        ])
    func choice(server protocols: [String], versions: HTTPVersions, version: HTTPVersion) async throws {
        let server = try Server(protocols)
        let session = try session(versions)
        for _ in 0..<2 { #expect(try await session.get(server.url).version == version) }
        #expect(server.connections.withLock { $0 } == 1)
    }

    @Test("a server that does not choose HTTP/2, which alone is permitted")
    func refusal() async throws {
        let server = try Server([])
        let session = try session(.http2)
        let error = await #expect(throws: StreamError.self) { try await session.get(server.url) }
        #expect(error?.description.contains("HTTP/2") == true)
    }

    @Test("a cipher suite that may not carry HTTP/2 ends the connection (RFC 9113 §9.2.2)", arguments: [true, false])
    func inadequateSecurity(isAdequate: Bool) async throws {
        let suite = isAdequate ? "ECDHE-ECDSA-AES128-GCM-SHA256" : "ECDHE-ECDSA-AES128-SHA256"
        let server = try Server(["h2"], suite: suite)
        let session = try session(.automatic)
        do throws(StreamError) {
            let response = try await session.get(server.url)
            #expect(isAdequate && response.version == .http20)
        } catch {
            #expect(!isAdequate && "\(error)".contains("INADEQUATE_SECURITY"), "\(error)")
        }
    }

    @Test("the protocols of the caller's TLS configuration are offered instead of those of the versions")
    func ownProtocols() async throws {
        let server = try Server(["h2", "http/1.1"])
        let session = try session(.http1) { $0.tls.applicationProtocols = ["h2"] }
        #expect(try await session.get(server.url).version == .http20)
    }

    @Test(
        "loads that begin together open one connection to a server of HTTP/2, and go on to open more to one of HTTP/1.1"
    )
    func firstLoads() async throws {
        for (protocols, isShared) in [(["h2"], true), (["http/1.1"], false)] {
            let server = try Server(protocols)
            let session = try session(.automatic)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        let status = try await session.get(server.url).status
                        #expect(status == .ok)
                    }
                }
                try await group.waitForAll()
            }
            if isShared { #expect(server.connections.withLock { $0 } == 1) }
        }
    }

    @Test("a server that demands HTTP/1.1 gets it, also for later requests")
    func requiresHTTP1() async throws {
        let server = try Server(["h2", "http/1.1"]) { (machine, event, _) in
            if case .request(let stream, _) = event { machine.close(stream, code: .http11Required, now: .zero) }
            return nil
        }
        let session = try session(.automatic)
        for _ in 0..<2 { #expect(try await session.get(server.url).version == .http11) }
        #expect(server.connections.withLock { $0 } == 2)
    }

    @Test("a request of HTTP/1.0 is sent as one")
    func olderVersion() async throws {
        let server = try Server(["h2", "http/1.1"])
        let session = try session(.automatic)
        let request = try HTTPRequest(method: .get, url: server.url, version: .http10)
        #expect(try await session.load(request).version == .http11)
    }

    @Test("an offer to switch protocols is made over HTTP/1.1")
    func upgrade() async throws {
        let server = try Server(["h2", "http/1.1"])
        let session = try session(.automatic)
        let request = try HTTPRequest(method: .get, url: server.url)
        guard case .declined(let response, let stream) = try await session.upgrade(request, to: "websocket") else {
            Issue.record("it switched")
            return
        }
        #expect(response.version == .http11)
        stream.close()
    }

    @Test("HTTP/2 alone is refused for a request that cannot use it, with the reason")
    func impossible() async throws {
        let server = HTTP2Peer()
        let url = try #require(URL(string: "http://www.example.org/"))
        func failure(_ fields: HTTPFields = [:], _ change: (inout HTTPOptions) -> Void = { _ in }) async throws
            -> String?
        {
            var request = try HTTPRequest(method: .get, url: url)
            request.fields = fields
            let stream = try ReadStream(request: request, options: server.options(change))
            defer { stream.close() }
            return await #expect(throws: StreamError.self) {
                try stream.open()
                _ = try await stream.response()
            }?.description
        }
        let proxy = ProxyRoute(HTTPProxy(host: "127.0.0.1", port: 1))
        #expect(try await failure { $0.connection[.proxies] = [proxy] }?.contains("a proxy receives it") == true)
        #expect(try await failure(["Upgrade": "x"])?.contains("it offers an upgrade") == true)
        #expect(try await failure(["Authorization": "NTLM x"])?.contains("its login belongs") == true)
        #expect(server.connectionCount == 0)
    }
}
