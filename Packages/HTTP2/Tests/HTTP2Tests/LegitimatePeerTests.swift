import HTTPMessage
import Testing

@testable import HTTP2

/// What legitimate peers do at unfortunate moments, which must neither end nor delay anything.
struct LegitimatePeerTests {
    /// Until it has our SETTINGS, a client may send 65,535 bytes, whatever the window of this side is (RFC 9113 §6.9.2).
    @Test(arguments: [1000, 16_384] as [Int64]) func anUploadThatIsEarlierThanTheSettings(window: Int64) throws {
        var limits = HTTP2Limits()
        limits.initialStreamWindow = window
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        let body = [UInt8](repeating: 1, count: 10_000)
        let data = Wire.frame(.data, on: 1, body) + Wire.frame(.data, on: 1, body) + Wire.frame(.data, on: 1, body)
        try server.receive(ConnectionPreface.bytes + Wire.frames { $0.appendSettings([]) } + Wire.post(1) + data)
        #expect(try server.readAll(StreamID(1)).0.count == 30_000)
        _ = server.takeOutput()
        try server.receive(Wire.settingsAcknowledgment)
        #expect(try server.takeParts() == [.windowUpdate(StreamID(1), increment: 30_000)])
        #expect(server.receiveWindow(of: StreamID(1)) == window)
    }

    /// The window is negative after SETTINGS have reduced it below what had been sent. An empty frame fits all the same (RFC 9113 §6.9.1).
    @Test func anEndBehindANegativeWindow() throws {
        var limits = HTTP2Limits()
        limits.initialStreamWindow = 1000
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        let body = [UInt8](repeating: 1, count: 10_000)
        try server.receive(ConnectionPreface.bytes + Wire.frames { $0.appendSettings([]) } + Wire.post(1))
        try server.receive(Wire.frame(.data, on: 1, body) + Wire.settingsAcknowledgment + Wire.data(1, "", ends: true))
        #expect(server.takeEvents().last == .ended(StreamID(1)))
        #expect(try server.readAll(StreamID(1)) == (body, .ended))
        server.connection.checkInvariants("after the end")
    }

