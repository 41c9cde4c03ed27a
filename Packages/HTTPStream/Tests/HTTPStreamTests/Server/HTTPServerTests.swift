import EventLoops
import FoundationEssentials
import Glibc
import HTTPMessage
import HTTPStreamTesting
import HostResolver
import StreamKit
import Testing

@testable import HTTPStream

/// The server against clients that send exactly these bytes.
@Suite(.timeLimit(.minutes(5))) struct HTTPServerTests {
    private func server(
        _ change: (inout HTTPServer.Configuration) -> Void = { _ in }
    ) throws -> HTTPServer {
        var configuration = HTTPServer.Configuration.patient
        configuration.hosts = .any
        change(&configuration)
        return try HTTPServer(port: 0, isLocal: true, configuration: configuration)
    }

    /// Responds with the method, the target and the length of the body.
    @Sendable private static func mirror(_ exchange: HTTPServerExchange) async throws {
        let request = exchange.request
        let body = try await exchange.body()
        try await exchange.respond(
            .ok, body: Array("\(request.method) \(request.requestLine.split(separator: " ")[1]) \(body.count)\n".utf8))
    }

    /// A handler that ignores the time-out of its own write.
    @Test func nothingFollowsAResponseThatWasCutOff() async throws {
        let (written, signal) = AsyncStream<Void>.makeStream()
        let text = try await serving(server { $0.writeTimeout = .milliseconds(50) }) { exchange in
            try await exchange.begin(HTTPResponse(status: .ok))
            try? await exchange.write([UInt8](repeating: 65, count: 64 << 20))
            signal.finish()
        } _: { pair in
            try await pair.output.writeAll(Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
            for await _ in written {}
            return try await readAll(pair)
        }
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.hasSuffix("AAAA"))
    }

    /// Runs the server while `body` communicates with it.
    private func serving<Result: Sendable>(
        _ server: HTTPServer, _ handler: @escaping HTTPServer.Handler = mirror,
        _ body: (StreamPair) async throws -> Result
    ) async throws -> Result {
        let port = try #require(server.port)
        let running = Task { try await server.run(handler) }
        let pair = StreamPair(address: .ip(.v4(.loopback), port: port))
        defer { pair.close() }
        try pair.open()
        let result: Result
        do {
            result = try await body(pair)
        } catch {
            server.stop(within: .zero)
            throw error
        }
        pair.close()
        server.stop()
        try await running.value
        return result
    }

    private func readAll(_ pair: StreamPair) async throws -> String {
        var bytes: [UInt8] = []
        while case let more = try await pair.input.read(upTo: 65536), !more.isEmpty { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends these bytes in pieces of this size, ends the output, and returns the responses.
    private func answers(
        _ request: String, piece: Int = .max, _ configuration: HTTPServer.Configuration = .init(),
        _ handler: @escaping HTTPServer.Handler = mirror
    ) async throws -> String {
        var configuration = configuration
        configuration.hosts = .any
        return try await serving(HTTPServer(port: 0, isLocal: true, configuration: configuration), handler) { pair in
            var rest = Array(request.utf8)[...]
            while !rest.isEmpty {
                do throws(StreamError) {
                    try await pair.output.writeAll(Array(rest.prefix(piece)))
                } catch {
                    // Refused in the middle; the response has arrived.
                    break
                }
                rest = rest.dropFirst(piece)
            }
            try? await pair.output.finish()
            return try await readAll(pair)
        }
    }

    private func bodies(_ answers: String) -> [String] {
        answers.components(separatedBy: "HTTP/1.1 ").dropFirst().map {
            $0.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "|")
        }
    }

    private func statuses(_ answers: String) -> [String] {
        answers.components(separatedBy: "HTTP/1.1 ").dropFirst().map { String($0.prefix(3)) }
    }

    // MARK: Requests

    @Test(arguments: [Int.max, 1, 7])
    func oneAfterTheOther(_ piece: Int) async throws {
        let requests =
            "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n" + "\r\nPUT /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nGET "
            + "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n"
            + "HEAD /4 HTTP/1.1\r\nHost: a\r\n\r\n" + "GET /5 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /6"
        let found = try await answers(requests, piece: piece)
        #expect(bodies(found) == ["GET /1 0\n", "PUT /2 4\n", "POST /3 3\n", "", "GET /5 0\n"])
        #expect(found.components(separatedBy: "Connection: close").count == 2)
    }

    @Test func http10() async throws {
        let found = try await answers(
            "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\nGET /3 HTTP/1.0\r\n\r\n")
        #expect(bodies(found) == ["GET /1 0\n", "GET /2 0\n"])
        #expect(found.contains("Connection: keep-alive"))
    }

    /// Each receives one response, and no bytes behind it are taken for a request.
    @Test(
        "smuggling: what two programs could read differently ends the connection",
        arguments: [
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{B}chunked\r\n\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 0\r\n\r\nabc", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n", "400"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "400"),
            ("GET / HTTP/1.1\nHost: a\n\n", "400"), ("GET / HTTP/1.1\r\n\r\n", "400"),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"), ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505"),
            ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400"), ("GET / HTTP/1.1\r\nHost: a\r\n x\r\n\r\n", "400"),
            ("\u{16}\u{3}\u{1}\u{2}\r\n\r\n", "400"), ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", "501"),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501"),
        ], [Int.max, 1])
    func smuggling(_ sample: (String, status: String), _ piece: Int) async throws {
        let found = try await answers(sample.0 + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", piece: piece)
        #expect(statuses(found) == [sample.status], "\(found)")
        #expect(found.contains("Connection: close\r\n"))
    }

    // MARK: Limits

    @Test func tooLong() async throws {
        let many = String(repeating: "X: y\r\n", count: 101)
        let long = String(repeating: "x", count: 9000)
        for (request, status) in [
            ("GET /\(long) HTTP/1.1\r\nHost: a\r\n\r\n", "414"),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: \(long)\r\n\r\n", "431"),
            ("GET / HTTP/1.1\r\nHost: a\r\n\(many)\r\n", "431"),
            ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n\(long)", "413"),
            (
                "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n"
                    + String(repeating: "x", count: 0x100001) + "\r\n0\r\n\r\n", "413"
            ),
        ] {
            #expect(statuses(try await answers(request)) == [status], "\(request.prefix(40))")
        }
    }

    @Test(arguments: [
        ("GET / HT", ["408"]), ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na", ["408"]),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", ["200"]),
    ])
    func aSlowHeadOrBodyGetsA408(_ sent: String, _ expected: [String]) async throws {
        let found = try await HTTPServer.serving(
            sent,
            {
                $0.headTimeout = .zero
                $0.bodyTimeout = .milliseconds(1)
                $0.idleTimeout = .milliseconds(1)
            }, answering: Self.mirror
        ) { try await $0.rest() }
        #expect(statuses(found) == expected)
    }

    /// The rest of the head has arrived already, so no read waits; but the time limit has passed after the first read.
    @Test func aHeadThatIsLateIsRefusedWithoutAWait() async throws {
        let fields = String(repeating: "X: \(String(repeating: "x", count: 900))\r\n", count: 60)
        let found = try await HTTPServer.serving("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n") {
            $0.headTimeout = .zero
        } during: {
            try await $0.rest()
        }
        #expect(statuses(found) == ["408"])
    }

    /// Each byte arrives when the previous one has been read: each wait is short, but their sum is long.
    @Test func inTimeButSlow() async throws {
        let server = try server {
            $0.bodyTimeout = .milliseconds(50)
            $0.minimumBodyRate = .max
        }
        let count = 200_000
        let acknowledge: HTTPServer.Handler = { exchange in
            try await exchange.begin(HTTPResponse(status: .ok))
            while case let piece = try await exchange.readBody(), !piece.isEmpty { try await exchange.write([33]) }
        }
        let sent = try await serving(server, acknowledge) { pair in
            try await pair.output.writeAll(Array("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n".utf8))
            var sent = 0
            do throws(StreamError) {
                while sent < count, try await !pair.input.read(upTo: 1000).isEmpty {
                    sent += try await pair.output.write([32])
                }
            } catch {
                // The connection was closed in the middle.
                #expect(error.isPOSIX(ECONNRESET) || error.isPOSIX(EPIPE))
            }
            return sent
        }
        #expect(sent < count)
    }

    /// The first part of the head empties the socket, and the server waits for the rest without reading it at once: the read
    /// after that must not take the socket for empty.
    @Test(arguments: [20_000, 60_000, 100_000])
    func aHeadInTwoSegmentsBeforeALargeBody(_ length: Int) async throws {
        let loop = EventLoop(name: "segments")
        defer { loop.shutdown() }
        let server = try server { $0.connections.loops = [loop] }
        let found = try await serving(server) { pair in
            let head = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\nConnection: close\r\n\r\n"
            try await pair.output.writeAll(Array(head.utf8.prefix(20)))
            // The loop accepts the connection, reads the first segment and waits for the next.
            for _ in 0..<100 {
                await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
            }
            try await pair.output.writeAll(Array(head.utf8.dropFirst(20)) + [UInt8](repeating: 97, count: length))
            return try await readAll(pair)
        }
        #expect(bodies(found) == ["PUT / \(length)\n"])
    }

    // MARK: Bodies

    /// Another work item of the loop runs after this many pieces, even if all of them are buffered.
    @Test func manySmallPiecesYieldToTheLoop() async throws {
        let pieces = 50_000
        let loop = EventLoop(name: "pieces")
        defer { loop.shutdown() }
        let server = try server { $0.connections.loops = [loop] }
        let isSent = OneShot<Bool>()
        let longest = OneShot<Int>()
        let handler: HTTPServer.Handler = { exchange in
            _ = try await isSent.value()
            let turns = Locked((count: 0, isOver: false))
            @Sendable func countTurns() {
                let isOver = turns.withLock { turns in
                    turns.count += 1
                    return turns.isOver
                }
                if !isOver { loop.execute(countTurns) }
            }
            loop.execute(countTurns)
            var (most, inARow, seen) = (0, 0, 0)
            while try await !exchange.readBody().isEmpty {
                let now = turns.withLock { $0.count }
                inARow = now == seen ? inARow + 1 : 0
                seen = now
                most = max(most, inARow)
            }
            turns.withLock { $0.isOver = true }
            longest.provide(most)
            try await exchange.respond(.ok)
        }
        let found = try await serving(server, handler) { pair in
            let head = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            let body = String(repeating: "1\r\na\r\n", count: pieces) + "0\r\n\r\n"
            try await pair.output.writeAll(Array((head + body).utf8))
            isSent.provide(true)
            return try await readAll(pair)
        }
        #expect(statuses(found) == ["200"])
        // Far more time than a job's share of a turn.
        #expect(try #require(longest.value) < pieces)
    }

    @Test func expectations() async throws {
        let head = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        let wanted = try await serving(server()) { pair in
            try await pair.output.writeAll(Array(head.utf8))
            let interim = try await pair.input.read(upTo: 1000)
            #expect(interim == Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            try await pair.output.writeAll(Array("abc".utf8))
            try await pair.output.finish()
            return try await readAll(pair)
        }
        #expect(bodies(wanted) == ["PUT / 3\n"])
        // The body is not needed: no 100, an immediate response, and the connection is closed, since the client may send the body
        // or not.
        let refused = try await serving(server(), { try await $0.respond(.notFound) }) { pair in
            try await pair.output.writeAll(Array(head.utf8))
            return try await readAll(pair)
        }
        #expect(statuses(refused) == ["404"] && refused.contains("Connection: close"))
        // Sent without waiting: no 100 is needed.
        #expect(statuses(try await answers(head + "abc")) == ["200"])
    }

    @Test func unreadBodies() async throws {
        let request = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n" + String(repeating: "x", count: 1000)
        let next = "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
        let handler: HTTPServer.Handler = { try await $0.respond(.ok) }
        var strict = HTTPServer.Configuration()
        strict.unreadLength = 999
        #expect(statuses(try await answers(request + next, .init(), handler)) == ["200", "200"])
        #expect(statuses(try await answers(request + next, strict, handler)) == ["200"])
    }

    @Test func streamedAnswers() async throws {
        let requests = "GET / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\n\r\n"
        let found = try await answers(requests) { exchange in
            try await exchange.begin(HTTPResponse(status: .ok))
            try await exchange.write(Array("abc".utf8))
            try await exchange.write([])
            try await exchange.write(Array("d".utf8))
        }
        #expect(bodies(found) == ["3\r\nabc\r\n1\r\nd\r\n0|", "", "abcd"])
        let trailers = try await answers("GET / HTTP/1.1\r\nHost: a\r\n\r\n") { exchange in
            try await exchange.begin(HTTPResponse(status: .ok))
            try await exchange.finish(trailers: ["Checksum": "7"])
            await #expect(throws: StreamError.self) { try await exchange.write([1]) }
        }
        #expect(trailers.hasSuffix("\r\n\r\n0\r\nChecksum: 7\r\n\r\n"))
        let known = try await answers("GET / HTTP/1.1\r\nHost: a\r\n\r\n") { exchange in
            try await exchange.begin(HTTPResponse(status: .ok), length: 3)
            try await exchange.write(Array("ab".utf8))
            await #expect(throws: StreamError.self) { try await exchange.write(Array("cd".utf8)) }
            await #expect(throws: StreamError.self) { try await exchange.finish() }
            try await exchange.write(Array("c".utf8))
        }
        #expect(bodies(known) == ["abc"])
    }

    @Test("trailers that the framing has no place for are refused, and left out where there is no body")
    func unsendableTrailers() async throws {
        let requests = "GET / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\n\r\n"
        let found = try await answers(requests) { exchange in
            let isOfKnownLength = exchange.request.method == .get && exchange.request.version == .http11
            try await exchange.begin(HTTPResponse(status: .ok), length: isOfKnownLength ? 1 : nil)
            try await exchange.write([65])
            if isOfKnownLength {
                let error = await #expect(throws: StreamError.self) { try await exchange.finish(trailers: ["A": "1"]) }
                #expect(error?.code == 22)
                try await exchange.finish()
            } else {
                try await exchange.finish(trailers: ["A": "1"])
            }
        }
        #expect(bodies(found) == ["A", "", "A"])
    }

    // MARK: Handlers

    @Test func handlersThatFail() async throws {
        struct Failure: Error {}
        let seen = Locked(0)
        let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        var count = HTTPServer.Configuration()
        count.onError = { _ in seen.withLock { $0 += 1 } }
        #expect(statuses(try await answers(request + request, count) { _ in throw Failure() }) == ["500"])
        #expect(statuses(try await answers(request + request, count) { _ in }) == ["500"])
        // The response is visibly incomplete.
        let cut = try await answers(request + request, count) { exchange in
            try await exchange.begin(HTTPResponse(status: .ok))
            try await exchange.write([65])
            throw Failure()
        }
        #expect(cut.hasSuffix("1\r\nA\r\n"))
        let short = try await answers(request + request, count) { exchange in
            try await exchange.begin(HTTPResponse(status: .ok), length: 5)
            try await exchange.write([65])
        }
        #expect(short.hasSuffix("\r\n\r\nA"))
        #expect(seen.withLock { $0 } == 3)
        let twice = try await answers(request) { exchange in
            try await exchange.respond(.ok)
            await #expect(throws: StreamError.self) { try await exchange.respond(.notFound) }
        }
        #expect(statuses(twice) == ["200"])
        // An invalid response is the handler's error.
        #expect(statuses(try await answers(request) { try await $0.respond(.continue) }) == ["500"])
    }

    // MARK: Clients that disconnect

    private static let request = Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)

    /// A handler that waits until it is cancelled.
    private func waitingHandler(_ begun: OneShot<Void>, _ cancelled: OneShot<Void>) -> HTTPServer.Handler {
        { exchange in
            begun.provide(())
            do { try await OneShot<Void>().value() } catch { cancelled.provide(()) }
            await exchange.closed()
        }
    }

    @Test func aHandlerIsCancelledWhenItsClientResetsTheConnection() async throws {
        let (begun, cancelled) = (OneShot<Void>(), OneShot<Void>())
        _ = try await serving(server(), waitingHandler(begun, cancelled)) { pair in
            try await pair.output.writeAll(Self.request)
            try await begun.value()
            var now = linger(l_onoff: 1, l_linger: 0)
            #expect(
                setsockopt(
                    try #require(pair.output.descriptor), SOL_SOCKET, SO_LINGER, &now,
                    socklen_t(MemoryLayout<linger>.size)) == 0)
            pair.close()
            try await cancelled.value()
        }
    }

    @Test func aHandlerThatSendsNothingIsCancelledAfterItsClientHasEndedItsOutput() async throws {
        let (begun, cancelled) = (OneShot<Void>(), OneShot<Void>())
        let rest = try await serving(
            server { $0.halfClosedTimeout = .milliseconds(20) }, waitingHandler(begun, cancelled)
        ) { pair in
            try await pair.output.writeAll(Self.request)
            try await pair.output.finish()
            try await cancelled.value()
            return try? await readAll(pair)
        }
        #expect(rest == nil || rest == "")
    }

    @Test func aClientThatHasEndedItsOutputReceivesTheResponse() async throws {
        let (begun, mayGo) = (OneShot<Void>(), OneShot<Void>())
        let response = try await serving(server()) { exchange in
            begun.provide(())
            try await mayGo.value()
            try await exchange.respond(.ok)
        } _: { pair in
            try await pair.output.writeAll(Self.request)
            try await begun.value()
            try await pair.output.finish()
            mayGo.provide(())
            return try await readAll(pair)
        }
        #expect(statuses(response) == ["200"])
    }

    /// The limit counts from the last transfer.
    @Test func aTransferToAClientThatHasEndedItsOutputExtendsTheLimit() async throws {
        let outcomes = Locked<[Bool]>([])
        _ = try await serving(server()) { exchange in
            let watcher = try #require(exchange.task as? DisconnectionWatcher)
            watcher.noteTransfer()
            for _ in 0..<2 {
                watcher.limitReached(watcher.timerNumber)
                outcomes.withLock { $0.append(Task.isCancelled) }
            }
        } _: { pair in
            try await pair.output.writeAll(Self.request)
            return try? await readAll(pair)
        }
        #expect(outcomes.withLock { $0 } == [false, true])
    }

    /// The thread of the loop may call it when the handler has ended on another thread and the next one has begun.
    @Test func aLateTimerOfAHandlerCancelsNoLaterOne() async throws {
        let number = Locked<Int?>(nil)
        let isCancelled = Locked<[Bool]>([])
        let response = try await serving(server()) { exchange in
            let watcher = try #require(exchange.task as? DisconnectionWatcher)
            let first = number.withLock { number in
                number = number ?? watcher.timerNumber
                return number ?? 0
            }
            if first != watcher.timerNumber {
                // Sets the timer of this handler, since there was a transfer before.
                watcher.limitReached(watcher.timerNumber)
                watcher.limitReached(first)
            }
            isCancelled.withLock { $0.append(Task.isCancelled) }
            try await exchange.respond(.ok)
        } _: { pair in
            try await pair.output.writeAll(Self.request)
            try await pair.output.writeAll("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return try await readAll(pair)
        }
        #expect(statuses(response) == ["200", "200"] && isCancelled.withLock { $0 } == [false, false])
    }

    // MARK: Exchanges in other tasks

    @Test func anExchangeAdmitsOneCallAtATimeAndEndsWithItsHandler() async throws {
        let escaped = Locked<HTTPServerExchange?>(nil)
        let head = Array("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n".utf8)
        let isBusy = OneShot<Void>()
        let response = try await serving(server()) { exchange in
            escaped.withLock { $0 = exchange }
            async let body = exchange.body()
            while !exchange.gate.isEntered, !Task.isCancelled { await Task.yield() }
            await #expect(throws: StreamError.busy) { try await exchange.finish() }
            isBusy.provide(())
            try await exchange.respond(.ok, body: body)
        } _: { pair in
            try await pair.output.writeAll(head)
            try await isBusy.value()
            try await pair.output.writeAll([65])
            try await pair.output.finish()
            return try await readAll(pair)
        }
        #expect(response.hasSuffix("\r\n\r\nA"))
        let exchange = try #require(escaped.withLock { $0 })
        await #expect(throws: StreamError.closed) { try await exchange.respond(.ok) }
    }

    // MARK: Ends

    /// A parent, or a second server on a duplicate, continues to accept.
    @Test func stoppingLeavesOtherHoldersOfTheSocketAlone() async throws {
        let sockets = try Socket.listeners(onPort: 0, isLocal: true)
        let port = try #require(sockets.first?.localAddress?.port)
        let copies = try sockets.map { try Socket(descriptor: dup($0.descriptor), ownership: .owned) }
        let first = try HTTPServer(sockets: sockets)
        let running = Task { try await first.run(Self.mirror) }
        let client = StreamPair(address: .ip(.v4(.loopback), port: port))
        try client.open()
        try await client.output.writeAll(Self.request)
        _ = try await client.input.read(upTo: 1)
        client.close()
        first.stop()
        try await running.value
        let second = try HTTPServer(sockets: copies)
        let response = try await serving(second) { pair in
            try await pair.output.writeAll(Self.request)
            try await pair.output.finish()
            return try await readAll(pair)
        }
        #expect(statuses(response) == ["200"])
    }

    @Test func stopping() async throws {
        let server = try server()
        let port = try #require(server.port)
        let (begun, mayGo) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        let running = Task {
            try await server.run { exchange in
                begun.continuation.yield()
                for await _ in mayGo.stream { break }
                try await exchange.respond(.ok)
            }
        }
        let idle = StreamPair(address: .ip(.v4(.loopback), port: port))
        let busy = StreamPair(address: .ip(.v4(.loopback), port: port))
        try idle.open()
        try busy.open()
        try await idle.output.opened()
        try await busy.output.writeAll(Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        for await _ in begun.stream { break }
        server.stop()
        // An idle or unaccepted connection is closed. A busy one is closed after its response.
        let end = try? await idle.input.read(upTo: 1)
        #expect(end == nil || end == [])
        mayGo.continuation.yield()
        let answer = try await readAll(busy)
        #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("Connection: close"))
        try await running.value
        idle.close()
        busy.close()
    }
}
