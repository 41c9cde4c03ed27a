import EventLoops
import Foundation
import Glibc
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Different callers of one load: a client that waits for events, and a caller whose reads advance the load.
///
/// The loop that would notify the client is blocked meanwhile, so that the client is still waiting when the load changes its state.
@Suite(.serialized, .timeLimit(.minutes(5))) struct HandoverTests {
    /// A stream whose client waits for the response, on a loop that the test can block.
    private struct Watched {
        let loop = EventLoop(name: "held")
        let stream: ReadStream
        private let gate = DispatchSemaphore(value: 0)

        init(_ url: String, _ configure: (ReadStream) throws -> Void = { _ in }) throws {
            let request = try HTTPRequest(method: .get, url: #require(URL(string: url)))
            stream = ReadStream(request: request, loop: loop)
            try configure(stream)
        }

        /// Opens the stream, and returns once its client waits.
        func open() async throws {
            let opened = Signal()
            stream.setClient(.all) { _, event in
                if event == .openCompleted { opened.fire() }
            }
            stream.schedule(on: .loop(loop))
            try stream.open()
            try await opened.wait()
            for _ in 0..<4 { await turn() }
        }

        private func turn() async {
            await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
        }

        /// Blocks the loop's thread until ``release()``.
        func hold() async throws {
            let held = Signal()
            loop.execute { [gate] in
                held.fire()
                gate.wait()
            }
            try await held.wait()
        }

        func release() { gate.signal() }

        /// Reads by polling, without the loop, to the end or a failure.
        func poll() async -> (text: String, error: StreamError?) {
            await onThread { [stream] in
                var body: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 4096)
                do throws(StreamError) {
                    while true {
                        guard let count = try stream.tryRead(into: &buffer) else { continue }
                        if count == 0 { return (String(decoding: body, as: UTF8.self), nil) }
                        body += buffer[..<count]
                    }
                } catch {
                    return (String(decoding: body, as: UTF8.self), error)
                }
            }
        }
    }

    /// E.2: closing the connection signals the client's wait, which must not need a lock that the load holds.
    @Test(arguments: [
        ("no HTTP at all\r\n\r\n", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", true),
    ])
    func aConnectionIsClosedWhileAClientWaits(_ answer: String, _ isFine: Bool) async throws {
        let go = Signal()
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.wait(for: go)
            try connection.send(answer)
        }
        let watched = try Watched(server.url())
        try await watched.open()
        try await watched.hold()
        go.fire()
        let (text, error) = await watched.poll()
        #expect(text == (isFine ? "ok" : ""))
        #expect((error == nil) == isFine)
        watched.release()
        watched.stream.close()
    }

    /// E.3: the client of a load that has ended does not disturb the next load on the connection.
    @Test func aKeptConnectionHasNoWaiter() async throws {
        let go = Signal()
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.wait(for: go)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst")
            try connection.readHead()
            try connection.wait(for: go)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond")
        }
        let pool = HTTPConnectionPool()
        let first = try Watched(server.url()) {
            try $0.set(.http(\.keepsConnection), to: true)
            try $0.set(.http(\.pool), to: pool)
        }
        try await first.open()
        try await first.hold()
        go.fire()
        #expect(await first.poll().text == "first")
        #expect(pool.idleCount == 1)

        let request = try HTTPRequest(method: .get, url: #require(URL(string: server.url())))
        let second = ReadStream(request: request, loop: first.loop)
        try second.set(.http(\.keepsConnection), to: true)
        try second.set(.http(\.pool), to: pool)
        // With a limit, a thread waits at a wait point, not in `recv`.
        try second.set(.readTimeout, to: .seconds(30))
        let loaded = Task { await load(second, .blocking) }
        while second.status != .reading, !Task.isCancelled { await Task.yield() }
        go.fire()
        #expect(await loaded.value.error == nil)
        #expect(await loaded.value.text == "second")
        first.release()
        first.stream.close()
    }

    /// E.4: a thread that waits for a response over TLS sleeps, even if the stream has a client.
    @Test func aBlockedReadSleepsThoughThereIsAClient() async throws {
        let identity = try CertificateAuthority.shared().server(.good)
        var configuration = HTTPServer.Configuration()
        configuration.connections.tls = TLSConfiguration(
            server: try TLSIdentity(file: identity.chain, keyFile: identity.key))
        let server = try HTTPServer(port: 0, isLocal: true, configuration: configuration)
        let answer = Signal()
        let running = Task {
            try await server.run { exchange in
                if exchange.request.requestLine.contains("slow") { try await answer.wait() }
                try await exchange.respond(.ok, body: Array("done".utf8))
            }
        }
        let port = try #require(server.port)
        let watched = try Watched("https://localhost:\(port)/slow") { try $0.set(.tls, to: try trustingPeers()) }
        try await watched.open()

        let reading = Task {
            await onThread { [stream = watched.stream] in
                let start = clock(CLOCK_THREAD_CPUTIME_ID)
                let text = Result { String(decoding: try stream.read(upTo: 100), as: UTF8.self) }
                return (text, clock(CLOCK_THREAD_CPUTIME_ID) - start)
            }
        }
        while watched.stream.status != .reading, !Task.isCancelled { await Task.yield() }
        let start = clock(CLOCK_PROCESS_CPUTIME_ID)
        for _ in 0..<50 {
            let other = try await get("https://localhost:\(port)/") { try $0.set(.tls, to: try trustingPeers()) }
            #expect(other.text == "done")
        }
        answer.fire()
        let (text, time) = await reading.value
        #expect(try text.get() == "done")
        #expect(time < (clock(CLOCK_PROCESS_CPUTIME_ID) - start) / 10)
        watched.stream.close()
        server.stop(within: .zero)
        try await running.value
    }
}

private func clock(_ clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
