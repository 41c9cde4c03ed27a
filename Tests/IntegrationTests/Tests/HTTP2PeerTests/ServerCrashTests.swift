import HTTPStream
import Peers
import Testing

/// Servers whose process ends at once.
@Suite(.timeLimit(.minutes(5))) struct ServerCrashTests {
    @Test(
        "loads fail when the server ends within a body, and the next one has a new connection",
        arguments: [HTTP2Server.Implementation.nghttpd, .nginx, .apache, .node], [false, true])
    func withinBody(_ implementation: HTTP2Server.Implementation, isSecure: Bool) async throws {
        try await withServer(implementation, isSecure: isSecure) { server in
            // More than the client's windows and the buffers of the sockets hold.
            try server.write("large", [UInt8](repeating: 7, count: 64_000_000))
            let session = try makeSession(isSecure: isSecure)
            let request = try HTTPRequest(method: .get, url: url(server.url("/large")))
            let read = try await session.open(request)
            let unread = try await session.open(request)
            _ = try await read.read(upTo: 1000)
            let port = server.port
            server.kill()
            for stream in [read, unread] {
                await #expect(throws: StreamError.self) { _ = try await stream.readAll(limit: 64_000_000) }
                stream.close()
            }
            await #expect(throws: StreamError.self) { _ = try await session.get(url(server.url("/hello"))) }

            try server.start(at: port)
            try server.write("hello", Array("hello\n".utf8))
            let response = try await session.get(url(server.url("/hello")))
            #expect(response.text == "hello\n" && response.version == .http20)
        }
    }

    @Test("readers that wait for an answer or for more of a body fail when the server ends", arguments: [false, true])
    func waitingReaders(isSecure: Bool) async throws {
        try await withServer(.faults, isSecure: isSecure) { server in
            let options = try makeOptions(isSecure: isSecure)
            try await withThrowingTaskGroup { group in
                for style in Style.allCases {
                    // Not sent again: the method is not idempotent.
                    let silent = try ReadStream(
                        request: HTTPRequest(method: .post, url: url(server.url("/silence"))), body: .bytes([1]),
                        options: options)
                    let begun = try ReadStream(
                        request: HTTPRequest(method: .get, url: url(server.url("/begin/1000"))), options: options)
                    try begun.open()
                    #expect(try await begun.response().status == .ok)
                    group.addTask {
                        await #expect(throws: StreamError.self) { _ = try await readToEnd(silent, style) }
                    }
                    group.addTask {
                        await #expect(throws: StreamError.self) {
                            defer { begun.close() }
                            if style == .thread { return try await onThread { try begun.readAll(limit: 2000) } }
                            return try await begun.readAll(limit: 2000)
                        }
                    }
                }
                // The readers have begun, or will find the connection at its end.
                server.kill()
                try await group.waitForAll()
            }
        }
    }
}
