import Dispatch
import EventLoops
import Foundation
import HTTPMessage
import HTTPStreamTesting
import StreamKit
import Testing

@testable import HTTPStream

/// The closure that makes a request's body, and the body's stream, are called without the load's lock, so they may use the stream
/// of the load.
@Suite(.timeLimit(.minutes(5))) struct BodyCallbackTests {
    /// Runs `body` with the URL of a server that answers with the body of the request.
    private func withEchoServer(_ body: (URL) async throws -> Void) async throws {
        let server = try HTTPServer(port: 0, isLocal: true, configuration: .patient)
        let port = try #require(server.port)
        let running = Task {
            try await server.run { exchange in
                try await exchange.respond(.ok, body: try await exchange.body())
            }
        }
        try await body(try #require(URL(string: "http://127.0.0.1:\(port)/")))
        server.stop(within: .zero)
        // It throws if it has not started by now: a client that closes at once needs no server.
        try? await running.value
    }

    private static func onThread<Outcome: Sendable>(
        _ work: @escaping @Sendable () throws -> Outcome
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
        }
    }

    /// A body that calls a closure at each read.
    private final class Source: StreamTransport {
        let waitPoint = WaitPoint()
        let isClosed = OneShot<Bool>()
        private let read: @Sendable () throws(StreamError) -> [UInt8]

        init(_ read: @escaping @Sendable () throws(StreamError) -> [UInt8]) {
            self.read = read
        }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
            let bytes = try read()
            if bytes.isEmpty { return .ended }
            for (index, byte) in bytes.enumerated() {
                buffer.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
            }
            return .moved(bytes.count)
        }

        func peek() throws(StreamError) -> Attempt { .moved(1) }
        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }
        func writability() throws(StreamError) -> Attempt { .ended }
        func close() { isClosed.provide(true) }
    }

    @Test("the closure that makes the body uses the stream of the load", arguments: [nil, 200_000])
    func closures(_ length: Int64?) async throws {
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        try await withEchoServer { url in
            let load = Locked<ReadStream?>(nil)
            let seen = Locked<[String]>([])
            let body = HTTPBody.stream(length: length) {
                guard let stream = load.withLock({ $0 }) else { return ReadStream(bytes: []) }
                let sent = stream[.httpBodyBytesSent] ?? -1
                seen.withLock { $0.append("\(sent) \(stream.hasBytesAvailable) \(stream.report.steps.isEmpty)") }
                return ReadStream(bytes: bytes)
            }
            let stream = ReadStream(request: try HTTPRequest(method: .put, url: url), body: body)
            load.withLock { $0 = stream }
            defer { load.withLock { $0 = nil } }  // the body refers to it
            try stream.open()
            #expect(try await stream.readAll(limit: 1 << 20) == bytes)
            #expect(seen.withLock { $0 } == ["0 false false"])
            #expect(stream[.httpBodyBytesSent] == 200_000)
        }
    }

    @Test("the body's stream closes the stream of the load, and is then closed itself") func closing() async throws {
        try await withEchoServer { url in
            let load = Locked<ReadStream?>(nil)
            let source = Source {
                load.withLock { $0 }?.close()
                return [1]
            }
            let bodyStream = ReadStream(transport: source)
            let body = HTTPBody.stream(length: nil) { bodyStream }
            let stream = ReadStream(request: try HTTPRequest(method: .put, url: url), body: body)
            load.withLock { $0 = stream }
            defer { load.withLock { $0 = nil } }  // the body refers to it
            await #expect(throws: StreamError.closed) {
                // Opening may already read the body.
                try stream.open()
                _ = try await stream.response()
            }
            #expect(try await source.isClosed.value())
            // A stream that is not referenced any more closes its transport.
            withExtendedLifetime(bodyStream) {}
        }
    }

    @Test("a body that cannot be opened fails the load before a byte is sent") func failing() async throws {
        let server = try TurnServer([])
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let body = HTTPBody.stream(length: 5) { ReadStream(path: "/nowhere/at/all") }
        let stream = ReadStream(request: try HTTPRequest(method: .put, url: url), body: body)
        try? stream.open()
        let error = await #expect(throws: StreamError.self) { try await stream.response() }
        #expect(error?.isPOSIX(2) == true)
        #expect(server.requests.isEmpty)
    }

    private final class Observer: Watcher, @unchecked Sendable {
        // Unchecked only as a subclass of Watcher: it has only a constant.
        let hasFired = OneShot<Bool>()
        override func fire() { hasFired.provide(true) }
    }

    @Test("an observer that is registered during a call of the body's closure is signalled when it returns")
    func observers() async throws {
        try await withHangingBody { _, observer, canReturn in
            #expect(observer.hasFired.value == nil)
            canReturn.signal()
            let hasFired = try await observer.hasFired.value()
            #expect(hasFired)
        } afterwards: { error in
            #expect(error == nil)
        }
    }

    @Test("closing the load ends a wait, although the body's closure has not returned")
    func closingElsewhere() async throws {
        try await withHangingBody { exchange, observer, _ in
            #expect(observer.hasFired.value == nil)
            exchange.close()
            let hasFired = try await observer.hasFired.value()
            #expect(hasFired)
        } afterwards: { error in
            #expect(error == .closed)
        }
    }

    @Test("the total limit ends a wait, although the body's closure has not returned") func timeLimit() async throws {
        try await withHangingBody(totalTimeout: .milliseconds(1)) { _, observer, _ in
            let hasFired = try await observer.hasFired.value()
            #expect(hasFired)
        } afterwards: { error in
            #expect(error?.isPOSIX(110) == true)
        }
    }

    /// Calls `body` while a thread opens a load whose body's closure does not return, and `afterwards` with the error of that
    /// thread.
    private func withHangingBody(
        totalTimeout: Duration? = nil,
        _ body: (LoadTransport, Observer, _ canReturn: DispatchSemaphore) async throws -> Void,
        afterwards: (StreamError?) -> Void
    ) async throws {
        let server = try TurnServer([])
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let (isCalled, canReturn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let source = Source { () throws(StreamError) in [1] }
        let bodyStream = ReadStream(transport: source)
        let requestBody = HTTPBody.stream(length: nil) {
            isCalled.signal()
            canReturn.wait()
            return bodyStream
        }
        let request = try HTTPRequest(method: .put, url: url)
        // A kept connection: the body is opened in the first step.
        let pair = StreamPair(host: "127.0.0.1", port: server.port)
        try pair.open()
        try await pair.output.opened()
        let pool = HTTPConnectionPool()
        let key = HTTPConnectionKey(try HTTPOrigin(url), StreamProperties(), loop: .shared)
        pool.put(HTTPConnection(pair: pair, key: key, limits: .default))
        var options = HTTPOptions()
        options.pool = pool
        options.keepsConnection = true
        options.totalTimeout = totalTimeout
        let exchange = LoadTransport(request, body: requestBody, LoadSettings(options), loop: .shared)
        let opening = Task {
            try await Self.onThread { () -> StreamError? in
                do throws(StreamError) {
                    _ = try exchange.tryOpen()
                    return nil
                } catch {
                    return error
                }
            }
        }
        try await Self.onThread { isCalled.wait() }
        let observer = Observer()
        if exchange.waitPoint.watch(.reader, for: .readable, with: observer) == .ready { observer.fire() }
        try await body(exchange, observer, canReturn)
        canReturn.signal()
        afterwards(try await opening.value)
        exchange.close()
        #expect(try await source.isClosed.value())
        // A stream that is not referenced any more closes its transport.
        withExtendedLifetime(bodyStream) {}
    }

    @Test("a body that can be sent only once, and was sent after a 100 (Continue), is not sent again")
    func spentAfterContinue() async throws {
        let server = try TurnServer([
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
        ])
        var request = try HTTPRequest(
            method: .put, url: try #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        try request.fields.set("100-continue", for: .expect)
        let stream = ReadStream(request: request, body: .stream(once: ReadStream(bytes: [1, 2, 3]), length: 3))
        try stream.set(.http(\.followsRedirects), to: true)
        try stream.set(.http(\.continueTimeout), to: .seconds(60))
        try stream.open()
        await #expect(throws: StreamError.bodyNotRepeatable(307)) { try await stream.response() }
        #expect(server.requests.count == 2)
    }
}
