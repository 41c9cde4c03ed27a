import EventLoops
import FoundationEssentials
import HTTPMessage
import HTTPStream
import StreamKit
import Testing

@testable import WebSocketStream

extension WebSocket.Configuration {
    /// Without waits that a busy machine reaches. A test of a wait sets it.
    fileprivate static var patient: WebSocket.Configuration {
        var configuration = WebSocket.Configuration()
        configuration.keepAlive = nil
        configuration.writeTimeout = .seconds(100)
        configuration.closeTimeout = .seconds(100)
        return configuration
    }
}

/// Sockets of both sides, connected through an `HTTPServer`, and peers that send exactly these bytes.
@Suite(.timeLimit(.minutes(5))) struct WebSocketTests {
    /// Runs a server while `body` uses its URL.
    private func serving<Result: Sendable>(
        maximum: Int? = nil, _ handler: @escaping HTTPServer.Handler, _ body: (URL) async throws -> Result
    ) async throws -> Result {
        var configuration = HTTPServer.Configuration()
        configuration.maximumLongLivedConnections = maximum
        configuration.acceptsPriorKnowledge = true
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let port = try #require(server.port)
        let running = Task { try await server.run(handler) }
        let result: Result
        do {
            result = try await body(try #require(URL(string: "ws://127.0.0.1:\(port)/")))
        } catch {
            server.stop(within: .zero)
            throw error
        }
        server.stop(within: .zero)
        try await running.value
        return result
    }

    /// Returns each message.
    @Sendable private static func echo(_ exchange: HTTPServerExchange) async throws {
        var configuration = WebSocket.Configuration.patient
        configuration.compression = WebSocketCompression()
        configuration.subprotocols = ["echo"]
        let socket = try await exchange.acceptWebSocket(configuration)
        for try await message in socket.messages { try await socket.send(message) }
    }

    /// - Parameter versions: HTTP/2 alone, for a socket on a stream (RFC 8441); by default, HTTP/1.1 for an `http` URL.
    private func session(_ versions: HTTPVersions = .automatic) -> HTTPSession {
        var configuration = HTTPSession.Configuration()
        configuration.proxies = .direct
        configuration.options.versions = versions
        return HTTPSession(configuration)
    }

    @Test("a redirect may lead to ws, or is not followed", arguments: [true, false])
    func redirects(_ followsRedirects: Bool) async throws {
        try await serving { exchange in
            if exchange.request.target.path == "/" {
                let host = exchange.request.fields[.host] ?? ""
                return try await exchange.respond(.found, fields: HTTPFields([("Location", "ws://\(host)/new")]))
            }
            let socket = try await exchange.acceptWebSocket(.patient)
            try await socket.send(.text("hello"))
            for try await _ in socket.messages {}
        } _: { url in
            var configuration = WebSocket.Configuration.patient
            configuration.followsRedirects = followsRedirects
            do throws(WebSocketError) {
                let socket = try await WebSocket.connect(url, configuration: configuration, session: session())
                #expect(try await socket.receive()?.text == "hello" && followsRedirects)
                try await socket.close()
            } catch {
                #expect(error.code == .handshakeRefused && error.response?.status == .found && !followsRedirects)
            }
        }
    }

    @Test("a redirect may lead to another origin, which gets the whole handshake") func redirectsToAnotherOrigin()
        async throws
    {
        try await serving(Self.echo) { target in
            try await serving { exchange in
                try await exchange.respond(.found, fields: HTTPFields([("Location", target.absoluteString)]))
            } _: { url in
                var configuration = WebSocket.Configuration.patient
                configuration.subprotocols = ["echo"]
                let socket = try await WebSocket.connect(url, configuration: configuration, session: session())
                #expect(socket.subprotocol == "echo")
                try await socket.send(.text("hello"))
                #expect(try await socket.receive()?.text == "hello")
                try await socket.close()
            }
        }
    }

    @Test(arguments: [false, true], [HTTPVersions.automatic, .http2])
    func echoes(isCompressed: Bool, versions: HTTPVersions) async throws {
        try await serving(Self.echo) { url in
            var configuration = WebSocket.Configuration.patient
            configuration.subprotocols = ["other", "echo"]
            if isCompressed { configuration.compression = WebSocketCompression() }
            let socket = try await WebSocket.connect(url, configuration: configuration, session: session(versions))
            #expect(socket.subprotocol == "echo")
            #expect((socket.compression != nil) == isCompressed)
            #expect(socket.response?.status == (versions == .http2 ? .ok : .switchingProtocols))
            var messages = socket.messages.makeAsyncIterator()
            for count in [0, 1, 125, 126, 65535, 65536, 1 << 20] {
                try await socket.send(.text(String(repeating: "µ", count: count / 2)))
                #expect(try await messages.next()?.text?.utf8.count == count / 2 * 2)
                try await socket.send(.binary([UInt8](repeating: 7, count: count)))
                #expect(try await socket.receive() == .binary([UInt8](repeating: 7, count: count)))
            }
            #expect(try await socket.ping() > .zero)
            try await socket.close(code: .goingAway, reason: "done")
            #expect(socket.closure == WebSocketClosure(code: .goingAway))
            #expect(try await messages.next() == nil)
            #expect(try await socket.receive() == nil)
            await #expect(throws: WebSocketError.self) { try await socket.send(.text("late")) }
            try await socket.close()
        }
    }

    /// Sockets, and the requests of their session, are streams of one connection.
    @Test func sharesAConnection() async throws {
        let addresses = Locked<Set<String>>([])
        try await serving { exchange in
            addresses.withLock { _ = $0.insert("\(exchange.remoteAddress as Any)") }
            guard exchange.request.fields.contains(.upgrade) else { return try await exchange.respond(.ok) }
            try await Self.echo(exchange)
        } _: { url in
            let session = session(.http2)
            var sockets: [WebSocket] = []
            for _ in 0..<3 {
                sockets.append(try await WebSocket.connect(url, configuration: .patient, session: session))
            }
            for (number, socket) in sockets.enumerated() { try await socket.send(.text("\(number)")) }
            let page = try #require(URL(string: "http\(url.absoluteString.dropFirst(2))"))
            #expect(try await session.get(page).status == .ok)
            for (number, socket) in sockets.enumerated().reversed() {
                #expect(try await socket.receive()?.text == "\(number)")
                try await socket.close()
                #expect(socket.closure?.code == .normalClosure)
            }
        }
        #expect(addresses.withLock { $0.count } == 1)
    }

    /// The server closes: the client's messages end, with the code and the reason.
    @Test(arguments: [HTTPVersions.automatic, .http2])
    func receivesTheServersClose(versions: HTTPVersions) async throws {
        // The server must not be stopped before it has read the client's answer.
        let confirmed = OneShot<WebSocketClosure?>()
        try await serving { exchange in
            let socket = try await exchange.acceptWebSocket(.patient)
            try await socket.send(.text("last"))
            try await socket.close(code: .tryAgainLater, reason: "full")
            confirmed.provide(socket.closure)
        } _: { url in
            let socket = try await WebSocket.connect(url, configuration: .patient, session: session(versions))
            var received: [WebSocketMessage] = []
            for try await message in socket.messages { received.append(message) }
            #expect(received == [.text("last")])
            #expect(socket.closure == WebSocketClosure(code: .tryAgainLater, reason: "full"))
            #expect(try await confirmed.value() == WebSocketClosure(code: .tryAgainLater))
        }
    }

    /// Several tasks send long messages at once: none is interleaved with another.
    @Test(arguments: [HTTPVersions.automatic, .http2])
    func ordersSenders(versions: HTTPVersions) async throws {
        try await serving(Self.echo) { url in
            let socket = try await WebSocket.connect(url, configuration: .patient, session: session(versions))
            let senders = Task {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 0..<8 {
                        group.addTask {
                            for _ in 0..<10 {
                                try await socket.send(.binary([UInt8](repeating: UInt8(index), count: 30000)))
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            var counts = [Int](repeating: 0, count: 8)
            var messages = socket.messages.makeAsyncIterator()
            for _ in 0..<80 {
                let bytes = try #require(await messages.next()).bytes
                let first = try #require(bytes.first)
                #expect(bytes.count == 30000 && bytes.allSatisfy { $0 == first })
                try #require(counts.indices.contains(Int(first)))
                counts[Int(first)] += 1
            }
            #expect(counts == [Int](repeating: 10, count: 8))
            try await senders.value
            try await socket.close()
        }
    }

    /// A program that reads no messages stops the sender, whose wait is limited.
    @Test(arguments: [HTTPVersions.automatic, .http2])
    func slowsTheSenderDown(versions: HTTPVersions) async throws {
        let outcome = OneShot<(count: Int, code: WebSocketError.Code?)>()
        try await serving { exchange in
            var configuration = WebSocket.Configuration.patient
            configuration.writeTimeout = .milliseconds(100)
            let socket = try await exchange.acceptWebSocket(configuration)
            var count = 0
            do throws(WebSocketError) {
                while count < 4000 {
                    try await socket.send(.binary([UInt8](repeating: 1, count: 64 << 10)))
                    count += 1
                }
                outcome.provide((count, nil))
            } catch {
                outcome.provide((count, error.code))
            }
        } _: { url in
            let socket = try await WebSocket.connect(url, configuration: .patient, session: session(versions))
            let (count, code) = try await outcome.value()
            #expect(code == .timedOut)
            #expect(count < 4000)
            // What has arrived completely is not lost.
            var received = 0
            do throws(WebSocketError) {
                for try await message in socket.messages { received += message.bytes.count }
            } catch {
                #expect(error.code == .connectionLost)
            }
            // On a stream of HTTP/2, a busy machine may not pass the first message on in that time.
            #expect(received >= min(count, 1))
        }
    }

    /// Messages in the queue do not prevent the close.
    @Test(arguments: [HTTPVersions.automatic, .http2])
    func closesWithAFullQueue(versions: HTTPVersions) async throws {
        try await serving { exchange in
            let socket = try await exchange.acceptWebSocket(.patient)
            while (try? await socket.send(.binary([UInt8](repeating: 1, count: 64 << 10)))) != nil {}
        } _: { url in
            let socket = try await WebSocket.connect(url, configuration: .patient, session: session(versions))
            var messages = socket.messages.makeAsyncIterator()
            _ = try await messages.next()
            try await socket.close()
            #expect(socket.closure != nil)
            while try await messages.next() != nil {}
        }
    }

    @Test func refusesOtherRequests() async throws {
        let errors = Locked<[WebSocketError]>([])
        try await serving { exchange in
            do throws(WebSocketError) {
                _ = try await exchange.acceptWebSocket(.patient)
            } catch {
                errors.withLock { $0.append(error) }
            }
        } _: { url in
            var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true))
            parts.scheme = "http"
            let response = try await session().get(try #require(parts.url))
            #expect(response.status == .upgradeRequired)
            #expect(response.fields["Sec-WebSocket-Version"] == "13")
        }
        #expect(errors.withLock { $0 }.map(\.code) == [.invalidHandshake])
    }

    /// The connection is not lost: the server says why it refuses the socket.
    @Test func aSocketBeyondTheMaximumIsRefused() async throws {
        let errors = Locked<[WebSocketError]>([])
        try await serving(maximum: 0) { exchange in
            do throws(WebSocketError) {
                _ = try await exchange.acceptWebSocket(.patient)
            } catch {
                errors.withLock { $0.append(error) }
                throw error
            }
        } _: { url in
            let refusal = await #expect(throws: WebSocketError.self) {
                try await WebSocket.connect(url, configuration: .patient, session: session())
            }
            #expect(refusal?.code == .handshakeRefused && refusal?.response?.status == .serviceUnavailable)
        }
        #expect(errors.withLock { $0 }.map(\.code) == [.tooManyConnections])
    }

    @Test func reportsARefusal() async throws {
        try await serving { exchange in
            try await exchange.respond(.forbidden)
        } _: { url in
            do throws(WebSocketError) {
                _ = try await WebSocket.connect(url, configuration: .patient, session: session())
                Issue.record("connected")
            } catch {
                #expect(error.code == .handshakeRefused)
                #expect(error.response?.status == .forbidden)
            }
        }
    }

    @Test(arguments: ["ftp://h/", "ws://h/#part", "mailto:a"])
    func refusesURL(_ text: String) async throws {
        let url = try #require(URL(string: text))
        await #expect(throws: WebSocketError.self) { try await WebSocket.connect(url) }
    }

    /// The application's fields are sent, and those of the handshake are not replaced.
    @Test func sendsFields() async throws {
        try await serving { exchange in
            var fields = HTTPFields()
            try fields.set(exchange.request.fields["X-Token"] ?? "", for: "X-Answer")
            let socket = try await exchange.acceptWebSocket(.patient, fields: fields)
            try await socket.close()
        } _: { url in
            var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true))
            parts.scheme = "http"
            var request = try HTTPRequest(method: .get, url: try #require(parts.url))
            try request.fields.set("secret", for: "X-Token")
            let socket = try await WebSocket.connect(request, configuration: .patient, session: session())
            #expect(socket.response?.fields["X-Answer"] == "secret")
            for try await _ in socket.messages {}
            #expect(socket.closure?.code == .normalClosure)
        }
    }

    // MARK: Scripted peers

    /// A server that accepts the handshake, and then does what `body` says.
    private func scripted<Result: Sendable>(
        _ body: @escaping @Sendable (StreamPair) async throws -> Void, _ use: (URL) async throws -> Result
    ) async throws -> Result {
        try await serving { exchange in
            let handshake = try WebSocketServerHandshake(exchange.request)
            let connection = try await exchange.switchProtocols(to: "websocket", fields: handshake.accept().fields)
            try await body(connection.pair)
        } _: { url in
            try await use(url)
        }
    }

    /// A server that closes the connection without a Close frame.
    @Test func reportsALostConnection() async throws {
        try await scripted { pair in
            try await pair.output.writeAll(WireFrame.text("one").bytes(masked: false))
        } _: { url in
            let socket = try await WebSocket.connect(url, configuration: .patient, session: session())
            var messages = socket.messages.makeAsyncIterator()
            #expect(try await messages.next() == .text("one"))
            do throws(WebSocketError) {
                _ = try await messages.next()
                Issue.record("no error")
            } catch {
                #expect(error.code == .connectionLost)
            }
            #expect(socket.closure == nil)
        }
    }

    /// A server that violates the protocol receives the Close frame that says so.
    @Test func failsWithACloseFrame() async throws {
        let seen = OneShot<[WireFrame]>()
        try await scripted { pair in
            try await pair.output.writeAll(WireFrame.text([0xFF]).bytes(masked: false))
            var bytes = try await pair.input.readAll(limit: 1000)
            seen.provide(WireFrame.take(from: &bytes))
        } _: { url in
            let socket = try await WebSocket.connect(url, configuration: .patient, session: session())
            do throws(WebSocketError) {
                for try await _ in socket.messages {}
                Issue.record("no error")
            } catch {
                #expect(error.code == .invalidPayload)
            }
            #expect(try await seen.value() == [.close(1007)])
            await #expect(throws: WebSocketError.self) { try await socket.send(.text("a")) }
        }
    }

    /// A server that never answers the Close frame: the call returns after the limit.
    @Test func limitsTheClosingHandshake() async throws {
        let done = OneShot<Void>()
        try await scripted { pair in
            _ = try? await pair.input.readAll(limit: 1000)
            done.provide(())
        } _: { url in
            var configuration = WebSocket.Configuration.patient
            configuration.closeTimeout = .milliseconds(50)
            let socket = try await WebSocket.connect(url, configuration: configuration, session: session())
            try await socket.close()
            #expect(socket.closure == nil)
            for try await _ in socket.messages {}
            try await done.value()
        }
    }

    /// A server that goes on sending after its Close frame: the client closes the connection.
    @Test func limitsWhatFollowsTheClosure() async throws {
        // More than the kernel takes in addition.
        let most = 64 * WebSocketConnection.maximumLingering
        let sent = OneShot<Int>()
        try await scripted { pair in
            try await pair.output.writeAll(WireFrame.close(1000).bytes(masked: false))
            let piece = [UInt8](repeating: 0, count: 1 << 16)
            var count = 0
            while count < most, (try? await pair.output.writeAll(piece)) != nil { count += piece.count }
            sent.provide(count)
        } _: { url in
            let socket = try await WebSocket.connect(url, configuration: .patient, session: session())
            for try await _ in socket.messages {}
            #expect(try await sent.value() < most)
        }
    }

    /// A silent server receives a ping; if it stays silent, the connection fails.
    @Test func limitsSilence() async throws {
        let seen = OneShot<[WireFrame]>()
        try await scripted { pair in
            var bytes = try await pair.input.readAll(limit: 1000)
            seen.provide(WireFrame.take(from: &bytes))
        } _: { url in
            var configuration = WebSocket.Configuration.patient
            configuration.keepAlive = .milliseconds(50)
            let socket = try await WebSocket.connect(url, configuration: configuration, session: session())
            do throws(WebSocketError) {
                for try await _ in socket.messages {}
                Issue.record("no error")
            } catch {
                #expect(error.code == .timedOut)
            }
            #expect(try await seen.value().first == .ping())
        }
    }

    /// A server that answers no ping; the socket stays usable.
    @Test func limitsPings() async throws {
        try await scripted { pair in
            for try await _ in pair.input.chunks() {
                try await pair.output.writeAll(WireFrame.text("still here").bytes(masked: false))
            }
        } _: { url in
            let socket = try await WebSocket.connect(url, configuration: .patient, session: session())
            do throws(WebSocketError) {
                _ = try await socket.ping(within: .milliseconds(20))
                Issue.record("no error")
            } catch {
                #expect(error.code == .timedOut)
            }
            var messages = socket.messages.makeAsyncIterator()
            #expect(try await messages.next() == .text("still here"))
        }
    }

    /// The first frames arrive together with the 101.
    @Test func readsBytesBehindTheHead() async throws {
        let listener = try StreamListener(port: 0, isLocal: true)
        let port = try #require(listener.port)
        let running = Task {
            try await listener.run { pair in
                var head: [UInt8] = []
                while !String(decoding: head, as: UTF8.self).hasSuffix("\r\n\r\n") {
                    guard let more = try? await pair.input.read(upTo: 4096), !more.isEmpty else { return }
                    head += more
                }
                var parser = HeadParser(.request)
                guard case .complete? = try? parser.parse(head.span.bytes),
                    let request = try? parser.makeRequest(from: head.span.bytes),
                    let fields = try? WebSocketServerHandshake(request).accept().fields
                else { return }
                let accept = fields["Sec-WebSocket-Accept"] ?? ""
                let answer = Array(
                    "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n"
                        .utf8)
                let frames = WireFrame.text("first").bytes(masked: false) + WireFrame.close(1000).bytes(masked: false)
                try? await pair.output.writeAll(answer + frames)
                _ = try? await pair.input.readAll(limit: 1000)
            }
        }
        let url = try #require(URL(string: "ws://127.0.0.1:\(port)/"))
        let socket = try await WebSocket.connect(url, configuration: .patient, session: session())
        var received: [WebSocketMessage] = []
        for try await message in socket.messages { received.append(message) }
        #expect(received == [.text("first")])
        listener.stop(within: .zero)
        try await running.value
    }

    /// A cancelled reader takes no message.
    @Test func cancelsAReader() async throws {
        try await serving(Self.echo) { url in
            let socket = try await WebSocket.connect(url, configuration: .patient, session: session())
            let reader = Task { () -> WebSocketError.Code? in
                do throws(WebSocketError) {
                    var messages = socket.messages.makeAsyncIterator()
                    _ = try await messages.next()
                    return nil
                } catch {
                    return error.code
                }
            }
            reader.cancel()
            #expect(await reader.value == .cancelled)
            try await socket.send(.text("a"))
            var messages = socket.messages.makeAsyncIterator()
            #expect(try await messages.next() == .text("a"))
            try await socket.close()
        }
    }

    /// A socket that is released closes its connection.
    @Test func closesWhenReleased() async throws {
        let ended = OneShot<WebSocketError.Code?>()
        try await serving { exchange in
            let socket = try await exchange.acceptWebSocket(.patient)
            do throws(WebSocketError) {
                for try await _ in socket.messages {}
                ended.provide(nil)
            } catch {
                ended.provide(error.code)
            }
        } _: { url in
            _ = try await WebSocket.connect(url, configuration: .patient, session: session())
            #expect(try await ended.value() == .connectionLost)
        }
    }
}

@Suite struct WebSocketMessageTests {
    @Test func valuesInJSON() throws {
        let message = try WebSocketMessage.json(["a": 1])
        #expect(message == .text(#"{"a":1}"#))
        #expect(try message.decode([String: Int].self) == ["a": 1])
        #expect(try WebSocketMessage.binary(Array("[2]".utf8)).decode([Int].self) == [2])
        #expect(throws: DecodingError.self) { try WebSocketMessage.text("").decode([Int].self) }
    }
}
