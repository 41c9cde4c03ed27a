import FoundationEssentials
import NetKit
import StreamKitTesting
import Testing

/// A failed load is diagnosed from its own facts, without a second request.
@Suite struct LoadDiagnosisTests {
    private let deadEnd: RefusedPort

    init() throws { deadEnd = try RefusedPort() }

    private func ended(_ stream: ReadStream) async {
        do throws(StreamError) {
            try stream.open()
            while true {
                let bytes = try await stream.read(upTo: 4096)
                if bytes.isEmpty { return }
            }
        } catch {}
    }

    private func cause(_ stream: ReadStream, _ url: URL) async throws -> Finding? {
        let error = stream.error
        let diagnosis = await (try NetDiagnostic(load: stream, of: url)).diagnose()
        #expect(stream.error == error)
        return diagnosis.cause
    }

    @Test(
        arguments: [
            ("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", FindingCode.serverBroken),
            ("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n", .credentialsWanted),
            ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", .requestRefused),
            ("SSH-2.0-test\r\n\r\n", .notHTTP),
            ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .answerMissing),
        ])
    func anHTTPLoadIsNotMadeAgain(_ answer: String, _ code: FindingCode) async throws {
        let server = try AnsweringServer(answer)
        let url = URL(string: "http://127.0.0.1:\(server.port)/page")!
        let stream = try ReadStream(httpURL: url)
        await ended(stream)
        #expect(try await cause(stream, url)?.code == code)
        #expect(server.connections == 1)
    }

    /// The report of a reused connection has no address; the diagnosis still names the server's.
    @Test func theAddressOfAReusedConnection() async throws {
        let server = try AnsweringServer("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
        let url = URL(string: "http://127.0.0.1:\(server.port)/")!
        let session = HTTPSession()
        let request = try HTTPRequest(method: .get, url: url)
        var last: ReadStream?
        for _ in 1...2 {
            let stream = try await session.open(request)
            _ = try await stream.response()
            _ = try await stream.read(upTo: 1)
            last = stream
        }
        let diagnosis = await (try NetDiagnostic(load: try #require(last), of: url)).diagnose()
        #expect(diagnosis.ladder.first { $0.rung == .connection }?.address == "127.0.0.1:\(server.port)")
    }

    @Test func aLoadThatWorkedIsFine() async throws {
        let server = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let url = URL(string: "http://127.0.0.1:\(server.port)/")!
        let stream = try ReadStream(httpURL: url)
        await ended(stream)
        #expect(try await cause(stream, url) == nil)
        #expect(server.connections == 1)
    }

    @Test func aRefusedConnectionIsNotMadeAgain() async throws {
        let url = URL(string: "http://127.0.0.1:\(deadEnd.port)/")!
        let stream = try ReadStream(httpURL: url)
        await ended(stream)
        #expect(try await cause(stream, url)?.code == .portRefused)
    }

    /// A response of a script's server is known; the lack of one is diagnosed by the route to the server.
    @Test func aProxyScript() async throws {
        func found(_ place: String) async throws -> Finding? {
            let url = URL(string: "http://www.example.test/")!
            let stream = try ReadStream(httpURL: url)
            var settings = ProxySettings()
            settings.script = .url(place)
            try stream.set(.http(\.proxySettings), to: settings)
            await ended(stream)
            let diagnosis = await (try NetDiagnostic(load: stream, of: url)).diagnose()
            // On a machine without a network, that is the cause.
            return ([diagnosis.cause].compactMap(\.self) + diagnosis.consequences).first { $0.rung == .proxy }
        }
        let dead = try await found("http://127.0.0.1:\(deadEnd.port)/proxy.pac")
        #expect(dead?.code == .proxyScriptUnreachable)
        #expect(dead?.evidence.first?.hasPrefix("127.0.0.1:\(deadEnd.port): ") == true)
        let refusing = try AnsweringServer("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
        #expect(try await found("http://127.0.0.1:\(refusing.port)/proxy.pac")?.code == .proxyScriptUnreachable)
        #expect(refusing.connections == 1)
        let wrong = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nnonsense")
        #expect(try await found("http://127.0.0.1:\(wrong.port)/proxy.pac")?.code == .proxyScriptBroken)
        #expect(wrong.connections == 1)
    }

    @Test func redirectsInACircle() async throws {
        let server = try AnsweringServer("HTTP/1.1 302 Round\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")
        let url = URL(string: "http://127.0.0.1:\(server.port)/")!
        let stream = try ReadStream(httpURL: url)
        try stream.set(.http(\.followsRedirects), to: true)
        await ended(stream)
        let before = server.connections
        #expect(try await cause(stream, url)?.code == .redirectLoop)
        #expect(server.connections == before)
    }

    @Test(arguments: [
        ("407 Login", FindingCode.proxyCredentialsWanted), ("403 No", .proxyForbids), ("502 Gone", .proxyFails),
    ])
    func aProxyRefusalIsNotRequestedAgain(_ status: String, _ code: FindingCode) async throws {
        let proxy = try AnsweringServer("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
        let url = URL(string: "https://www.example.test/")!
        let stream = try ReadStream(httpURL: url)
        try stream.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "127.0.0.1", port: proxy.port))])
        await ended(stream)
        let found = try await cause(stream, url)
        #expect(found?.code == code, "\(String(describing: found))")
        #expect(proxy.connections == 1)
    }

    @Test(arguments: ["http", "https"]) func aProxyThatWasNeverReached(_ scheme: String) async throws {
        let url = URL(string: "\(scheme)://www.example.test/")!
        var settings = ProxySettings()
        settings.http = [try ProxyServer("http://127.0.0.1:\(deadEnd.port)")]
        settings.https = settings.http
        let bySettings = try ReadStream(httpURL: url)
        try bySettings.set(.http(\.proxySettings), to: settings)
        let byRoute = try ReadStream(httpURL: url)
        try byRoute.set(.proxies, to: [ProxyRoute(HTTPProxy(host: "127.0.0.1", port: deadEnd.port))])
        for stream in [bySettings, byRoute] {
            await ended(stream)
            let found = try await cause(stream, url)
            #expect(found?.code == .proxyUnreachable, "\(String(describing: found))")
        }
    }

    @Test func aLoginThatFTPRefused() async throws {
        let server = try AnsweringServer(greeting: "220 Ready\r\n", "331 Password\r\n", "530 No\r\n")
        let url = URL(string: "ftp://ann:secret@127.0.0.1:\(server.port)/file")!
        let stream = try ReadStream(ftpURL: url)
        await ended(stream)
        let found = try await cause(stream, url)
        #expect(found?.code == .credentialsRefused, "\(String(describing: stream.error))")
        #expect(!"\(String(describing: found))".contains("secret"))
        #expect(server.connections == 1)
    }

    @Test func anInvalidFTPServer() async throws {
        let server = try AnsweringServer(greeting: "SSH-2.0-test\r\n")
        let url = URL(string: "ftp://127.0.0.1:\(server.port)/file")!
        let stream = try ReadStream(ftpURL: url)
        await ended(stream)
        #expect(try await cause(stream, url)?.code == .notFTP, "\(String(describing: stream.error))")
    }
}
