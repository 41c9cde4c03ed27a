import HTTPStream
import Peers
import Testing

/// The version of HTTP that a client and a server agree on.
@Suite(.timeLimit(.minutes(5))) struct NegotiationTests {
    @Test("ALPN chooses HTTP/2 over TLS with a verified certificate", arguments: honestServers)
    func choosesHTTP2(_ implementation: HTTP2Server.Implementation) async throws {
        try await withServer(implementation, isSecure: true) { server in
            let session = try makeSession(isSecure: true)
            let stream = try await session.open(HTTPRequest(method: .get, url: url(server.url("/hello"))))
            #expect(stream[.httpResponse]?.status == .ok && stream[.httpResponse]?.version == .http20)
            let tls = try #require(stream[.tlsInformation])
            #expect(tls.applicationProtocol == "h2" && tls.isVerified)
            _ = try await stream.readAll(limit: 100)
            stream.close()

            let distrustful = try makeSession(isSecure: true) {
                $0.options.tls.trust = .only(file: try CertificateAuthority.shared().unknownRoot)
            }
            let error = await #expect(throws: StreamError.self) {
                _ = try await distrustful.get(url(server.url("/hello")))
            }
            #expect(error?.tlsFailure == .unknownRoot)
        }
    }

    @Test("prior knowledge over TCP", arguments: honestServers)
    func priorKnowledge(_ implementation: HTTP2Server.Implementation) async throws {
        try await withServer(implementation, isSecure: false) { server in
            let response = try await makeSession(isSecure: false).get(url(server.url("/hello")))
            #expect(response.status == .ok && response.version == .http20)
        }
    }

    /// nginx understands no HTTP/1.1 at a port that is plain and for HTTP/2.
    @Test(
        "a client that does not offer HTTP/2 gets HTTP/1.1",
        arguments: [(HTTP2Server.Implementation.nginx, true), (.apache, true), (.apache, false)])
    func offersHTTP1(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        try await withServer(implementation, isSecure: isSecure) { server in
            // Over TCP, nothing is known of the server.
            let session = try makeSession(isSecure: isSecure) { $0.options.versions = isSecure ? .http1 : .automatic }
            let response = try await session.get(url(server.url("/hello")))
            #expect(response.text == "hello\n" && response.version == .http11)
        }
    }

    /// nginx refuses the handshake of a client that offers only other protocols; Apache ignores the offer.
    @Test("a server without HTTP/2 is used with HTTP/1.1, also by loads that wait for the first connection")
    func serversWithoutHTTP2() async throws {
        let nginx = Nginx()
        let apache = Apache()
        try nginx.start()
        try apache.start()
        defer {
            nginx.stop()
            apache.stop()
        }
        try apache.write("hello", Array("hello\n".utf8))
        for address in [nginx.url(.tls, "/hello"), apache.url(.tls, "/hello")] {
            let session = try makeSession(isSecure: true)
            try await withThrowingTaskGroup { group in
                for _ in 0..<12 {
                    group.addTask {
                        let response = try await session.get(url(address))
                        #expect(response.text == "hello\n" && response.version == .http11)
                    }
                }
                try await group.waitForAll()
            }
            let demanding = try makeSession(isSecure: true) { $0.options.versions = .http2 }
            await #expect(throws: StreamError.self) { _ = try await demanding.get(url(address)) }
        }
        let knowing = try makeSession(isSecure: false)
        for address in [nginx.url(.plain, "/hello"), apache.url(.plain, "/hello")] {
            await #expect(throws: StreamError.self) { _ = try await knowing.get(url(address)) }
        }
    }
}