    /// A client cannot know the limit of streams before it has the server's SETTINGS (RFC 9113 §5.1.2).
    @Test func requestsBeforeTheLimitIsKnown() throws {
        var limits = HTTP2Limits()
        (limits.maximumConcurrentStreams, limits.resets) = (2, HTTP2Rate(burst: 10, perSecond: 1))
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(ConnectionPreface.bytes + Wire.frames { $0.appendSettings([]) })
        for index in 0..<50 as Range<UInt32> { try server.receive(Wire.get(1 + 2 * index)) }
        #expect(server.openStreams == 2)
        try server.receive(Wire.settingsAcknowledgment)
        let error = #expect(throws: HTTP2Error.self) {
            for index in 50..<100 as Range<UInt32> { try server.receive(Wire.get(1 + 2 * index)) }
        }
        #expect(error?.rule == "resets")
    }

    /// SETTINGS that do not mention it state no limit of streams (RFC 9113 §6.5.2).
    @Test func aServerWithoutALimitOfStreams() throws {
        var limits = HTTP2Limits()
        limits.maximumConcurrentStreams = 500
        var client = HTTP2ClientMachine(limits: limits, now: .zero)
        #expect(client.room == 100 && client.peerSettings.maximumConcurrentStreams == nil)
        try client.receive(Wire.serverPreface)
        #expect(client.room == 500 && client.peerSettings.maximumConcurrentStreams == nil)
        try client.receive(Wire.frames { $0.appendSettings([Setting(.maximumConcurrentStreams, 3)]) })
        #expect(client.room == 3 && client.peerSettings.maximumConcurrentStreams == 3)
    }

    /// A program that holds complete responses: their windows are given up, and there is an end to how many it can hold.
    @Test func aClientThatHoldsItsStreams() throws {
        var limits = HTTP2Limits()
        (limits.maximumConcurrentStreams, limits.initialStreamWindow) = (100, 16 << 20)
        var client = HTTP2ClientMachine(limits: limits, now: .zero)
        try client.receive(Wire.serverPreface)
        var streams: [StreamID] = []
        while streams.count < 300, let stream = try client.request(MachinePair.head(), endsHere: true, now: .zero) {
            streams.append(stream)
            try client.receive(Wire.response(stream.rawValue) + Wire.data(stream.rawValue, "whole", ends: true))
            #expect(client.connection.receiveWindow.size <= limits.effectiveConnectionWindow)
            client.didWrite(client.outputCount)
        }
        #expect(streams.count == 200 && client.openStreams == 0 && client.room == 0)
        _ = client.takeEvents()
        for stream in streams.prefix(150) { client.close(stream, now: .zero) }
        #expect(client.takeEvents() == [.room] && client.room == 100)
        client.connection.checkInvariants("held streams")
    }

    /// Windows do not grow at the expense of streams that can still be opened, also where failed ones are held.
    @Test func windowsBesideFailedStreams() throws {
        var limits = HTTP2Limits()
        (limits.maximumConcurrentStreams, limits.maximumConnectionWindow) = (100, 64 << 20)
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface)
        for index in 0..<100 as Range<UInt32> { try server.receive(Wire.post(1 + 2 * index)) }
        // The program knows them: those that fail are held.
        _ = server.takeEvents()
        for index in 10..<100 as Range<UInt32> { try server.receive(Wire.reset(1 + 2 * index)) }
        #expect(server.connection.streams.count == 100 && server.openStreams == 10)
        for _ in 0..<40 {
            for index in 0..<10 as Range<UInt32> {
                let id = 1 + 2 * index
                let available = Int(server.receiveWindow(of: StreamID(id)) ?? 0)
                let piece = [UInt8](repeating: 0, count: min(16_384, available))
                for _ in 0..<max(1, available / 16_384) {
                    try server.receive(Wire.frame(.data, on: id, piece).span.bytes, now: .zero) { _, data in
                        data.byteCount
                    }
                }
                server.didWrite(server.outputCount)
            }
        }
        for index in 10..<100 as Range<UInt32> { server.close(StreamID(1 + 2 * index), now: .zero) }
        for index in 100..<190 as Range<UInt32> { try server.receive(Wire.post(1 + 2 * index)) }
        #expect(server.openStreams == 100)
        #expect(server.connection.receiveWindow.size <= limits.effectiveConnectionWindow)
    }

    /// What a server sends behind its END_STREAM ends the stream, and is given back to the connection.
    @Test func dataBehindAWholeResponse() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let stream = try #require(try client.request(MachinePair.head(.put), endsHere: false, now: .zero))
        try client.receive(Wire.serverPreface + Wire.response(1) + Wire.data(1, "whole", ends: true))
        try client.receive(Wire.data(1, "late"))
        client.connection.checkInvariants("late data")
        guard case .sendingStopped(stream, let failure) = client.takeEvents().last, case .violation = failure.cause
        else {
            Issue.record("the violation was not reported")
            return
        }
        #expect(failure.code == .streamClosed)
        #expect(try client.readAll(stream) == (Array("whole".utf8), .ended))
    }

    /// An empty DATA frame needs no credit (RFC 9113 §6.9.1): the end follows a body that has used up the window.
    @Test func anEndThatWaitsForTheOutput() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.get(1))
        let stream = StreamID(1)
        try server.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        #expect(try server.send([UInt8](repeating: 1, count: 65_535), on: stream, endsHere: false).isComplete)
        #expect(try server.send([], on: stream, endsHere: true) == HTTP2SendOutcome(count: 0, isComplete: false))
        _ = server.takeOutput()
        try server.tick(now: .seconds(100))
        #expect(server.openStreams == 1, "the client owes no credit")
        #expect(server.nextWritable() == stream)
        #expect(try server.send([], on: stream, endsHere: true).isComplete)
        #expect(server.connection.streams.index(of: stream).map { server.connection.streams[$0].state } == .closed)
    }

    @Test func anEndBehindAStreamWithoutAWindow() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let streams = try (0..<2).map { _ in
            try #require(try client.request(MachinePair.head(.put), endsHere: false, now: .zero))
        }
        #expect(try client.send([1], on: streams[0], endsHere: true).count == 0)
        #expect(try !client.send([], on: streams[1], endsHere: true).isComplete)
        try client.receive(Wire.frames { $0.appendSettings([Setting(.initialWindowSize, 0)]) })
        #expect(client.nextWritable() == streams[1])
        #expect(try client.send([], on: streams[1], endsHere: true).isComplete)
        #expect(client.nextWritable() == nil)
    }

    /// Some implementations measure the network with a PING each round trip, while the peer sends data or receives it.
    @Test(arguments: [false, true]) func aPingBesideEachData(isDownload: Bool) throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + (isDownload ? Wire.get(1) : Wire.post(1)))
        try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        let ping = Wire.frames { $0.appendPing(1, isAcknowledgment: false) }
        let frames = ping + (isDownload ? Wire.windowUpdate(0, 5) + Wire.windowUpdate(1, 5) : Wire.data(1, "12345"))
        let data = Array("12345".utf8)
        for _ in 0..<5000 {
            try server.receive(frames.span.bytes, now: .zero) { _, data in data.byteCount }
            if isDownload { #expect(try server.send(data, on: StreamID(1), endsHere: false).isComplete) }
            server.didWrite(server.outputCount)
        }
    }

    /// Messages of 200 bytes on one stream, each read at once.
    @Test func manySmallMessages() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1))
        let message = Wire.data(1, String(repeating: "m", count: 200))
        for index in 0..<40_000 {
            try server.receive(message.span.bytes, now: .microseconds(500 * index)) { _, data in data.byteCount }
            server.didWrite(server.outputCount)
        }
        #expect(server.openStreams == 1)
    }

    /// A client that keeps its limit opens the next stream when one has ended, before the server's program has closed it (RFC 9113 §5.1.2).
    @Test func streamsThatHaveEndedDoNotCount() throws {
        var limits = HTTP2Limits()
        limits.maximumConcurrentStreams = 10
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface)
        var held: [StreamID] = []
        var refusals = 0
        for index in 0..<1000 as Range<UInt32> {
            let stream = StreamID(1 + 2 * index)
            try server.receive(Wire.get(stream.rawValue), now: .milliseconds(Int(index)))
            let events = server.takeEvents()
            if events.contains(where: { if case .request(stream, _) = $0 { true } else { false } }) {
                try server.respond(stream, with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
                held.append(stream)
            } else {
                refusals += 1
            }
            server.didWrite(server.outputCount)
            server.connection.checkInvariants("request \(index)")
            // The program closes a stream nine requests later; then it stops for a while.
            if held.count > 9, !(500..<600).contains(index) { server.close(held.removeFirst(), now: .zero) }
        }
        #expect(refusals == 90, "the program has not closed 20 streams, which is no fault of the client")
        #expect(server.failure == nil && server.openStreams == 0)
    }

    /// The window of streams that have ended is left for others, but not what they hold unread.
    @Test func streamsThatHaveEndedWithUnreadBodies() throws {
        var limits = HTTP2Limits()
        (limits.maximumConcurrentStreams, limits.initialStreamWindow) = (4, 65_535)
        limits.maximumConnectionWindow = 0
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface)
        let body = [UInt8](repeating: 1, count: 16_384)
        var accepted = 0
        for index in 0..<20 as Range<UInt32> {
            let id = 1 + 2 * index
            let post = Wire.post(id) + Wire.frame(.data, on: id, body) + Wire.frame(.data, .endStream, on: id, body)
            try server.receive(post)
            let parts = try server.takeParts()
            if parts.contains(.resetStream(StreamID(id), .refusedStream)) { continue }
            accepted += 1
            try server.respond(StreamID(id), with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
            #expect(server.connection.receiveWindow.size <= limits.effectiveConnectionWindow)
            server.connection.checkInvariants("stream \(id)")
        }
        // Four windows of 65,535 have room for five bodies of 32,768 and the window of another stream.
        #expect(accepted == 6 && server.failure == nil)
    }

    /// A client resets hundreds of requests at once; the answers to the first ones are on their way.
    @Test func answersToRequestsThatWereResetLongAgo() throws {
        var client = HTTP2ClientMachine(now: .zero)
        try client.receive(Wire.serverPreface)
        for _ in 0..<3 {
            let streams = try (0..<100).map { _ in
                try #require(try client.request(MachinePair.head(), endsHere: true, now: .zero))
            }
            for stream in streams { client.close(stream, now: .zero) }
            client.didWrite(client.outputCount)
        }
        let alive = try #require(try client.request(MachinePair.head(), endsHere: true, now: .zero))
        client.didWrite(client.outputCount)
        let indexed = [UInt8]([0x88, 0x40, 1]) + Array("x".utf8) + [1] + Array("y".utf8)
        try client.receive(Wire.frame(.headers, .endHeaders, on: 1, indexed) + Wire.data(1, "late", ends: true))
        #expect(try client.takeParts().isEmpty)
        // The block of the forgotten stream has filled the dynamic table.
        try client.receive(Wire.frame(.headers, [.endHeaders, .endStream], on: alive.rawValue, [0x88, 0xBE]))
        var found: [String?] = []
        for case .response(alive, let response) in client.takeEvents() { found.append(response.fields["x"]) }
        #expect(found == ["y"])
        // A stream that was never opened is an error still.
        expectError("RFC 9113 §5.1.1") { try client.receive(Wire.response(alive.rawValue + 2)) }
    }

    /// A program that ends at `drained` has seen all that happened to its streams.
    @Test func drainedIsTheLastEvent() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let stream = try #require(try client.request(MachinePair.head(), endsHere: true, now: .zero))
        try client.receive(Wire.serverPreface + Wire.goAway(0))
        var events = client.takeEvents()
        #expect(events.last == .drained && events.contains { if case .reset(stream, _) = $0 { true } else { false } })

        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1))
        _ = server.takeEvents()
        server.shutDown(now: .zero)
        try server.receive(Wire.frames { $0.appendPing(1, isAcknowledgment: true) } + Wire.reset(1))
        events = server.takeEvents()
        #expect(events.last == .drained && events.count == 2)

        client = HTTP2ClientMachine(now: .zero)
        _ = try client.request(MachinePair.head(.put), endsHere: false, now: .zero)
        try client.receive(Wire.serverPreface + Wire.goAway(1) + Wire.response(1, ends: true) + Wire.reset(1, .noError))
        let failure = HTTP2StreamFailure(code: .noError, cause: .peer, processing: .unknown)
        #expect(client.takeEvents().suffix(2) == [.sendingStopped(StreamID(1), failure), .drained])
    }

    /// Windows that a peer has enlarged as far as it goes are those of streams that it has forgotten.
    @Test func settingsDoNotConcernStreamsThatHaveEnded() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1) + Wire.get(3))
        for id in [1, 3] as [UInt32] {
            try server.receive(Wire.windowUpdate(id, SendWindow.maximum - 65_535))
            try server.respond(StreamID(id), with: HTTPResponse(status: .ok), endsHere: true, now: .zero)
        }
        server.didWrite(server.outputCount)
        try server.receive(Wire.frames { $0.appendSettings([Setting(.initialWindowSize, 1_000_000)]) })
        try server.receive(Wire.windowUpdate(1, SendWindow.maximum))
        #expect(try server.takeParts() == [.settingsAcknowledgment])
    }

    /// One frame can take longer than the time in which a byte must arrive.
    @Test func aSlowFrame() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1))
        let frame = Wire.frame(.data, .endStream, on: 1, [UInt8](repeating: 1, count: 16_000))
        var now = Duration.zero
        for start in stride(from: 0, to: frame.count, by: 1000) {
            try server.receive(Array(frame[start..<min(start + 1000, frame.count)]), now: now)
            _ = try server.readAll(StreamID(1), now: now)
            now += .seconds(5)
            server.didWrite(server.outputCount)
            try server.tick(now: now)
        }
        #expect(server.takeEvents().last == .ended(StreamID(1)))
    }

    /// The other streams need their windows as well: no window grows at their expense.
    @Test func windowsGrowWithinThatOfTheConnection() throws {
        for (initial, grown, maximum) in [
            (65_535, 8 * 65_535, 2 << 20), (16 << 20, 1 << 30, SendWindow.maximum),
        ] as [(Int64, Int64, Int64)] {
            var limits = HTTP2Limits()
            limits.initialStreamWindow = initial
            (limits.maximumStreamWindow, limits.maximumConnectionWindow) = (1 << 30, maximum)
            limits.maximumConcurrentStreams = 20
            limits.connectionWindowReserve = 65_535
            var server = HTTP2ServerMachine(limits: limits, now: .zero)
            try server.receive(Wire.clientPreface, now: .seconds(20))
            // Windows are used up without bytes.
            for number in 0..<20 as Range<UInt32> {
                try server.receive(Wire.post(1 + 2 * number), now: .seconds(20))
                let index = try #require(server.connection.streams.index(of: StreamID(1 + 2 * number)))
                for _ in 0..<(number < 4 ? 20 : 0) {
                    let half = Int(server.connection.streams[index].receiveWindow.size / 2)
                    _ = server.connection.receiveWindow.receive(half)
                    _ = server.connection.streams[index].receiveWindow.receive(half)
                    server.connection.consume(Int64(half), of: index)
                    server.connection.giveConnectionCredit()
                }
                server.didWrite(server.outputCount)
                #expect(server.connection.receiveWindow.size <= maximum)
            }
            let first = try #require(server.connection.streams.index(of: StreamID(1)))
            #expect(server.connection.streams[first].receiveWindow.size == grown)
        }
    }
}
