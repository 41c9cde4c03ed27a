import EventLoops
import HTTP2
import HTTPMessage
@_spi(Packages) import StreamKit
import Testing

@testable import HTTPStream

/// The life of a client's connection, in exact steps.
@Suite(.timeLimit(.minutes(5))) struct HTTP2ServerCoreTests {
    /// A server and its client, with a clock.
    private struct Pair: ~Copyable {
        var server: HTTP2ServerCore
        var client = HTTP2ClientMachine(now: .zero)
        var now: Moment
        private let start: Moment
        var events: [HTTP2Event] = []

        init(_ change: (inout HTTPServer.Configuration) -> Void = { _ in }) {
            start = .now
            now = start
            var configuration = HTTPServer.Configuration()
            change(&configuration)
            server = HTTP2ServerCore(configuration, loop: .shared, now: start)
        }

        var elapsed: Duration { start.duration(to: now) }

        mutating func advance(_ time: Duration) {
            now = now + time
            server.act(now: now)
            server.settle(now: now)
            server.endIfOver(now: now)
        }

        /// Carries all bytes both ways, and returns the requests that have arrived.
        ///
        /// - Parameter writes: whether the transport takes what the server sends.
        @discardableResult
        mutating func exchange(writes: Bool = true) -> [HTTP2ServerStream] {
            while client.outputCount > 0 || writes && server.outputCount > 0 {
                let sent = client.withOutput { bytes in bytes.withUnsafeBytes { Array($0) } }
                client.didWrite(sent.count)
                if !sent.isEmpty { server.receive(sent.span.bytes, now: now) }
                server.settle(now: now)
                if writes {
                    let answer = server.withOutput { bytes in bytes.withUnsafeBytes { Array($0) } }
                    server.didWrite(answer.count)
                    if !answer.isEmpty {
                        do throws(HTTP2Error) { try client.receive(answer.span.bytes, now: elapsed) } catch {}
                    }
                    while let event = client.nextEvent() { events.append(event) }
                }
            }
            server.settle(now: now)
            server.endIfOver(now: now)
            var requests: [HTTP2ServerStream] = []
            while let request = server.takeRequest() { requests.append(request) }
            return requests
        }

        mutating func request(fields: HTTPFields = HTTPFields(), endsHere: Bool = true) throws -> StreamID {
            var head = try HTTPRequest(method: .get, target: "/")
            for field in fields { try head.fields.append(field.value, for: field.name) }
            try head.fields.set("localhost", for: .host)
            return try #require(
                try client.request(HTTP2Request(head, scheme: "http"), endsHere: endsHere, now: elapsed))
        }
    }

    @Test("a connection that drains ends once its last bytes are written")
    func drained() throws {
        var pair = Pair { $0.writeTimeout = .seconds(30) }
        _ = try pair.request()
        let stream = try #require(pair.exchange().first)
        try pair.server.respond(stream, HTTPResponse(status: .ok), endsHere: true, now: pair.now)
        pair.server.close(stream, nil, now: pair.now)
        pair.server.drain(now: pair.now)
        // The client answers the PING of the shut-down.
        pair.exchange()
        let isOver = pair.server.hasEnded
        #expect(isOver)
    }

    @Test("the last bytes of a connection have the time of a response, counted from each progress")
    func lastBytes() throws {
        var slow = Pair { $0.writeTimeout = .seconds(30) }
        _ = try slow.request()
        let late = try #require(slow.exchange().first)
        slow.server.drain(now: slow.now)
        slow.exchange()
        try slow.server.respond(late, HTTPResponse(status: .ok), endsHere: false, now: slow.now)
        let body = [UInt8](repeating: 65, count: 8 * 1024)
        _ = try slow.server.send(body.span.bytes, endsHere: true, on: late, now: slow.now)
        slow.server.close(late, nil, now: slow.now)
        // Together, the pauses are longer than the time of a response.
        for _ in 0..<6 {
            slow.advance(.seconds(10))
            let hasEnded = slow.server.hasEnded
            #expect(!hasEnded)
            slow.server.didWrite(1024)
            slow.advance(.zero)
        }
        slow.advance(.seconds(30))
        let hasEnded = slow.server.hasEnded
        #expect(hasEnded)
    }

    @Test("a connection tells the listener that it waits for its client, also when it drains")
    func activity() throws {
        var pair = Pair()
        var activity = pair.server.activity
        #expect(activity == .idle)
        _ = try pair.request(endsHere: false)
        let stream = try #require(pair.exchange().first)
        activity = pair.server.activity
        #expect(activity == .busy)
        pair.server.drain(now: pair.now)
        pair.server.setWait(.request, of: stream)
        activity = pair.server.activity
        #expect(activity == .receiving)
        pair.server.close(stream, nil, now: pair.now)
        activity = pair.server.activity
        #expect(activity == .receiving)
    }

    @Test("a client that never sends a request is told so, and not waited for")
    func noRequest() {
        var pair = Pair { $0.headTimeout = .seconds(10) }
        pair.exchange()
        pair.advance(.seconds(10))
        let (hasEnded, output) = (pair.server.hasEnded, pair.server.outputCount)
        #expect(hasEnded && output > 0)
    }

    @Test("requests that are reset at once occupy their places until their handlers end, and end the connection")
    func rapidReset() throws {
        var pair = Pair()
        pair.exchange()
        var requests: [HTTP2ServerStream] = []
        for _ in 0..<400 where !pair.client.isDraining {
            let stream = try pair.request()
            requests += pair.exchange()
            pair.client.close(stream, now: pair.elapsed)
            pair.exchange()
        }
        let goAway = pair.events.compactMap { if case .goAway(let goAway) = $0 { goAway } else { nil } }.last
        #expect(requests.count == 100)
        #expect(goAway?.code == .enhanceYourCalm)
        let hasEnded = pair.server.hasEnded
        #expect(hasEnded)
    }

    @Test("heads that need much memory are refused before a handler sees them")
    func heads() throws {
        var pair = Pair()
        var long = HTTPFields()
        for number in 0..<15 { try long.append(String(repeating: "a", count: 3000), for: "X-Long-\(number)") }
        pair.exchange()
        var requests: [HTTP2ServerStream] = []
        for _ in 0..<60 {
            _ = try pair.request(fields: long)
            requests += pair.exchange()
        }
        let refused = pair.events.count {
            if case .reset(_, let failure) = $0 { failure.code == .refusedStream } else { false }
        }
        let first = try #require(requests.first)
        #expect(requests.count == 16 * 64 * 1024 / first.fieldSize && refused == 60 - requests.count)
        pair.server.close(first, nil, now: pair.now)
        _ = try pair.request(fields: long)
        let more = pair.exchange()
        #expect(more.count == 1)
        // A client that goes on all the same.
        var refusals = refused
        for _ in 0..<400 where !pair.client.isDraining {
            let stream = try pair.request(fields: long)
            pair.exchange()
            pair.client.close(stream, now: pair.elapsed)
            refusals += 1
        }
        let error = pair.server.error?.underlying as? HTTP2Error
        #expect(error?.code == .enhanceYourCalm && refusals == 201)
    }

    @Test("trailers count as a part of the heads")
    func trailers() throws {
        var pair = Pair()
        var long = HTTPFields()
        for number in 0..<15 { try long.append(String(repeating: "a", count: 3000), for: "X-Long-\(number)") }
        var count = 0
        while count < 60 {
            let stream = try pair.request(endsHere: false)
            guard !pair.exchange().isEmpty else { break }
            try pair.client.sendTrailers(long, on: stream, now: pair.elapsed)
            pair.exchange()
            count += 1
        }
        #expect(count == 24)
    }

    @Test("a client that ends its connection may still have a request on its way")
    func requestBehindGoAway() throws {
        var pair = Pair()
        pair.exchange()
        let request = try pair.request()
        let head = pair.client.withOutput { bytes in bytes.withUnsafeBytes { Array($0) } }
        pair.client.didWrite(head.count)
        pair.server.receive(([0, 0, 8, 7, 0, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 8)).span.bytes, now: pair.now)
        pair.exchange()
        let hasEnded = pair.server.hasEnded
        pair.server.receive(head.span.bytes, now: pair.now)
        let served = pair.exchange()
        #expect(!hasEnded && served.map(\.identifier) == [request])
    }

    @Test("a handler that does not want to send any more leaves its turn to others")
    func turns() throws {
        var pair = Pair()
        for _ in 0..<2 { _ = try pair.request() }
        let streams = pair.exchange()
        for stream in streams {
            try pair.server.respond(stream, HTTPResponse(status: .ok), endsHere: false, now: pair.now)
            let body = [UInt8](repeating: 65, count: 1 << 20)
            _ = try pair.server.send(body.span.bytes, endsHere: true, on: stream, now: pair.now)
        }
        pair.server.settle(now: pair.now)
        _ = pair.server.takeNotices()
        pair.server.didWrite(pair.server.outputCount)
        func woken() -> [StreamID] {
            pair.server.settle(now: pair.now)
            return pair.server.takeNotices().compactMap {
                if case .change(let stream) = $0 { stream.identifier } else { nil }
            }
        }
        let first = woken()
        #expect(first.count == 1)
        let quitter = try #require(streams.first { $0.identifier == first.first })
        pair.server.endTurn(of: quitter)
        let second = woken()
        #expect(second.count == 1 && second != first)
    }
}
