import Foundation
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Loads that cannot work, and their errors: domain, code and message (HM-062, HM-105…HM-107).
@Suite(.serialized) struct FailureTests {
    @Test(
        arguments: ["gopher://127.0.0.1/", "file:///etc/passwd", "http:///path", "http://127.0.0.1:0/"],
        Style.allCases)
    func invalidURLs(_ url: String, _ style: Style) async throws {
        let loaded = try await get(url, style)
        #expect(loaded.error?.domain == .http)
        #expect(loaded.error?.code == HTTPErrorNumber.badURL.rawValue)
        #expect(loaded.error?.description.hasPrefix("The URL cannot be requested") == true)
    }

    @Test(arguments: Style.allCases)
    func ftpRequiresAProxy(_ style: Style) async throws {
        let loaded = try await get("ftp://127.0.0.1/", style)
        #expect(loaded.error?.code == HTTPErrorNumber.badURL.rawValue)
        #expect(loaded.error?.description.contains("HTTP proxy") == true)
    }

    // Parity: HM-107
    @Test(arguments: Style.allCases)
    func aRefusedConnection(_ style: Style) async throws {
        let port = try PortPool.take()
        let loaded = try await get("http://127.0.0.1:\(port)/", style)
        #expect(loaded.error?.isPOSIX(ECONNREFUSED) == true)
        #expect(loaded.error?.description.contains("127.0.0.1:\(port)") == true)
        #expect(loaded.response == nil)
        #expect(loaded.stream.status == .error)
        #expect(loaded.stream.report.steps.contains { if case .failed = $0.outcome { true } else { false } })
    }

    // Parity: HM-107
    @Test func unknownName() async throws {
        let loaded = try await get("http://no-such-host.invalid/")
        #expect(loaded.error?.domain == .netDB)
        #expect(loaded.error?.description.contains("no-such-host.invalid") == true)
    }

    @Test(arguments: Style.allCases)
    func noResponseHead(_ style: Style) async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get(nginx.url(.plain, "/drop"), style)
        #expect(loaded.error?.domain == .http)
        #expect(loaded.error?.code == HTTPErrorNumber.connectionLost.rawValue)
    }

    @Test func plaintextToATLSPort() async throws {
        let nginx = try SharedNginx.get()
        let loaded = try await get("http://localhost:\(nginx.port(.tls))/hello")
        #expect(loaded.status == 400)
        let reverse = try await get("https://localhost:\(nginx.port(.plain))/hello")
        #expect(reverse.error?.domain == .ssl)
    }

    // Parity: HM-062, HM-065, HM-066
    @Test(arguments: [Style.blocking, .async])
    func theResponseFollowsTheFirstRead(_ style: Style) async throws {
        let go = Signal()
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.wait(for: go)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let stream = try makeStream(server.url())
        #expect(stream[.httpResponse] == nil)
        await #expect(throws: StreamError.notOpen) { _ = try await stream.response() }
        try stream.open()
        try await stream.opened()
        #expect(stream[.httpResponse] == nil)
        #expect(stream[.httpFinalURL]?.absoluteString == server.url())
        go.fire()
        if style == .async {
            #expect(try await stream.response().status.code == 200)
            #expect(try await stream.read(upTo: 1).isEmpty)
        } else {
            #expect(try await onThread { Result { try stream.read(upTo: 1) } }.get().isEmpty)
        }
        #expect(stream[.httpResponse]?.status.code == 200)
        stream.close()
        #expect(stream[.httpResponse]?.status.code == 200)
        #expect(stream[.httpFinalRequest]?.fields[.host] == "127.0.0.1:\(server.port)")
    }

    /// HM-097: properties can be set only before open; read-only ones never.
    // Parity: HM-097
    @Test func propertiesAreSetBeforeOpen() throws {
        let stream = try makeStream("http://127.0.0.1:1/")
        for _ in 0..<2 {
            try stream.set(.http(\.followsRedirects), to: true)
            try stream.set(.http(\.keepsConnection), to: true)
            try stream.set(.http(\.decodesContent), to: true)
            try stream.set(.http(\.totalTimeout), to: .seconds(1))
        }
        #expect(stream[.http(\.followsRedirects)] == true && stream[.http(\.keepsConnection)] == true)
        #expect(stream[.http(\.decodesContent)] == true && stream[.http(\.totalTimeout)] == .seconds(1))
        #expect(throws: StreamError.self) { try stream.set(.httpBodyBytesSent, to: 1) }
        #expect(throws: StreamError.self) { try stream.set(.httpResponse, to: nil) }
        #expect(throws: StreamError.self) { try stream.set(.httpFinalURL, to: nil) }
        #expect(throws: StreamError.self) { try stream.set(.closesDescriptor, to: false) }
        try? stream.open()
        #expect(throws: StreamError.self) { try stream.set(.http(\.followsRedirects), to: false) }
        #expect(throws: StreamError.self) { try stream.set(.http(\.keepsConnection), to: false) }
        #expect(throws: StreamError.self) { try stream.set(.http(\.decodesContent), to: false) }
        #expect(throws: StreamError.self) { try stream.set(.http(\.totalTimeout), to: .seconds(2)) }
        #expect(
            stream[.http(\.followsRedirects)] == true && stream[.http(\.totalTimeout)] == .seconds(1),
            "and nothing has changed"
        )
        stream.close()
    }

    @Test(arguments: Style.allCases)
    func urlsWithIPv6Addresses(_ style: Style) async throws {
        let origin = try Origin(isIPv6: true) { _ in .init(body: "six") }
        let loaded = try await get(origin.url(host: "[::1]"), style)
        #expect(loaded.text == "six")
        #expect(origin.requests.last?["Host"] == ["[::1]:\(origin.port)"])
    }

    @Test(arguments: Style.allCases)
    func otherServers(_ style: Style) async throws {
        let apache = Apache()
        try apache.start()
        defer { apache.stop() }
        try apache.write("file.txt", patterned(100_000))
        let plain = try await get(apache.url(.plain, "/file.txt"), style)
        #expect(plain.body == patterned(100_000))
        let secure = try await get(apache.url(.tls, "/file.txt"), style) { stream in
            try stream.set(.tls, to: try trustingPeers())
            try stream.set(.http(\.decodesContent), to: true)
        }
        #expect(secure.error == nil)
        #expect(secure.body == patterned(100_000))
    }
}
