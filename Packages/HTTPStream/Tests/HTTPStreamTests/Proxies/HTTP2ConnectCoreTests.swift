import EventLoops
import Glibc
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// The connection of a tunnel, in exact steps.
@Suite(.timeLimit(.minutes(5))) struct HTTP2ConnectCoreTests {
    private let start = Moment.now

    private func newCore() -> HTTP2ConnectCore {
        HTTP2ConnectCore("proxy.test:3128", .default, isAdequate: true, now: start)
    }

    /// SETTINGS_MAX_CONCURRENT_STREAMS.
    private static func streamLimit(_ count: UInt8) -> [UInt8] {
        [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, count]
    }

    @Test("a proxy that does not acknowledge the settings ends the tunnel at the deadline, not before")
    func settings() throws {
        var proxy = ScriptedTunnel()
        var core = try proxy.core(start: start, acknowledges: false)
        let end = start + .seconds(30)
        let deadline = core.nextDeadline
        core.act(now: end - .nanoseconds(1))
        let early = core.failure
        #expect(deadline == end && early == nil)
        core.act(now: end)
        let (late, next) = (core.failure, core.nextDeadline)
        #expect(late?.isPOSIX(ECONNRESET) == true && next == nil)
        #expect(late?.description.contains("SETTINGS_TIMEOUT") == true, "\(String(describing: late))")
        let (reading, writing) = (core.readAll(now: end), core.send([1], now: end))
        #expect(reading.end.error != nil && reading.bytes.isEmpty && writing.error != nil)
        // The proxy is told.
        let output = core.takeOutput()
        #expect(output.dropFirst(3).first == 7 && output.suffix(4) != [0, 0, 0, 0])
    }

    @Test("a tunnel has no deadline once the settings are acknowledged: its target may be silent")
    func silence() throws {
        var proxy = ScriptedTunnel()
        var core = try proxy.core(start: start)
        let deadline = core.nextDeadline
        let later = start + .seconds(100_000)
        core.act(now: later)
        let (failure, output) = (core.failure, core.takeOutput())
        #expect(deadline == nil && failure == nil && output.isEmpty)
        // Nor do bytes that the target does not answer give it one.
        let sent = try core.send([1, 2], now: later).get()
        let next = core.nextDeadline
        #expect(sent == 2 && next == nil)
    }

    @Test("a head that does not end ends the connection at the deadline") func openHead() throws {
        var core = newCore()
        try core.request(ScriptedTunnel.request(), now: start)
        core.receive(Self.streamLimit(1), now: start)
        core.receive(ScriptedTunnel.acknowledgment, now: start)
        let begun = start + .seconds(3)
        // HEADERS of stream 1 without END_HEADERS.
        core.receive([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x88], now: begun)
        let deadline = core.nextDeadline
        #expect(deadline == begun + .seconds(30))
        core.act(now: begun + .seconds(30))
        let error = core.response().error
        #expect(error?.description.contains("ENHANCE_YOUR_CALM") == true, "\(String(describing: error))")
    }

    @Test("bytes wait a short time for a larger window, and then leave in a small frame") func smallWindow() throws {
        var proxy = ScriptedTunnel { $0.initialStreamWindow = 100 }
        var core = try proxy.core(start: start)
        let bytes = [UInt8](repeating: 1, count: 200)
        let first = try core.send(bytes, now: start).get()
        let (isFull, deadline) = (core.isFull, core.nextDeadline)
        #expect(first == nil && isFull && deadline == start + .milliseconds(50))
        core.act(now: start + .milliseconds(50))
        let isStillFull = core.isFull
        let second = try core.send(bytes, now: start + .milliseconds(50)).get()
        #expect(!isStillFull && second == 100)
        try proxy.receive(core.takeOutput())
        let received = try proxy.takeBytes()
        #expect(received == Array(repeating: 1, count: 100))
    }

    @Test("a request waits until the proxy allows a stream, and fails if the proxy allows none any more")
    func queued() throws {
        for goesAway in [false, true] {
            var proxy = ScriptedTunnel { $0.maximumConcurrentStreams = 0 }
            var core = newCore()
            core.receive(proxy.takeOutput(), now: start)
            try core.request(ScriptedTunnel.request(), now: start)
            try proxy.receive(core.takeOutput())
            let (stream, early) = (proxy.stream, try core.response().get())
            #expect(stream == .connection && early == nil)
            if goesAway {
                core.receive(HTTP2Script.goAway(last: 0), now: start)
                let (error, mayContinue) = (core.response().error, core.mayContinue)
                #expect(error?.description.contains("without a response") == true && !mayContinue)
                // Nor can another one be sent.
                let request = try ScriptedTunnel.request()
                var refused: StreamError?
                do throws(StreamError) { try core.request(request, now: start) } catch { refused = error }
                #expect(refused?.description.contains("without a response") == true, "\(String(describing: refused))")
            } else {
                core.receive(Self.streamLimit(1), now: start)
                let output = core.takeOutput()
                // HEADERS behind the acknowledgment.
                #expect(output.starts(with: ScriptedTunnel.acknowledgment) && output.dropFirst(9 + 3).first == 1)
            }
        }
    }

    @Test(
        "a closed tunnel waits for the proxy once it has sent its end, and has no deadline", arguments: [false, true])
    func close(finishes: Bool) throws {
        var proxy = ScriptedTunnel()
        // The deadline is that of the settings.
        var core = try proxy.core(start: start, acknowledges: false)
        let taken = try core.send([1], endsHere: finishes, now: start).get()
        let deadline = core.nextDeadline
        let waits = core.close(now: start)
        let (isClosed, next) = (core.isClosed, core.nextDeadline)
        #expect(taken == 1 && waits && isClosed && deadline != nil && next == nil)
        try proxy.receive(core.takeOutput())
        let (received, stream) = (try proxy.takeBytes(), proxy.stream)
        let endCount = proxy.events.count { if case .ended(stream) = $0 { true } else { false } }
        #expect(received == [1] && endCount == 1)
    }

    @Test("a closed tunnel that has been reset waits for nothing") func closeAfterReset() throws {
        var proxy = ScriptedTunnel()
        var core = try proxy.core(start: start)
        core.receive(HTTP2Script.reset(proxy.stream, .connectError), now: start)
        let waits = core.close(now: start)
        #expect(!waits)
    }

    @Test("what was received before the connection failed is read first, and then the failure") func lost() throws {
        var proxy = ScriptedTunnel()
        var core = try proxy.core(start: start)
        core.receive(try proxy.send([1, 2, 3]), now: start)
        core.failToRead(StreamError(posix: EIO))
        let (writing, reading) = (core.send([1], now: start), core.readAll(now: start))
        #expect(writing.error != nil && reading.bytes == [1, 2, 3] && reading.end.error?.isPOSIX(EIO) == true)
    }

    @Test("once the target has ended, the end of the connection fails writes only") func ended() throws {
        var proxy = ScriptedTunnel()
        var core = try proxy.core(start: start)
        core.receive(try proxy.send([1], endsHere: true), now: start)
        core.receive([], now: start)
        let (failure, reading) = (core.failure, core.readAll(now: start))
        #expect(failure?.isPOSIX(EPIPE) == true, "\(String(describing: failure))")
        #expect(reading.bytes == [1] && reading.end == .success(.ended))
    }
}
