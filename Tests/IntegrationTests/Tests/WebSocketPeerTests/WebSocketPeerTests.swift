import EventLoops
import Foundation
import Peers
import Testing
import WebSocketStream

/// Sockets against servers and clients of other implementations.
@Suite(.timeLimit(.minutes(5))) struct WebSocketPeerTests {
    private func configuration(isCompressed: Bool) -> WebSocket.Configuration {
        var configuration = WebSocket.Configuration()
        configuration.subprotocols = ["echo"]
        if isCompressed { configuration.compression = WebSocketCompression() }
        return configuration
    }

    /// Our client with a server that returns each message.
    @Test(arguments: WebSocketServer.Implementation.allCases, [false, true])
    func exchangesMessagesWithServer(_ implementation: WebSocketServer.Implementation, isCompressed: Bool) async throws
    {
        let server = WebSocketServer(implementation)
        try server.start()
        defer { server.stop() }
        let url = try #require(URL(string: server.url("/echo")))
        let socket = try await WebSocket.connect(url, configuration: configuration(isCompressed: isCompressed))
        #expect(socket.subprotocol == "echo")
        #expect((socket.compression != nil) == isCompressed)
        var messages = socket.messages.makeAsyncIterator()
        for count in [0, 1, 125, 126, 1000, 65535, 65536, 1 << 20, 8 << 20] {
            let text = WebSocketMessage.text(String(repeating: "κόσμε ", count: count / 11))
            try await socket.send(text)
            #expect(try await messages.next() == text)
            let bytes = WebSocketMessage.binary((0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) })
            try await socket.send(bytes)
            #expect(try await messages.next() == bytes)
        }
        #expect(try await socket.ping() > .zero)
        try await socket.close(code: .goingAway, reason: "bye")
        #expect(socket.closure?.code == .goingAway)
        #expect(await server.logs { $0.contains("CLOSED 1001 bye") })
    }

    /// Our client on a stream of a connection of HTTP/2 that it has (RFC 8441), with a server that returns each message.
    @Test(arguments: [false, true], [false, true])
    func exchangesMessagesOverHTTP2(isSecure: Bool, isCompressed: Bool) async throws {
        let server = HTTP2Server(.hypercorn, isSecure: isSecure)
        try server.start()
        defer { server.stop() }
        var options = HTTPSession.Configuration()
        options.proxies = .direct
        options.options.versions = isSecure ? .automatic : .http2
        options.options.pool = HTTPConnectionPool()
        if isSecure { options.options.tls.trust = .only(file: try CertificateAuthority.shared().root) }
        let session = HTTPSession(options)
        let page = try #require(URL(string: server.url("/hello")))
        #expect(try await session.get(page).version == .http20)
        let url = try #require(URL(string: server.url("/socket")))
        let socket = try await WebSocket.connect(
            url, configuration: configuration(isCompressed: isCompressed), session: session)
        #expect(socket.response?.version == .http20 && socket.subprotocol == "echo")
        #expect((socket.compression != nil) == isCompressed)
        for count in [0, 1, 125, 126, 1000, 65535, 65536, 1 << 20, 8 << 20] {
            let text = WebSocketMessage.text(String(repeating: "κόσμε ", count: count / 11))
            try await socket.send(text)
            #expect(try await socket.receive() == text)
            let bytes = WebSocketMessage.binary((0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) })
            try await socket.send(bytes)
            #expect(try await socket.receive() == bytes)
        }
        #expect(try await socket.ping() > .zero)
        #expect(try await session.get(page).status == .ok)
        try await socket.close(code: .goingAway, reason: "bye")
        #expect(socket.closure?.code == .goingAway)
        // It ends the connection at the end of the stream, which it has forgotten by then, and logs another code.
        #expect(await server.logs { $0.contains("CLOSED") })
    }

    /// Compression without context, which the client requires. Tornado ignores parameters without a value, so its response does not
    /// fit the offer (RFC 7692 §7.1.1.1), and the handshake fails.
    @Test(arguments: WebSocketServer.Implementation.allCases)
    func agreesOnParameters(_ implementation: WebSocketServer.Implementation) async throws {
        let server = WebSocketServer(implementation)
        try server.start()
        defer { server.stop() }
        let url = try #require(URL(string: server.url("/echo")))
        var configuration = configuration(isCompressed: true)
        configuration.compression?.keepsSendContext = false
        configuration.compression?.keepsReceiveContext = false
        let socket: WebSocket
        do throws(WebSocketError) {
            socket = try await WebSocket.connect(url, configuration: configuration)
        } catch {
            #expect(implementation == .tornado)
            #expect(error.code == .invalidHandshake)
            return
        }
        #expect(implementation == .websockets)
        #expect(socket.compression?.keepsReceiveContext == false)
        var messages = socket.messages.makeAsyncIterator()
        for index in 0..<20 {
            let text = WebSocketMessage.text(String(repeating: "message \(index) ", count: 100))
            try await socket.send(text)
            #expect(try await messages.next() == text)
        }
        try await socket.close()
    }

    /// Another client with our server.
    @Test(arguments: WebSocketServer.Implementation.allCases, [false, true])
    func servesClient(_ implementation: WebSocketServer.Implementation, isCompressed: Bool) async throws {
        let closures = Locked<[WebSocketClosure?]>([])
        let configuration = configuration(isCompressed: true)
        let server = try HTTPServer(port: 0, isLocal: true)
        let port = try #require(server.port)
        let running = Task {
            try await server.run { exchange in
                let socket = try await exchange.acceptWebSocket(configuration)
                for try await message in socket.messages { try await socket.send(message) }
                closures.withLock { $0.append(socket.closure) }
            }
        }
        let result = try await WebSocketClient.command(
            implementation, to: "ws://127.0.0.1:\(port)/", isCompressed: isCompressed
        ).run()
        #expect(result.text == "ok echo 36\n", "\(result.errors)")
        server.stop(within: .seconds(5))
        try await running.value
        #expect(closures.withLock { $0 } == [WebSocketClosure(code: .goingAway, reason: "bye")])
    }

    /// A browser opens the sockets of a page on the connection of HTTP/2 that has loaded it (RFC 8441).
    @Test func servesBrowserOverHTTP2() async throws {
        let page = """
            <!doctype html><title>waiting</title><img src="/hold"><script>
            const socket = new WebSocket(`wss://${location.host}/socket`, "echo")
            let count = 0
            socket.onopen = () => socket.send("m")
            socket.onmessage = (event) => {
                count++
                if (count < 10) socket.send(event.data + event.data)
                else socket.close(1000, "bye")
            }
            socket.onclose = (event) => document.title = `${count} of ${socket.protocol}, ${event.code}`
            </script>
            """
        let closure = OneShot<WebSocketClosure?>()
        let versions = Locked<[HTTPVersion]>([])
        let addresses = Locked<Set<String>>([])
        let configuration = configuration(isCompressed: true)
        var options = HTTPServer.Configuration()
        let identity = try CertificateAuthority.shared().server(.good)
        options.connections.tls = TLSConfiguration(
            server: try TLSIdentity(file: identity.chain, keyFile: identity.key))
        let server = try HTTPServer(port: 0, isLocal: true, configuration: options)
        let running = Task {
            try await server.run { exchange in
                addresses.withLock { _ = $0.insert("\(exchange.remoteAddress as Any)") }
                switch exchange.request.target.path {
                case "/socket":
                    versions.withLock { $0.append(exchange.request.version) }
                    let socket = try await exchange.acceptWebSocket(configuration)
                    for try await message in socket.messages { try await socket.send(message) }
                    closure.provide(socket.closure)
                case "/hold":
                    // The page is not complete before.
                    _ = try await closure.value()
                    try await exchange.respond(.ok)
                default:
                    try await exchange.respond(.ok, fields: ["Content-Type": "text/html"], body: Array(page.utf8))
                }
            }
        }
        let profile = FileManager.default.temporaryDirectory.appending(path: "browser-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: profile) }
        let result = try await Command(
            Chromium.program,
            [
                "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server",
                "--ignore-certificate-errors", "--user-data-dir=\(profile)", "--virtual-time-budget=60000",
                "--dump-dom", "https://localhost:\(try #require(server.port))/",
            ]
        ).run()
        server.stop(within: .zero)
        try await running.value
        #expect(result.text.contains("<title>10 of echo, 1000</title>"), "\(result.text)\(result.errors)")
        #expect(versions.withLock { $0 } == [.http20] && addresses.withLock { $0.count } == 1)
        #expect(try await closure.value() == WebSocketClosure(code: .normalClosure, reason: "bye"))
    }

    /// The handshake passes an HTTP proxy in a tunnel, although the scheme is `ws`.
    @Test func passesProxy() async throws {
        let proxy = Squid()
        try proxy.start()
        defer { proxy.stop() }
        let server = WebSocketServer(.websockets)
        try server.start()
        defer { server.stop() }
        var options = HTTPSession.Configuration()
        options.proxies = .route(ProxyRoute(HTTPProxy(host: "127.0.0.1", port: UInt16(proxy.port))))
        let url = try #require(URL(string: server.url("/")))
        let socket = try await WebSocket.connect(url, session: HTTPSession(options))
        try await socket.send(.text("through the proxy"))
        var messages = socket.messages.makeAsyncIterator()
        #expect(try await messages.next() == .text("through the proxy"))
        try await socket.close()
        #expect(await proxy.logs { $0.contains("CONNECT 127.0.0.1:\(server.port)") })
    }
}
