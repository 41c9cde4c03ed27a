import EventLoops
import FoundationEssentials
import HTTPMessage
@_spi(Packages) import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

@Suite(.timeLimit(.minutes(5))) struct RedirectHookTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func redirect(_ location: String, _ status: Int = 302) -> String {
        "HTTP/1.1 \(status) X\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n"
    }

    private func session(_ decide: (@Sendable (HTTPRedirect) async -> HTTPRequest?)? = nil) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.options.pool = HTTPConnectionPool()
        configuration.proxies = .direct
        configuration.onRedirect = decide
        return HTTPSession(configuration)
    }

    private func request(_ server: TurnServer) throws -> HTTPRequest {
        try HTTPRequest(method: .get, url: #require(URL(string: "http://127.0.0.1:\(server.port)/0")))
    }

    @Test func theHookSeesEachRedirectAndMayChangeTheRequest() async throws {
        let server = try TurnServer([Self.redirect("/1"), Self.redirect("/2", 307), Self.ok])
        let seen = Locked<[String]>([])
        let session = session { redirect in
            seen.withLock {
                $0.append(
                    "\(redirect.count) \(redirect.response.status.code) \(redirect.request.url?.path() ?? "") "
                        + (redirect.next.url?.path() ?? ""))
            }
            var next = redirect.next
            try? next.fields.set("\(redirect.count)", for: "X-Hop")
            return next
        }
        let stream = try await session.open(request(server))
        defer { stream.close() }
        #expect(seen.withLock { $0 } == ["0 302 /0 /1", "1 307 /1 /2"])
        #expect(server.requests.dropFirst(2).first?.contains("X-Hop: 1\r\n") == true)
        let history = stream[.httpRedirects] ?? []
        #expect(history.map(\.status.code) == [302, 307])
        #expect(history.map { $0.url?.path() } == ["/0", "/1"] && stream[.httpFinalURL]?.path() == "/2")
    }

    @Test func aRedirectThatIsNotFollowedIsTheResult() async throws {
        let server = try TurnServer([Self.redirect("/1"), Self.ok])
        let response = try await session { _ in nil }.load(request(server))
        #expect(response.status == .found && server.requests.count == 1)
    }

    @Test func aRequestWithABodyIsRefused() async throws {
        let server = try TurnServer([Self.redirect("/1"), Self.ok])
        let session = session { redirect in
            var next = redirect.next
            next.body = [65]
            return next
        }
        await #expect(throws: StreamError.self) { try await session.load(request(server)) }
        #expect(server.requests.count == 1)
    }

    @Test func streamsKeepTheHistoryAsWell() async throws {
        let server = try TurnServer([Self.redirect("/1"), Self.ok])
        let stream = ReadStream(request: try request(server))
        try stream.set(.http(\.followsRedirects), to: true)
        try stream.open()
        #expect(try await stream.response().status == .ok)
        #expect(stream[.httpRedirects]?.map(\.status.code) == [302])
        stream.close()
    }

    // MARK: Reports of errors, progress

    @Test func errorsHaveTheReportOfTheirConnection() async throws {
        let port = try RefusedPort()
        let error = await #expect(throws: StreamError.self) {
            try await session().get(#require(URL(string: "http://127.0.0.1:\(port.port)/")))
        }
        #expect(error?.report?.steps.first.map { "\($0)" }?.contains("\(port.address)") == true)
        #expect(StreamError.closed.report == nil && error == error?.with(ConnectionReport()))
    }

    @Test func uploadsAndDownloadsReportProgress() async throws {
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0))
        let size = 200_000
        let running = Task {
            try await listener.run { client in
                var count = 0
                while count < size, let bytes = try? await client.input.read(upTo: 65536), !bytes.isEmpty {
                    count += bytes.count
                }
                try? await client.output.writeAll(Array(Self.ok.utf8))
            }
        }
        let reports = Locked<[HTTPProgress]>([])
        var request = try HTTPRequest(
            method: .put, url: #require(URL(string: "http://127.0.0.1:\(listener.port ?? 0)/")))
        request.body = [UInt8](repeating: 7, count: size)
        _ = try await session().load(request) { progress in reports.withLock { $0.append(progress) } }
        let sent = reports.withLock { $0.map(\.sent) }
        #expect(sent.count >= 4 && sent == sent.sorted() && sent.last == Int64(size))
        let all = HTTPProgress(sent: Int64(size), toSend: Int64(size), received: 2, toReceive: 2)
        let list = reports.withLock { $0 }
        #expect(list.last == all && zip(list, list.dropFirst()).allSatisfy { $0 != $1 })
        listener.stop()
        try await running.value
    }
}
