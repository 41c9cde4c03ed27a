import EventLoops
import FoundationEssentials
import Glibc
import HTTP2
import HTTPAuth
import HTTPMessage
import HostResolver
import StreamKit
import StreamKitTesting
import Testing

@testable import HTTPStream

/// Tunnels through a proxy behind TLS that has chosen HTTP/2 (RFC 9113 §8.5).
@Suite(.timeLimit(.minutes(5))) struct HTTP2ProxyTests {
    private func proxy(_ server: NegotiatingServer, protocols: [String] = ["h2", "http/1.1"]) throws -> HTTPProxy {
        var proxy = HTTPProxy(host: "127.0.0.1", port: server.port, tls: try TestIdentity.trusted())
        proxy.tls?.applicationProtocols = protocols
        return proxy
    }

    private func pair(through proxy: HTTPProxy) throws -> StreamPair {
        let pair = StreamPair(host: "www.test", port: 7)
        try pair.set(.proxies, to: [ProxyRoute(proxy)])
        return pair
    }

    private static func head(_ status: HTTPStatus, _ fields: HTTPFields = HTTPFields()) throws -> HTTPResponse {
        var response = try HTTPResponse(status: status)
        response.fields = fields
        return response
    }

    /// Opens each tunnel, and returns what it carries.
    private static let echo: HTTP2Script.Handler = { (machine, event, _) in
        switch event {
        case .request(let stream, _):
            try machine.respond(stream, with: head(.ok), endsHere: false, now: .zero)
            return nil
        case .readable(let stream): return .echo(stream)
        case .ended(let stream): return .end(stream)
        default: return nil
        }
    }

    @Test("bytes pass both ways, more than all windows hold, up to the end of each side") func passes() async throws {
        let requests = Locked<[HTTP2Request]>([])
        let server = try NegotiatingServer(["h2"]) { (machine, event, connection) in
            if case .request(_, let request) = event { requests.withLock { $0.append(request) } }
            return try Self.echo(&machine, event, connection)
        }
        var proxy = try self.proxy(server)
        try proxy.fields.set("1", for: "X-Own")
        try proxy.fields.set("keep-alive", for: .proxyConnection)
        let pair = try pair(through: proxy)
        try pair.open()
        let sent = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        async let received = pair.input.readAll(limit: sent.count)
        try await pair.output.writeAll(sent)
        try await pair.output.finish()
        #expect(try await received == sent)
        let request = try #require(requests.withLock { $0 }.first)
        #expect(request.head.method == .connect && request.head.target.description == "www.test:7")
        #expect(request.head.fields["X-Own"] == "1" && !request.head.fields.contains(.proxyConnection))
        #expect(pair[.httpProxyResponse]?.status == .ok && pair[.proxyRoute]?.hops.count == 1)
        pair.close()
    }

    @Test("a thread that writes and one that reads share the connection") func threads() async throws {
        let server = try NegotiatingServer(["h2"], Self.echo)
        let pair = try pair(through: try proxy(server))
        try pair.open()
        let size = 1 << 20
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await onThread {
                    var sent = 0
                    while sent < size {
                        let piece = [UInt8](repeating: UInt8(sent >> 12 & 0xFF), count: min(4096, size - sent))
                        try pair.output.writeAll(piece)
                        sent += piece.count
                    }
                    try pair.output.finish()
                }
            }
            group.addTask {
                try await onThread {
                    var received = 0
                    while true {
                        let piece = try pair.input.read(upTo: 10_000)
                        if piece.isEmpty { break }
                        for (index, byte) in piece.enumerated() where byte != UInt8((received + index) >> 12 & 0xFF) {
                            Issue.record("byte \(received + index) is \(byte)")
                            return
                        }
                        received += piece.count
                    }
                    #expect(received == size)
                }
            }
            try await group.waitForAll()
        }
        pair.close()
    }

    @Test("a refusal has its status, fields and body", arguments: [403, 502]) func refused(_ code: Int) async throws {
        let status = try #require(HTTPStatus(code))
        let body = Array("not to this target".utf8)
        let server = try NegotiatingServer(["h2"]) { (machine, event, _) in
            if case .request(let stream, _) = event {
                try machine.answer(stream, status, fields: ["X-Rule": "7"], body: body)
            }
            return nil
        }
        let pair = try pair(through: try proxy(server))
        try pair.open()
        let error = await #expect(throws: StreamError.self) { try await pair.input.opened() }
        let response = try #require((error?.underlying as? HTTPProxyRefusal)?.response)
        #expect(response.status.code == code && response.fields["X-Rule"] == "7" && response.body == body)
        pair.close()
    }

    @Test("a login is answered on the same connection, with another stream") func login() async throws {
        let requests = Locked<[HTTP2Request]>([])
        let server = try NegotiatingServer(["h2"]) { (machine, event, connection) in
            guard case .request(let stream, let request) = event else {
                return try Self.echo(&machine, event, connection)
            }
            requests.withLock { $0.append(request) }
            if request.head.fields.contains(.proxyAuthorization) { return try Self.echo(&machine, event, connection) }
            // A realm of its own: the forms of logins are kept for the whole process.
            let challenge = "Basic realm=\"\(UInt64.random(in: 0 ... .max))\""
            var fields = HTTPFields()
            try fields.set(challenge, for: .proxyAuthenticate)
            try machine.answer(stream, .proxyAuthenticationRequired, fields: fields, body: [1, 2, 3])
            return nil
        }
        var proxy = try self.proxy(server)
        proxy.account = .init(user: "joe", password: Secret("secret"))
        let pair = try pair(through: proxy)
        try pair.open()
        try await pair.output.writeAll([1])
        #expect(try await pair.input.read(upTo: 1) == [1])
        let all = requests.withLock { $0 }
        #expect(all.count == 2 && server.connections.withLock { $0 } == 1)
        #expect(all.last?.head.fields[.proxyAuthorization] == "Basic am9lOnNlY3JldA==")
        pair.close()
    }

    @Test(
        "the reset of the connection behind the proxy, and the end of the proxy, are errors of both sides",
        arguments: [true, false])
    func lost(isReset: Bool) async throws {
        let server = try NegotiatingServer(["h2"]) { (machine, event, connection) in
            guard case .readable(let stream) = event else { return try Self.echo(&machine, event, connection) }
            return isReset
                ? .write(HTTP2Script.reset(stream, .connectError)) : .close(HTTP2Script.goAway(last: 1, .noError))
        }
        let pair = try pair(through: try proxy(server))
        try pair.open()
        try await pair.output.writeAll([1])
        await #expect(throws: StreamError.self) { try await pair.input.readAll(limit: 10) }
        await #expect(throws: StreamError.self) {
            while !Task.isCancelled { try await pair.output.writeAll([UInt8](repeating: 1, count: 1 << 16)) }
        }
        pair.close()
    }

    /// Writes in events as much as the stream accepts, until the end of the bytes or an error.
    private final class EventWriter: Sendable {
        private struct State {
            var rest: ArraySlice<UInt8>
            var continuation: CheckedContinuation<StreamError?, Never>?
        }

        private let stream: WriteStream
        private let state: Locked<State>

        init(_ stream: WriteStream, _ bytes: [UInt8]) {
            self.stream = stream
            state = Locked(State(rest: bytes[...]))
        }

        /// Returns the stream's error, if it has failed.
        func run() async -> StreamError? {
            await withCheckedContinuation { continuation in
                state.withLock { $0.continuation = continuation }
                stream.setClient(.all) { [self] stream, event in
                    switch event {
                    case .canAcceptBytes: write(stream)
                    case .errorOccurred: finish(stream.error)
                    default: break
                    }
                }
                stream.schedule(on: .loop(.shared))
            }
        }

        private func write(_ stream: WriteStream) {
            let rest = state.withLock { $0.rest }
            // The event of an error follows.
            guard let count = try? stream.tryWrite(Array(rest)) else { return }
            state.withLock { $0.rest = $0.rest.dropFirst(count) }
            if count == rest.count { finish(nil) }
        }

        private func finish(_ error: StreamError?) {
            state.withLock { $0.continuation.take() }?.resume(returning: error)
        }
    }

    @Test("a writer in events sends more than all windows hold") func writerInEvents() async throws {
        let server = try NegotiatingServer(["h2"], Self.echo)
        let pair = try pair(through: try proxy(server))
        try pair.open()
        try await pair.output.opened()
        let sent = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        async let received = pair.input.readAll(limit: sent.count)
        #expect(await EventWriter(pair.output, sent).run() == nil)
        try await pair.output.finish()
        #expect(try await received == sent)
        pair.close()
    }

    @Test(
        "a writer in events learns that the tunnel or the connection has ended", arguments: ["reset", "goAway", "end"])
    func writerLearnsOfTheEnd(_ kind: String) async throws {
        let server = try NegotiatingServer(["h2"]) { (machine, event, connection) in
            guard case .readable(let stream) = event else { return try Self.echo(&machine, event, connection) }
            switch kind {
            case "reset": return .write(HTTP2Script.reset(stream, .connectError))
            case "goAway": return .write(HTTP2Script.goAway(last: 0))
            default: return .close()
            }
        }
        let pair = try pair(through: try proxy(server))
        try pair.open()
        try await pair.output.opened()
        let error = await EventWriter(pair.output, [UInt8](repeating: 1, count: 8 << 20)).run()
        #expect(error != nil)
        pair.close()
    }

    @Test("what was written before a close arrives, with its end and without a reset", arguments: [true, false])
    func close(finishes: Bool) async throws {
        let (ends, source) = AsyncStream.makeStream(of: HTTP2Event.self)
        let count = Locked(0)
        let server = try NegotiatingServer(["h2"], readsBodies: false) { (machine, event, _) in
            switch event {
            case .request(let stream, _):
                try machine.respond(stream, with: Self.head(.ok), endsHere: false, now: .zero)
            case .readable(let stream):
                var buffer = [UInt8](repeating: 0, count: 1 << 16)
                var span = buffer.mutableSpan
                var memory = span.mutableBytes
                while case .bytes(let more) = try machine.read(stream, into: &memory, now: .zero) {
                    count.withLock { $0 += more }
                }
            case .ended, .reset: source.yield(event)
            default: break
            }
            return nil
        } onEnd: {
            source.finish()
        }
        let pair = try pair(through: try proxy(server))
        try pair.open()
        try await pair.output.writeAll([UInt8](repeating: 1, count: 3 << 20))
        if finishes { try await pair.output.finish() }
        pair.close()
        // Nil if the connection has ended first: the closed side waits for two seconds only.
        var events = ends.makeAsyncIterator()
        let end = await events.next()
        guard case .ended? = end else {
            Issue.record("\(String(describing: end)) after \(count.withLock { $0 }) bytes")
            return
        }
        #expect(count.withLock { $0 } == 3 << 20)
    }

    @Test("what the target has sent before it refused more is read") func stopped() async throws {
        let body = [UInt8](repeating: 7, count: 60_000)
        let server = try NegotiatingServer(["h2"]) { (machine, event, _) in
            switch event {
            case .request(let stream, _):
                try machine.respond(stream, with: Self.head(.ok), endsHere: false, now: .zero)
            case .readable(let stream):
                _ = try machine.send(body.span.bytes, on: stream, endsHere: true, now: .zero)
                machine.close(stream, now: .zero)
            default: break
            }
            return nil
        }
        let pair = try pair(through: try proxy(server))
        try pair.open()
        let error = await #expect(throws: StreamError.self) {
            while !Task.isCancelled { try await pair.output.writeAll([UInt8](repeating: 1, count: 1 << 16)) }
        }
        #expect(error?.isPOSIX(ECONNRESET) == true || error?.isPOSIX(EPIPE) == true, "\(String(describing: error))")
        #expect(try await pair.input.readAll(limit: 1 << 20) == body)
        pair.close()
    }

    @Test(
        "a proxy that closes the connection, or demands HTTP/1.1, gives an error or the next route",
        arguments: [true, false])
    func next(closes: Bool) async throws {
        let server = try NegotiatingServer(["h2"]) { (_, event, _) in
            guard case .request(let stream, _) = event else { return nil }
            return closes ? .close() : .write(HTTP2Script.reset(stream, .http11Required))
        }
        let other = try NegotiatingServer(["h2"], Self.echo)
        let pair = StreamPair(host: "www.test", port: 7)
        try pair.set(.proxies, to: [ProxyRoute(try proxy(server)), ProxyRoute(try proxy(other))])
        try pair.open()
        try await pair.output.writeAll([9])
        #expect(try await pair.input.read(upTo: 1) == [9])
        pair.close()
        let alone = try self.pair(through: try proxy(server))
        try alone.open()
        let error = await #expect(throws: StreamError.self) { try await alone.input.opened() }
        #expect(error?.description.contains("127.0.0.1:\(server.port)") == true, "\(String(describing: error))")
        alone.close()
    }

    @Test("a cipher suite that may not carry HTTP/2 (RFC 9113 §9.2.2)") func inadequateSecurity() async throws {
        let server = try NegotiatingServer(["h2"], suite: "ECDHE-ECDSA-AES128-SHA256", Self.echo)
        let pair = try pair(through: try proxy(server))
        try pair.open()
        let error = await #expect(throws: StreamError.self) { try await pair.input.opened() }
        #expect(error?.description.contains("INADEQUATE_SECURITY") == true, "\(String(describing: error))")
        pair.close()
    }

    @Test("a proxy that chooses HTTP/1.1, or nothing, is spoken to in HTTP/1.1", arguments: [["http/1.1"], []])
    func older(protocols: [String]) async throws {
        var configuration = StreamListener.Configuration()
        configuration.tls = try TestIdentity.server()
        configuration.tls?.applicationProtocols = protocols
        let listener = try StreamListener(address: .ip(.v4(.loopback), port: 0), configuration: configuration)
        defer { listener.stop(within: .zero) }
        let heads = Locked<[String]>([])
        Task {
            try await listener.run { client in
                let head = try await client.input.read(upTo: 4096)
                heads.withLock { $0.append(String(decoding: head, as: UTF8.self)) }
                try await client.output.writeAll(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
                _ = try await client.input.read(upTo: 1)
            }
        }
        var proxy = HTTPProxy(host: "127.0.0.1", port: listener.port ?? 0, tls: try TestIdentity.trusted())
        proxy.tls?.applicationProtocols = ["h2", "http/1.1"]
        let pair = try pair(through: proxy)
        try pair.open()
        try await pair.input.opened()
        #expect(heads.withLock { $0 }.first?.hasPrefix("CONNECT www.test:7 HTTP/1.1\r\n") == true)
        pair.close()
    }

    @Test("a request that the proxy receives itself is one of HTTP/1.1, which the list must permit") func requests()
        async throws
    {
        let server = try NegotiatingServer(["h2", "http/1.1"])
        for protocols in [["h2", "http/1.1"], ["h2"]] {
            let proxy = try self.proxy(server, protocols: protocols)
            let stream = try ReadStream(httpURL: try #require(URL(string: "http://www.test/")))
            defer { stream.close() }
            try stream.set(.proxies, to: [ProxyRoute(proxy)])
            do throws(StreamError) {
                try stream.open()
                let response = try await stream.response()
                #expect(protocols.count == 2 && response.version == .http11)
            } catch {
                #expect(protocols == ["h2"] && error.isPOSIX(EINVAL), "\(error)")
            }
        }
    }
}
