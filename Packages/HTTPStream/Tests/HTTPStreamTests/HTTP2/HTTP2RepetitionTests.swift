import EventLoops
import FoundationEssentials
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Which requests are sent again over HTTP/2, where, and how often (RFC 9113 §8.7).
@Suite(.timeLimit(.minutes(5))) struct HTTP2RepetitionTests {
    private func load(_ stream: ReadStream) async throws -> HTTPStatus? {
        try stream.open()
        defer { stream.close() }
        _ = try await stream.readAll(limit: 1 << 20)
        return stream[.httpResponse]?.status
    }

    @Test("a refused stream is sent again on the same connection, whatever its method")
    func refusedOnce() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            switch event {
            case .request(StreamID(1), _): machine.close(StreamID(1), code: .refusedStream, now: .zero)
            case .ended(let stream) where stream != StreamID(1): try machine.answer(stream)
            default: break
            }
            return nil
        }
        let stream = try server.stream(.post, body: .bytes([1, 2]))
        #expect(try await load(stream) == .ok)
        #expect(server.connectionCount == 1 && server.requests.count == 2 && server.bodies[StreamID(3)] == [1, 2])
    }

    @Test("a stream that is always refused is sent three times, and the error names the code")
    func refusedAlways() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, _) = event { machine.close(stream, code: .refusedStream, now: .zero) }
            return nil
        }
        let stream = try server.stream()
        let error = await #expect(throws: StreamError.self) { _ = try await load(stream) }
        #expect(error?.description.contains("REFUSED_STREAM") == true)
        #expect(server.requests.count == 3 && server.connectionCount == 1)
        let kinds = stream[.report]?.steps.map(\.kind) ?? []
        #expect(kinds.count { if case .request = $0 { true } else { false } } == 3)
        #expect(kinds.compactMap { if case .stream(let number, _, _) = $0 { number } else { nil } } == [1, 3, 5])
    }

    @Test("a stream above the last one of GOAWAY is sent again on another connection, whatever its method")
    func goAway() async throws {
        let server = HTTP2Peer { (machine, event, connection) in
            guard case .ended(let stream) = event else { return nil }
            if connection == 1 { return .close(HTTP2Script.goAway(last: 0)) }
            try machine.answer(stream)
            return nil
        }
        #expect(try await load(server.stream(.post, body: .bytes([1]))) == .ok)
        #expect(server.requests.map(\.connection) == [1, 2])
    }

    @Test("a request that the server has begun to answer is not sent again, whatever GOAWAY says")
    func goAwayAfterInterimResponse() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            guard case .ended(let stream) = event else { return nil }
            if stream == StreamID(1) {
                try machine.answer(stream)
                return nil
            }
            try machine.respond(
                stream, with: HTTPResponse(status: HTTPStatus(integerLiteral: 103)), endsHere: false, now: .zero)
            return .finish(HTTP2Script.goAway(last: 1))
        }
        #expect(try await load(server.stream()) == .ok)
        await #expect(throws: StreamError.self) { _ = try await load(server.stream(.post, body: .bytes([1]))) }
        #expect(server.requests.map(\.connection) == [1, 1])
    }

    @Test("a stream above the last one of GOAWAY is sent again as often as connections end after another one")
    func endingConnections() async throws {
        let count = 8
        let progress = Locked((arrived: [Int: Int](), answered: 0))
        let server = HTTP2Peer { (machine, event, connection) in
            guard case .request = event else { return nil }
            let isComplete = progress.withLock { progress in
                progress.arrived[connection, default: 0] += 1
                guard progress.arrived[connection] == count - progress.answered else { return false }
                progress.answered += 1
                return true
            }
            // All requests that are left have arrived. The first one is answered.
            guard isComplete else { return nil }
            try machine.answer(StreamID(1))
            return .write(HTTP2Script.goAway(last: 1))
        }
        try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    let status = try await load(server.stream(.post, body: .bytes([])))
                    #expect(status == .ok)
                }
            }
            try await group.waitForAll()
        }
        #expect(server.requests.count == (1...count).reduce(0, +))
    }

    /// The server has gone, so a write fails; what it sent before tells that the request was not processed.
    @Test("GOAWAY is obeyed although the server has closed the connection while the request was sent")
    func goAwayBeforeFailedWrite() async throws {
        // The body is sent while the server closes.
        let body = [UInt8](repeating: 1, count: 60_000)
        for _ in 0..<20 {
            let server = HTTP2Peer { (machine, event, connection) in
                if case .request = event, connection == 1 { return .close(HTTP2Script.goAway(last: 0)) }
                if case .ended(let stream) = event { try machine.answer(stream) }
                return nil
            }
            #expect(try await load(server.stream(.post, body: .bytes(body))) == .ok)
            #expect(server.requests.map(\.connection) == [1, 2])
        }
    }

    @Test("a stream up to the last one of GOAWAY goes on, while others use another connection")
    func draining() async throws {
        let server = HTTP2Peer { (machine, event, connection) in
            switch event {
            case .request(StreamID(1), _) where connection == 1: return .write(HTTP2Script.goAway(last: 1))
            // Requests behind GOAWAY are not processed.
            case .ended(let stream) where connection > 1 || stream == StreamID(1):
                try machine.answer(stream, body: [UInt8(connection)])
            default: break
            }
            return nil
        }
        let (pieces, source) = AsyncStream.makeStream(of: [UInt8].self)
        let first = try server.stream(.post, "/first", body: .chunks(pieces))
        try first.open()
        while server.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        let other = try server.stream(.post, "/other", body: .bytes([1]))
        try other.open()
        #expect(try await other.readAll(limit: 10) == [2])
        other.close()
        #expect(server.endedCount == 0)
        source.yield([1])
        source.finish()
        #expect(try await first.readAll(limit: 10) == [1])
        first.close()
        #expect(server.bodies[StreamID(1)]?.isEmpty == false)
        while server.endedCount < 1, !Task.isCancelled { await Task.yield() }
        #expect(server.connectionCount == 2 && server.pool.idleCount == 1)
    }

    @Test(
        "a request that may have been processed is sent again only if its method is idempotent",
        arguments: [HTTPMethod.get, .post])
    func lostConnection(method: HTTPMethod) async throws {
        let server = HTTP2Peer { (machine, event, connection) in
            guard case .ended(let stream) = event else { return nil }
            if connection == 1, stream != StreamID(1) { return .close() }
            try machine.answer(stream)
            return nil
        }
        #expect(try await load(server.stream()) == .ok)
        let stream = try server.stream(method)
        if method == .get {
            #expect(try await load(stream) == .ok)
            #expect(server.requests.map(\.connection) == [1, 1, 2])
        } else {
            await #expect(throws: StreamError.self) { _ = try await load(stream) }
            #expect(server.requests.map(\.connection) == [1, 1])
        }
    }

    @Test(
        "a request to a server that falls silent fails with ETIMEDOUT, or is sent again if its method is idempotent",
        arguments: [HTTPMethod.get, .post])
    func silentServer(method: HTTPMethod) async throws {
        let server = HTTP2Peer { (machine, event, connection) in
            guard case .ended(let stream) = event else { return nil }
            if connection == 1, stream != StreamID(1) { return .fallSilent }
            try machine.answer(stream)
            return nil
        }
        #expect(try await load(server.stream()) == .ok)
        let stream = try server.stream(method)
        let answer = Task { try await load(stream) }
        while server.requests.count < 2, !Task.isCancelled { await Task.yield() }
        let link = try server.link()
        // The clock of the connection alone.
        let asks = Moment.now + HTTP2ClientCore.pingInterval
        link.changeCore { $0.act(now: asks) }
        #expect(link.error == nil)
        link.changeCore { $0.act(now: asks + HTTP2ClientCore.pingTimeout) }
        if method == .get {
            #expect(try await answer.value == .ok)
            #expect(server.requests.map(\.connection) == [1, 1, 2])
        } else {
            let error = await #expect(throws: StreamError.self) { _ = try await answer.value }
            #expect(error == .timedOut && error?.description.contains("PING") == true)
            #expect(server.requests.map(\.connection) == [1, 1])
        }
    }

    @Test("the first request of a connection is sent again if others were answered before the connection ended")
    func lostFirstRequest() async throws {
        let server = HTTP2Peer { (machine, event, connection) in
            guard case .ended(let stream) = event, connection > 1 || stream != StreamID(1) else { return nil }
            try machine.answer(stream)
            return connection == 1 ? .finish() : nil
        }
        let first = try server.stream()
        let answer = Task { try await load(first) }
        while server.requests.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(try await load(server.stream(.post, body: .bytes([1]))) == .ok)
        #expect(try await answer.value == .ok)
        #expect(server.requests.map(\.connection) == [1, 1, 2])
    }

    @Test("a request is not sent again if a new connection ends without an answer")
    func lostNewConnection() async throws {
        let server = HTTP2Peer { (_, event, _) in
            if case .ended = event { .close() } else { nil }
        }
        let error = await #expect(throws: StreamError.self) { _ = try await load(server.stream()) }
        #expect(error?.details == [:])
        #expect(server.requests.count == 1)
    }

    @Test("a server that demands HTTP/1.1 does not get it from a load that permits HTTP/2 alone")
    func requiresHTTP1() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, _) = event { machine.close(stream, code: .http11Required, now: .zero) }
            return nil
        }
        let error = await #expect(throws: StreamError.self) { _ = try await load(server.stream()) }
        #expect(error?.description.contains("HTTP_1_1_REQUIRED") == true)
        #expect(server.requests.count == 1 && server.connectionCount == 1)
    }

    @Test(
        "a stream that the server ends with an error is not sent again", arguments: [ErrorCode.internalError, .cancel])
    func reset(code: ErrorCode) async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, _) = event { machine.close(stream, code: code, now: .zero) }
            return nil
        }
        let error = await #expect(throws: StreamError.self) { _ = try await load(server.stream()) }
        #expect(error?.description.contains(code.description) == true)
        #expect(error?.details == [.http2ErrorCode: .number(Int(code.rawValue))])
        #expect(server.requests.count == 1)
    }

    @Test("bytes of another protocol are an error that says so, and no stream waits for ever")
    func otherProtocol() async throws {
        let server = HTTP2Peer(http1: 1...9)
        let error = await #expect(throws: StreamError.self) { _ = try await load(server.stream()) }
        #expect(error?.description.contains("HTTP/1.1") == true)
    }

    @Test("a load that ends before it has used its connection does not end it for the others")
    func abandonedUse() async throws {
        let server = HTTP2Peer()
        let first = try server.stream()
        try first.open()
        while server.connectionCount == 0, !Task.isCancelled { await Task.yield() }
        #expect(try await load(server.stream()) == .ok)
        first.close()
        #expect(try await load(server.stream()) == .ok)
        #expect(server.connectionCount == 1)
    }
}
