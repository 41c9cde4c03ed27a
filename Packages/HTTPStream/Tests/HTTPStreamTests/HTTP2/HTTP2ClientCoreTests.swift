import EventLoops
import FoundationEssentials
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The life of a connection, in exact steps.
@Suite(.timeLimit(.minutes(5))) struct HTTP2ClientCoreTests {
    private let start = Moment.now

    private func core() -> HTTP2ClientCore {
        HTTP2ClientCore(limits: .default, idleTimeout: .seconds(10), silenceTimeout: .seconds(5), now: start)
    }

    @Test("a peer that does not take the last frames of a connection prevents its end for a second only")
    func linger() {
        var core = core()
        core.endIfOver(now: start)
        let (isIdle, deadline) = (core.isIdle, core.nextDeadline)
        #expect(isIdle && deadline.map { $0 <= start + .seconds(10) } == true)
        let end = start + .seconds(10)
        core.act(now: end)
        core.settle(now: end)
        core.endIfOver(now: end)
        // The preface and GOAWAY have not been written.
        let (isOpen, hasEnded, count, next) = (core.isOpen, core.hasEnded, core.outputCount, core.nextDeadline)
        #expect(!isOpen && !hasEnded && count > 0)
        #expect(next.map { $0 > end } == true)
        core.act(now: end + .seconds(1))
        core.endIfOver(now: end + .seconds(1))
        let (isOver, last) = (core.hasEnded, core.nextDeadline)
        #expect(isOver && last == nil)
    }

    @Test("a connection that drains ends as soon as its output is written")
    func written() {
        var core = core()
        core.drain(now: start)
        core.endIfOver(now: start)
        let early = core.hasEnded
        core.didWrite(core.outputCount)
        core.endIfOver(now: start)
        let late = core.hasEnded
        #expect(!early && late)
    }

    @Test("requests get streams in their order, also after one that waits has been given up")
    func queue() throws {
        var core = core()
        // The server allows one stream.
        core.receive(([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1] as [UInt8]).span.bytes, now: start)
        core.settle(now: start)
        let streams = (0..<4).map { _ in HTTP2ClientStream(waitingAt: WaitPoint()) }
        for stream in streams {
            var head = try HTTPRequest(method: .get, target: RequestTarget("/"))
            try head.fields.set("www.example.org", for: .host)
            try core.send(HTTP2Request(head, scheme: "http"), endsHere: true, as: stream, now: start)
        }
        #expect(streams.map { $0.identifier?.rawValue } == [1, nil, nil, nil])
        core.close(streams[1], now: start)
        core.close(streams[0], now: start)
        core.settle(now: start)
        #expect(streams.map { $0.identifier?.rawValue } == [1, nil, 3, nil])
        let (third, fourth, count) = (try core.hasSent(streams[2]), try core.hasSent(streams[3]), core.sentCount)
        #expect(third && !fourth && count == 2)
        // Those that wait continue elsewhere.
        core.drain(now: start)
        var isRefused = false
        do throws(HTTP2LinkFailure) { _ = try core.hasSent(streams[3]) } catch { isRefused = true }
        #expect(isRefused)
    }

    @Test("requests that a server allows no stream continue elsewhere after a time", arguments: [true, false])
    func noStreams(isPooled: Bool) throws {
        var core = HTTP2ClientCore(
            limits: .default, idleTimeout: isPooled ? .zero : nil, silenceTimeout: .seconds(5), now: start)
        let first = HTTP2ClientStream(waitingAt: WaitPoint())
        let second = HTTP2ClientStream(waitingAt: WaitPoint())
        var head = try HTTPRequest(method: .get, target: RequestTarget("/"))
        try head.fields.set("www.example.org", for: .host)
        try core.send(HTTP2Request(head, scheme: "http"), endsHere: true, as: first, now: start)
        // The server allows no further stream.
        core.receive(([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0] as [UInt8]).span.bytes, now: start)
        try core.send(HTTP2Request(head, scheme: "http"), endsHere: true, as: second, now: start)
        core.close(first, now: start)
        core.didWrite(core.outputCount)
        core.settle(now: start)
        core.endIfOver(now: start)
        let (isSent, end) = (try core.hasSent(second), core.waitEnd)
        #expect(!isSent && end == start + HTTP2ClientCore.queueTimeout)
        _ = core.takeNotices()
        core.act(now: start + .seconds(60))
        var isGivenUp = false
        do throws(HTTP2LinkFailure) { _ = try core.hasSent(second) } catch { isGivenUp = true }
        let notices = core.takeNotices()
        #expect(isGivenUp && notices.contains { $0 === second.point })
    }

    @Test("the time of a connection without requests does not limit requests that wait for a stream, and the reverse")
    func waits() throws {
        var core = core()
        // SETTINGS that allow no stream.
        core.receive(([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0] as [UInt8]).span.bytes, now: start)
        core.settle(now: start)
        core.endIfOver(now: start)
        #expect(core.waitEnd == start + .seconds(10))
        let stream = HTTP2ClientStream(waitingAt: WaitPoint())
        var head = try HTTPRequest(method: .get, target: RequestTarget("/"))
        try head.fields.set("www.example.org", for: .host)
        let late = start + .seconds(9)
        try core.send(HTTP2Request(head, scheme: "http"), endsHere: true, as: stream, now: late)
        core.act(now: start + .seconds(10))
        core.endIfOver(now: start + .seconds(10))
        #expect(core.isOpen && core.waitEnd == late + HTTP2ClientCore.queueTimeout)
        core.close(stream, now: late)
        core.endIfOver(now: late)
        #expect(core.waitEnd == late + .seconds(10))
    }

    @Test("a queue keeps its order, whichever requests are given up", arguments: 0..<64)
    func giveUp(seed: Int) throws {
        let request = HTTP2Request(try HTTPRequest(method: .get, target: RequestTarget("/")), scheme: "http")
        let streams = (0..<6).map { _ in HTTP2ClientStream(waitingAt: WaitPoint()) }
        var (queue, other) = (HTTP2RequestQueue(), HTTP2RequestQueue())
        for stream in streams {
            queue.append(.init(request: request, endsHere: true, stream: stream))
            // One that was first in another queue.
            other.remove(stream)
        }
        var expected = streams.indices.filter { seed & 1 << $0 == 0 }
        for index in streams.indices.reversed() where !expected.contains(index) { queue.remove(streams[index]) }
        if let first = expected.first {
            #expect(queue.first()?.stream === streams[first])
            queue.remove(streams[first])
            expected.removeFirst()
        }
        queue.append(.init(request: request, endsHere: true, stream: streams[0]))
        let rest = queue.removeAll().map { ObjectIdentifier($0.stream) }
        #expect(rest == (expected + [0]).map { ObjectIdentifier(streams[$0]) })
        let isEmpty = queue.isEmpty && queue.first() == nil
        #expect(isEmpty)
    }

    @Test("a server that answers PINGs may leave a request without a response for any time")
    func patience() throws {
        var core = core()
        func receive(_ frame: [UInt8], at now: Moment) {
            core.receive(frame.span.bytes, now: now)
            core.settle(now: now)
        }
        receive([0, 0, 0, 4, 0, 0, 0, 0, 0] + [0, 0, 0, 4, 1, 0, 0, 0, 0], at: start)
        var head = try HTTPRequest(method: .get, target: RequestTarget("/"))
        try head.fields.set("www.example.org", for: .host)
        let stream = HTTP2ClientStream(waitingAt: WaitPoint())
        try core.send(HTTP2Request(head, scheme: "http"), endsHere: true, as: stream, now: start)
        var (now, waits) = (start, [Duration]())
        for _ in 0..<100 {
            core.didWrite(core.outputCount)
            let deadline = core.nextDeadline
            let next = try #require(deadline)
            waits.append(now.duration(to: next))
            now = next
            core.act(now: now)
            let ping = core.withOutput { bytes in bytes.withUnsafeBytes { Array($0) } }
            #expect(Array(ping.prefix(9)) == [0, 0, 8, 6, 0, 0, 0, 0, 0])
            receive([0, 0, 8, 6, 1, 0, 0, 0, 0] + ping.dropFirst(9), at: now)
        }
        #expect(waits == [.seconds(30)] + Array(repeating: .seconds(300), count: 99))
        core.didWrite(core.outputCount)
        // The next one has no answer.
        now = now + .seconds(300)
        core.act(now: now)
        core.act(now: now + .seconds(15))
        core.settle(now: now + .seconds(15))
        core.endIfOver(now: now + .seconds(15))
        let error = core.error
        #expect(error == .timedOut && stream.failure != nil)
    }
}
