import EventLoops
import Glibc
import HTTPMessage
import HTTPStreamTesting
import HostResolver
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

/// The life of a connection to a server: its first request, its place among others, the stop of the server, and what remains when a
/// handler ends.
@Suite(.timeLimit(.minutes(5))) struct ServerConnectionTests {
    private static let request = Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)

    /// Runs a server while `body` communicates with it.
    private func serving<Result: Sendable>(
        loop: EventLoop = .shared, _ change: (inout HTTPServer.Configuration) -> Void = { _ in },
        answering handler: @escaping HTTPServer.Handler = { try await $0.respond(.ok) },
        during body: (HTTPServer) async throws -> Result
    ) async throws -> Result {
        var configuration = HTTPServer.Configuration.patient
        configuration.connections.loops = [loop]
        change(&configuration)
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let running = Task { try await server.run(handler) }
        let result: Result
        do {
            result = try await body(server)
        } catch {
            server.stop(within: .zero)
            throw error
        }
        server.stop(within: .zero)
        try await running.value
        return result
    }

    private func open(_ server: HTTPServer) async throws -> StreamPair {
        let pair = StreamPair(host: "127.0.0.1", port: try #require(server.port))
        if server.configuration.connections.tls != nil { try pair.set(.tls, to: try TestIdentity.trusted()) }
        try pair.open()
        try await pair.output.opened()
        return pair
    }

    /// Sends a request, and returns the first bytes of the answer; nil if the connection has failed.
    private func answer(on pair: StreamPair) async -> [UInt8]? {
        guard (try? await pair.output.writeAll(Self.request)) != nil else { return nil }
        return try? await pair.input.read(upTo: 65536)
    }

    // MARK: The first request

    /// The limit of the head holds from the beginning of the connection, not from the first byte.
    @Test(arguments: [("", ""), ("GET / HT", "HTTP/1.1 408"), ("\r\n", "HTTP/1.1 408")])
    func aConnectionWithoutARequestEnds(_ sent: String, _ beginning: String) async throws {
        let answer = try await HTTPServer.serving(sent) {
            $0.headTimeout = .zero
            $0.idleTimeout = .seconds(3600)
        } during: {
            try await $0.rest()
        }
        #expect(sent.isEmpty ? answer.isEmpty : answer.hasPrefix(beginning))
    }

    @Test func aConnectionBetweenRequestsHasTheIdleTime() async throws {
        let change: (inout HTTPServer.Configuration) -> Void = {
            $0.headTimeout = .zero
            $0.idleTimeout = .seconds(3600)
        }
        let request = String(decoding: Self.request, as: UTF8.self)
        try await HTTPServer.serving(
            request, change,
            during: { patient in
                #expect(try await patient.input.read(upTo: 65536).starts(with: Array("HTTP/1.1 200".utf8)))
                // The limit of a head has passed once it has ended a connection that began later.
                let silence = try await HTTPServer.serving("", change, during: { try await $0.rest() })
                #expect(silence == "")
                #expect(await answer(on: patient)?.starts(with: Array("HTTP/1.1 200".utf8)) == true)
            })
    }

    // MARK: At the maximum

    /// Silent clients, and those that send a part of a head, do not shut others out.
    @Test func theLongestWaitEndsForAnotherClient() async throws {
        let reports = Locked<[StreamError]>([])
        try await serving {
            $0.connections.maximumConnections = 3
            $0.connections.minimumWait = .zero
            $0.connections.onFailure = { error, peer in
                #expect(peer == nil)
                reports.withLock { $0.append(error) }
            }
        } during: { server in
            let kept = try await open(server)
            try await kept.output.writeAll(Self.request)
            _ = try await kept.input.read(upTo: 65536)
            let (silent, slow) = (try await open(server), try await open(server))
            try await slow.output.writeAll("GET / HT")
            while server.listener.connectionCount < 3, !Task.isCancelled { await Task.yield() }
            // Each new client is served; the connections that wait end one after the other.
            var clients: [StreamPair] = []
            for _ in 0..<6 {
                let client = try await open(server)
                #expect(await answer(on: client)?.starts(with: Array("HTTP/1.1 200".utf8)) == true)
                clients.append(client)
            }
            for pair in [kept, silent, slow] + clients { pair.close() }
        }
        // Said once until half of the places are free. On a slow machine two connections may have ended before the next client comes.
        let said = reports.withLock { $0 }
        #expect(!said.isEmpty && said.count < 6 && said.allSatisfy { $0.isPOSIX(EAGAIN) }, "\(said)")
    }

    /// A wait for the client after the head of its request.
    enum Stall: String, CaseIterable {
        case body = "POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"
        case slowBody = "POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1"
        case unreadBody = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"
        case response = "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n"
        case end = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    }

    /// Clients that send no body, read no response or do not close the connection do not shut others out, whatever the time limits.
    @Test(arguments: Stall.allCases, [false, true])
    func aClientThatStallsMakesRoom(_ stall: Stall, isSecure: Bool) async throws {
        let tls = isSecure ? try TestIdentity.server() : nil
        try await serving {
            $0.connections.tls = tls
            $0.connections.maximumConnections = 3
            $0.connections.minimumWait = .zero
            $0.bodyTimeout = .seconds(3600)
            $0.writeTimeout = .seconds(3600)
            $0.lingerTimeout = .seconds(3600)
        } answering: { exchange in
            if exchange.request.target.path == "/read" { _ = try await exchange.body() }
            if exchange.request.target.path == "/endless" {
                try await exchange.begin(HTTPResponse(status: .ok))
                while true { try await exchange.write([UInt8](repeating: 0, count: 1 << 20)) }
            }
            try await exchange.respond(.ok)
        } during: { server in
            var clients: [StreamPair] = []
            for _ in 0..<3 {
                let client = try await open(server)
                try await client.output.writeAll(stall.rawValue)
                clients.append(client)
            }
            // Each new client is served, and then waits itself.
            for _ in 0..<6 {
                let client = try await open(server)
                #expect(await answer(on: client)?.starts(with: Array("HTTP/1.1 200".utf8)) == true)
                clients.append(client)
            }
            for pair in clients { pair.close() }
        }
    }

    /// A client that goes on sending after the last response: the server closes the connection, however long it could wait.
    @Test func whatIsReadAfterTheLastResponseIsBounded() async throws {
        try await serving {
            $0.lingerTimeout = .seconds(3600)
        } during: { server in
            let pair = try await open(server)
            try await pair.output.writeAll("nonsense\r\n\r\n")
            let piece = [UInt8](repeating: 65, count: 1 << 16)
            // More than the kernel takes in addition.
            let most = 128 * Lingering.maximumCount
            var sent = 0
            while sent < most, (try? await pair.output.writeAll(piece)) != nil { sent += piece.count }
            #expect(sent < most)
            pair.close()
        }
    }

    @Test func aClientHasAMaximumOfConnections() async throws {
        try await serving {
            $0.connections.maximumConnectionsPerAddress = 1
        } during: { server in
            let first = try await open(server)
            try await first.output.writeAll(Self.request)
            _ = try await first.input.read(upTo: 65536)
            let second = try await open(server)
            let end = try? await second.input.read(upTo: 1)
            #expect(end == nil || end == [])
            try await first.output.writeAll(Self.request)
            #expect(try await first.input.read(upTo: 65536).starts(with: Array("HTTP/1.1 200".utf8)))
            for pair in [first, second] { pair.close() }
        }
    }

    /// The connections leave descriptors for everything else in the process.
    @Test func theMaximumFollowsTheLimitOfDescriptors() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 256
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            let server = try HTTPServer(port: 0, isLocal: true)
            #expect(server.listener.configuration.maximumConnections == 192)
            #expect(HTTPServer.Configuration().connections.maximumConnections == 4096)
        }
    }

    // MARK: The stop of a server

    /// The request is in the kernel's buffer when the server is told to stop, and its task has not run.
    @Test(arguments: ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HT"])
    func aRequestThatHasBegunIsServed(_ beginning: String) async throws {
        let loop = EventLoop(name: "stop")
        defer { loop.shutdown() }
        let answer = try await serving(loop: loop) { _ in
        } during: { server in
            let pair = try await open(server)
            // A first request, so that the connection is idle afterwards.
            try await pair.output.writeAll(Self.request)
            _ = try await pair.input.read(upTo: 65536)
            let descriptor = try #require(pair.output.descriptor)
            await withCheckedContinuation { continuation in
                loop.execute {
                    let bytes = Array(beginning.utf8)
                    #expect(send(descriptor, bytes, bytes.count, 0) == bytes.count)
                    server.stop()
                    continuation.resume()
                }
            }
            try await pair.output.writeAll(Array(Self.request.dropFirst(beginning.utf8.count)))
            defer { pair.close() }
            return try await pair.rest()
        }
        #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("Connection: close"))
    }

    // MARK: Ends of handlers

    /// Each of several tasks waits until the client is gone, and none returns earlier.
    @Test func severalTasksWaitUntilTheClientIsGone() async throws {
        let begun = OneShot<Void>()
        let ends = (0..<3).map { _ in OneShot<Void>() }
        try await serving {
            $0.halfClosedTimeout = .milliseconds(20)
        } answering: { exchange in
            let tasks = ends.map { end in
                Task {
                    await exchange.closed()
                    end.provide(())
                }
            }
            // Ends when all of them wait, or when one has returned too early.
            while exchange.task.waiterCount < ends.count, !ends.contains(where: { $0.value != nil }),
                !Task.isCancelled
            {
                await Task.yield()
            }
            begun.provide(())
            for task in tasks { await task.value }
        } during: { server in
            let pair = try await open(server)
            try await pair.output.writeAll(Self.request)
            try await begun.value()
            #expect(ends.allSatisfy { $0.value == nil })
            pair.close()
            for end in ends { try await end.value() }
        }
    }

    /// A handler that leaves a call running: the observer is told what has been sent, and the rest of the state is left to the call.
    @Test func aCallThatOutlivesItsHandlerIsReported() async throws {
        let records = Locked<[HTTPServer.Record]>([])
        let failure = OneShot<Bool>()
        try await serving {
            $0.onResponse = { record in records.withLock { $0.append(record) } }
        } answering: { exchange in
            try await exchange.begin(HTTPResponse(status: .accepted))
            try await exchange.write([1, 2, 3])
            Task {
                do {
                    // More than the kernel takes from a server whose client does not read.
                    while true { try await exchange.write([UInt8](repeating: 0, count: 1 << 20)) }
                } catch {
                    failure.provide(true)
                }
            }
            while !exchange.gate.isEntered, !Task.isCancelled { await Task.yield() }
        } during: { server in
            let pair = try await open(server)
            try await pair.output.writeAll(Self.request)
            #expect(try await failure.value())
            while records.withLock({ $0.isEmpty }), !Task.isCancelled { await Task.yield() }
            pair.close()
        }
        let record = try #require(records.withLock { $0.first })
        #expect(record.status == .accepted && !record.isComplete && record.bodyLength >= 3)
    }

    @Test("the record of a request that the server refuses has its head, if that was understood")
    func refusedRequests() async throws {
        let heads = [
            "PUT /long HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
            "GET /odd HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n",
            "GET /other HTTP/1.1\r\nHost: a\r\n\r\n", "GET /\r\n\r\n",
        ]
        var found: [String] = []
        for head in heads {
            let record = OneShot<HTTPServer.Record>()
            try await serving {
                $0.limits.bodyLength = 8
                $0.onResponse = { record.provide($0) }
            } answering: {
                try await $0.respond(.ok)
            } during: { server in
                let pair = try await open(server)
                defer { pair.close() }
                try await pair.output.writeAll(Array(head.utf8))
                let value = try await record.value()
                found.append("\(value.request?.target.description ?? "none") \(value.status?.code ?? 0)")
            }
        }
        #expect(found == ["/long 413", "/odd 417", "/other 421", "none 400"])
    }

    /// A body that could not be sent is not reported as sent.
    @Test func aBodyThatIsNotSentDoesNotCount() async throws {
        let record = OneShot<HTTPServer.Record>()
        let isReset = OneShot<Void>()
        try await serving {
            $0.onResponse = { record.provide($0) }
        } answering: { exchange in
            try await isReset.value()
            // Cancelled by then: the answer is attempted all the same.
            await exchange.closed()
            try await exchange.respond(.ok, body: [1, 2, 3])
        } during: { server in
            let pair = try await open(server)
            try await pair.output.writeAll(Self.request)
            var now = linger(l_onoff: 1, l_linger: 0)
            let size = socklen_t(MemoryLayout<linger>.size)
            let descriptor = try #require(pair.output.descriptor)
            #expect(setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, size) == 0)
            pair.close()
            isReset.provide(())
            let record = try await record.value()
            #expect(record.bodyLength == 0 && !record.isComplete)
        }
    }

    // MARK: Long-lived connections

    /// The reason why a connection is long-lived, as the request and the status of the response.
    enum LongLife: String, CaseIterable {
        case otherProtocol = "GET /long HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
        case declared = "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n"

        var status: HTTPStatus { self == .otherProtocol ? .switchingProtocols : .accepted }

        /// Serves the client until it closes the connection, which ends the input or cancels the task.
        func serve(_ exchange: HTTPServerExchange) async throws {
            switch self {
            case .otherProtocol:
                let connection = try await exchange.switchProtocols(to: "echo")
                while try await !connection.pair.input.read(upTo: 100).isEmpty {}
            case .declared:
                try exchange.declareLongLived()
                try exchange.declareLongLived()  // counts once
                try await exchange.begin(HTTPResponse(status: .accepted))
                try await OneShot<Void>().value()
            }
        }
    }

    /// A crowd of quiet long-lived connections leaves room for requests, whether or not their handlers respond beyond the maximum.
    @Test(arguments: LongLife.allCases, [503, 429] as [HTTPStatus])
    func longLivedConnectionsAreLimited(_ life: LongLife, _ refusal: HTTPStatus) async throws {
        let refusals = Locked(0)
        let (ends, signal) = AsyncStream<HTTPStatus?>.makeStream()
        try await serving {
            $0.connections.maximumConnections = 4
            $0.connections.minimumWait = .zero
            $0.halfClosedTimeout = .milliseconds(1)
            $0.onResponse = { signal.yield($0.status) }
        } answering: { exchange in
            guard exchange.request.target.path == "/long" else { return try await exchange.respond(.ok) }
            do {
                try await life.serve(exchange)
            } catch let error as StreamError where error.isPOSIX(EAGAIN) {
                refusals.withLock { $0 += 1 }
                if refusal == 429 { return try await exchange.respond(refusal) }
                throw error
            }
        } during: { server in
            var quiet: [StreamPair] = []
            for status in [life.status, life.status, life.status, refusal] {
                let pair = try await open(server)
                quiet.append(pair)
                try #require(try await firstAnswer(to: life.rawValue, on: pair).hasPrefix("HTTP/1.1 \(status) "))
            }
            quiet.removeLast().close()
            let client = try await open(server)
            #expect(await self.answer(on: client)?.starts(with: Array("HTTP/1.1 200".utf8)) == true)
            client.close()
            // The end of one makes room for another one.
            quiet.removeLast().close()
            for await status in ends where status == life.status { break }
            let next = try await open(server)
            #expect(try await firstAnswer(to: life.rawValue, on: next).hasPrefix("HTTP/1.1 \(life.status) "))
            for pair in quiet + [next] { pair.close() }
        }
        #expect(refusals.withLock { $0 } == 1)
    }

    private func firstAnswer(to request: String, on pair: StreamPair) async throws -> String {
        try await pair.output.writeAll(request)
        return String(decoding: try await pair.input.read(upTo: 65536), as: UTF8.self)
    }

    /// A quarter of the connections, rounded up, is left to requests, unless there is only one.
    @Test(arguments: [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3), (8, 6), (4096, 3072), (.max, .max / 4 * 3 + 2)])
    func aQuarterIsLeftToRequests(_ connections: Int, _ maximum: Int) {
        #expect(LongLivedLimit.usual(of: connections) == maximum)
    }

    /// The end that a task waits for after a switch of protocols.
    enum EndAfterSwitch: CaseIterable {
        /// The client ends its output, or resets the connection; or the handler closes it.
        case output, reset, closing
    }

    /// A handler awaits a task that waits for its client: the wait must not need the end of the handler.
    @Test(.timeLimit(.minutes(5)), arguments: EndAfterSwitch.allCases, [false, true])
    func afterASwitchATaskOfTheHandlerWaitsForTheClient(_ end: EndAfterSwitch, waitsBefore: Bool) async throws {
        let (mayEnd, hasEnded) = (OneShot<Void>(), OneShot<Void>())
        try await serving { _ in
        } answering: { exchange in
            try await withThrowingTaskGroup(of: Void.self) { group in
                if waitsBefore {
                    for _ in 0..<2 { group.addTask { await exchange.closed() } }
                    while exchange.task.waiterCount < 2, !Task.isCancelled { await Task.yield() }
                }
                let connection = try await exchange.switchProtocols(to: "echo")
                if !waitsBefore { for _ in 0..<2 { group.addTask { await exchange.closed() } } }
                while exchange.task.waiterCount < 2, !Task.isCancelled { await Task.yield() }
                if end == .closing {
                    connection.pair.close()
                } else {
                    mayEnd.provide(())
                    while let bytes = try? await connection.pair.input.read(upTo: 100), !bytes.isEmpty {}
                }
                try await group.waitForAll()
            }
            #expect(!Task.isCancelled)
            hasEnded.provide(())
        } during: { server in
            let pair = try await open(server)
            _ = try await firstAnswer(to: LongLife.otherProtocol.rawValue, on: pair)
            if end != .closing { try await mayEnd.value() }
            switch end {
            case .output: try await pair.output.finish()
            case .reset:
                var now = linger(l_onoff: 1, l_linger: 0)
                let size = socklen_t(MemoryLayout<linger>.size)
                #expect(setsockopt(try #require(pair.output.descriptor), SOL_SOCKET, SO_LINGER, &now, size) == 0)
                pair.close()
            case .closing: break
            }
            try await hasEnded.value()
            pair.close()
        }
    }

    /// The client is connected and the handler runs: nothing has ended.
    @Test func afterASwitchTheEndOfTheClientIsAwaited() async throws {
        let (isClosed, mayClose) = (OneShot<Void>(), OneShot<Void>())
        try await serving { _ in
        } answering: { exchange in
            let connection = try await exchange.switchProtocols(to: "echo")
            Task {
                await exchange.closed()
                isClosed.provide(())
            }
            // Ends when the task waits, or when it has returned too early.
            while exchange.task.waiterCount == 0, isClosed.value == nil, !Task.isCancelled { await Task.yield() }
            #expect(isClosed.value == nil)
            mayClose.provide(())
            while try await !connection.pair.input.read(upTo: 100).isEmpty {}
        } during: { server in
            let pair = try await open(server)
            _ = try await firstAnswer(to: LongLife.otherProtocol.rawValue, on: pair)
            try await mayClose.value()
            pair.close()
            try await isClosed.value()
        }
    }
}
