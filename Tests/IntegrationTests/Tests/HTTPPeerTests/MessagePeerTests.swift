import Foundation
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Messages of other programs in our parser, and ours as another program receives them.
@Suite(.serialized) struct MessagePeerTests {
    /// Returns the request line that it receives in the field `X-Line`, and the fields as the body. A shell script behind socat.
    private static let mirror = """
        IFS= read -r line; fields=
        while IFS= read -r field && [ "$field" != "$(printf '\\r')" ]; do fields="$fields$field
        "; done
        printf 'HTTP/1.1 200 OK\\r\\nX-Line: %s\\nConnection: close\\r\\n\\r\\n%s' "$line" "$fields"
        """

    private func mirror() throws -> Socat {
        let server = Socat(.shell(Self.mirror))
        try server.start()
        return server
    }

    // Parity: HM-001 (socat)
    @Test(arguments: ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "PATCH", "PROPFIND", "get"])
    func eachMethodIsSentAsItIs(_ method: String) async throws {
        let server = try mirror()
        defer { server.stop() }
        let loaded = try await get("http://127.0.0.1:\(server.port)/a?b=c", method: #require(HTTPMethod(method)))
        #expect(loaded.stream[.httpResponse]?.fields["X-Line"] == "\(method) /a?b=c HTTP/1.1")
    }

    // Parity: HM-003 (socat)
    @Test(arguments: [
        (HTTPVersion.http10, "HTTP/1.0"), (HTTPVersion.http11, "HTTP/1.1"), (HTTPVersion.http20, "HTTP/1.1"),
    ])
    func eachVersionIsSentAsDocumented(_ version: HTTPVersion, _ sent: String) async throws {
        let server = try mirror()
        defer { server.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let loaded = await load(ReadStream(request: try HTTPRequest(method: .get, url: url, version: version)))
        #expect(loaded.stream[.httpResponse]?.fields["X-Line"] == "GET / \(sent)")
    }

    // Parity: HM-061 (socat)
    @Test func theRequestIsCopied() async throws {
        let server = try mirror()
        defer { server.stop() }
        var request = try HTTPRequest(method: .get, url: #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        try request.fields.set("before", for: "X-Mine")
        let stream = ReadStream(request: request)
        try request.fields.set("after", for: "X-Mine")
        let loaded = await load(stream)
        #expect(loaded.text.contains("X-Mine: before") && !loaded.text.contains("after"))
    }

    /// The bytes that a server sends for a request.
    private func response(of port: Int, to request: String) async throws -> [UInt8] {
        let pair = StreamPair(host: "127.0.0.1", port: UInt16(port))
        defer { pair.close() }
        try pair.open()
        try await pair.output.writeAll(Array(request.utf8))
        return try await pair.input.readAll(limit: 1 << 20)
    }

    /// The bytes that a client sends, up to the empty line.
    private func request(of client: String, _ arguments: @Sendable (UInt16) -> [String]) async throws -> [UInt8] {
        let listener = try Socket(listeningAt: .ip(.v4(.loopback), port: 0))
        defer { listener.invalidate() }
        let port = try #require(listener.localAddress?.port)
        let words = arguments(port)
        let run = Task { try? await Command(Program(client), words).run() }
        let pair = try await listener.accept().makeStreams()
        try pair.open()
        var bytes: [UInt8] = []
        while !String(decoding: bytes, as: UTF8.self).contains("\r\n\r\n") {
            let more = try await pair.input.read(upTo: 4096)
            if more.isEmpty { break }
            bytes += more
        }
        try await pair.output.writeAll(Array("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n".utf8))
        pair.close()
        listener.invalidate()  // git would wait for the answer to another request
        _ = await run.value
        return bytes
    }

    private func check(_ bytes: [UInt8], isRequest: Bool, _ source: String) throws {
        var whole = AnyHTTPMessage(emptyRequest: isRequest)
        try whole.append(bytes)
        #expect(whole.isHeaderComplete, "\(source)")
        if isRequest {
            #expect(whole.method == .get && whole.fields[.host] != nil, "\(source)")
        } else {
            #expect((200...599).contains(whole.status?.code ?? 0) && whole.fields.count > 0, "\(source)")
        }
        // At every split of the head, and byte by byte, the result is the same.
        let head = whole.fields
        for split in stride(from: 1, to: min(bytes.count, 600), by: 1) {
            var parts = AnyHTTPMessage(emptyRequest: isRequest)
            try parts.append(bytes[..<split])
            try parts.append(bytes[split...])
            #expect(parts.fields == head && parts.body == whole.body, "\(source) at \(split)")
        }
        var single = AnyHTTPMessage(emptyRequest: isRequest)
        for byte in bytes.prefix(4096) { try single.append([byte]) }
        #expect(single.fields == head, "\(source)")
    }

    // Parity: HM-030 (nginx, Apache, lighttpd, python3, squid, tinyproxy, openssl, curl, git)
    @Test func messagesOfTenPrograms() async throws {
        let plain = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        let nginx = try SharedNginx.get()
        try check(await response(of: nginx.port(.plain), to: plain), isRequest: false, "nginx")
        let servers: [(String, any Peer)] = [
            ("Apache", Apache(listeners: [.plain])), ("lighttpd", Lighttpd()), ("python3", PythonHTTPServer()),
            ("squid", Squid()), ("tinyproxy", Tinyproxy()), ("openssl", OpenSSLServer(.statusPage)),
        ]
        for (name, server) in servers {
            try server.start()
            defer { server.stop() }
            // s_server answers HTTP inside TLS only.
            let bytes =
                name == "openssl"
                ? try await Command(
                    "curl", "-sik", "--http1.0", "https://127.0.0.1:\(server.port)/"
                ).run().output : try await response(of: server.port, to: plain)
            try check(bytes, isRequest: false, name)
        }
        try check(
            await request(of: "curl") { ["-s", "http://127.0.0.1:\($0)/a"] }, isRequest: true, "curl")
        try check(
            await request(of: "python3") {
                ["-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:\($0)/a')"]
            }, isRequest: true, "python3's urllib")
        try check(
            await request(of: "git") { ["ls-remote", "http://127.0.0.1:\($0)/a"] }, isRequest: true, "git")
    }
}
