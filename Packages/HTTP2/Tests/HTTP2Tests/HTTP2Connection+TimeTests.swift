import HTTPMessage
import Testing

@testable import HTTP2

/// Deadlines, with a clock that the tests hold.
struct TimeTests {
    @Test func settingsMustBeAcknowledged() throws {
        var client = HTTP2ClientMachine(now: .seconds(5))
        try client.receive(Wire.frames { $0.appendSettings([]) }, now: .seconds(6))
        #expect(client.nextDeadline == .seconds(35))
        try client.tick(now: .seconds(35) - .nanoseconds(1))
        let error = #expect(throws: HTTP2Error.self) { try client.tick(now: .seconds(35)) }
        #expect(error?.code == .settingsTimeout && error?.rule == "RFC 9113 §6.5.3")
        #expect(
            try client.takeParts().contains {
                if case .goAway(let end) = $0 { end.code == .settingsTimeout } else { false }
            })
        #expect(client.nextDeadline == nil)
    }

    @Test func aHeaderBlockMustEnd() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.frame(.headers, on: 1, [0x82]), now: .seconds(1))
        #expect(server.nextDeadline == .seconds(31))
        let error = #expect(throws: HTTP2Error.self) { try server.tick(now: .seconds(31)) }
        #expect(error?.code == .enhanceYourCalm && error?.rule == "fieldSectionTimeout")
    }

    @Test func pingsFindADeadServer() throws {
        var limits = HTTP2Limits()
        limits.pingInterval = .seconds(10)
        var client = HTTP2ClientMachine(limits: limits, now: .zero)
        try client.receive(Wire.serverPreface, now: .zero)
        #expect(client.nextDeadline == nil, "a connection without streams is left alone")
        _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
        #expect(client.nextDeadline == .seconds(10))
        _ = client.takeOutput()
        try client.tick(now: .seconds(10))
        #expect(try client.takeParts() == [.ping(1, isAcknowledgment: false)])
        try client.receive(Wire.frames { $0.appendPing(1, isAcknowledgment: true) }, now: .seconds(12))
        #expect(client.roundTrip == .zero && client.nextDeadline == .seconds(312), "it works on its answer")
        try client.receive(Wire.response(1), now: .seconds(30))
        try client.tick(now: .seconds(40))
        #expect(client.nextDeadline == .seconds(55))
        try client.tick(now: .seconds(55) - .nanoseconds(1))
        let error = #expect(throws: HTTP2Error.self) { try client.tick(now: .seconds(55)) }
        #expect(error?.rule == "pingTimeout")
        guard case .reset(_, let failure) = client.takeEvents().last else {
            Issue.record("the stream has not ended")
            return
        }
        #expect(failure.processing == .unknown)
    }

    @Test func whateverAServerSendsAfterAPingIsASignOfLife() throws {
        var client = try Self.waitingClient()
        try client.tick(now: .seconds(10))
        try client.receive(Wire.windowUpdate(0, 1), now: .seconds(24))
        #expect(client.nextDeadline == .seconds(34), "it need not be the answer")
        try client.receive(Wire.frames { $0.appendPing(1, isAcknowledgment: true) }, now: .seconds(30))
        #expect(client.nextDeadline == .seconds(330) && client.roundTrip == .zero)
    }

    @Test func aServerThatAnswersPingsMayTakeAnyTime() throws {
        var client = try Self.waitingClient()
        var (now, last, pings) = (Duration.zero, Duration.zero, [Duration]())
        while let deadline = client.nextDeadline, deadline <= .seconds(24 * 3600) {
            now = deadline
            try client.tick(now: now)
            for part in try client.takeParts() {
                guard case .ping(let opaque, _) = part else { continue }
                pings.append(now - last)
                last = now
                try client.receive(Wire.frames { $0.appendPing(opaque, isAcknowledgment: true) }, now: now)
            }
        }
        #expect(client.failure == nil && client.openStreams == 1)
        // Servers of gRPC tolerate two that follow another within 5 minutes.
        #expect(
            pings.count == 288 && pings.first == .seconds(10) && pings.dropFirst().allSatisfy { $0 == .seconds(300) })
    }

    @Test func aRequestAfterASilenceAsksWhetherTheServerIsAlive() throws {
        var client = try Self.waitingClient()
        try client.receive(Wire.response(1, ends: true), now: .seconds(1))
        client.close(StreamID(1), now: .seconds(1))
        _ = try client.request(MachinePair.head(), endsHere: true, now: .seconds(11) - .nanoseconds(1))
        #expect(try !client.takeParts().contains(.ping(1, isAcknowledgment: false)))
        _ = try client.request(MachinePair.head(), endsHere: true, now: .seconds(30))
        #expect(try client.takeParts().first == .ping(1, isAcknowledgment: false), "before the head")
        _ = try client.request(MachinePair.head(), endsHere: true, now: .seconds(41))
        #expect(try !client.takeParts().contains(.ping(2, isAcknowledgment: false)), "the answer is awaited")
        #expect(client.nextDeadline == .seconds(45))
    }

    /// TCP takes more of a body only once the server has acknowledged what it holds, and the PING is behind that.
    @Test func aTransportThatTakesOutputSlowlyIsASignOfLife() throws {
        var client = try Self.waitingClient()
        _ = client.takeOutput()
        let stream = try #require(try client.request(MachinePair.head(.post), endsHere: false, now: .zero))
        _ = try client.send([UInt8](repeating: 0, count: 60_000).span.bytes, on: stream, endsHere: false, now: .zero)
        try client.tick(now: .seconds(10))
        #expect(client.nextDeadline == .seconds(25))
        for second in stride(from: 20, through: 200, by: 10) {
            try client.tick(now: .seconds(second))
            client.didWrite(1000)
            #expect(client.nextDeadline == .seconds(second + 15))
        }
        #expect(throws: HTTP2Error.self) { try client.tick(now: .seconds(215)) }
    }

    @Test func requestsThatTheTransportTakesAtOnceAreNoSignOfLife() throws {
        var client = try Self.waitingClient()
        for second in 0..<25 {
            try client.tick(now: .seconds(second))
            _ = try client.request(MachinePair.head(), endsHere: true, now: .seconds(second))
            client.didWrite(client.outputCount)
        }
        #expect(throws: HTTP2Error.self) { try client.tick(now: .seconds(25)) }
    }

    /// A client with an interval of 10 seconds that waits for a response since 0.
    private static func waitingClient() throws -> HTTP2ClientMachine {
        var limits = HTTP2Limits()
        limits.pingInterval = .seconds(10)
        var client = HTTP2ClientMachine(limits: limits, now: .zero)
        try client.receive(Wire.serverPreface, now: .zero)
        _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
        _ = client.takeOutput()
        return client
    }

    @Test func aBodyThatDoesNotArriveEndsItsStream() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1) + Wire.post(3), now: .zero)
        _ = server.takeEvents()
        try server.receive(Wire.data(3, "x"), now: .seconds(40))
        try Self.tick(&server, until: .seconds(70))
        guard case .reset(StreamID(1), let failure) = server.takeEvents().last else {
            Issue.record("stream 1 has not ended")
            return
        }
        #expect(failure.code == .cancel && server.openStreams == 1)
        try Self.tick(&server, until: .seconds(110))
        #expect(server.openStreams == 0)
    }

    @Test func aReaderThatIsSlowDoesNotEndTheStream() throws {
        var limits = HTTP2Limits()
        limits.initialStreamWindow = 65_535
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1), now: .zero)
        let piece = [UInt8](repeating: 0, count: 13_107)
        for _ in 0..<5 { try server.receive(Wire.frame(.data, on: 1, piece), now: .zero) }
        _ = server.takeEvents()
        try Self.tick(&server, until: .seconds(500))
        #expect(server.openStreams == 1, "the client may not send, as its window is used up")
        _ = try server.readAll(StreamID(1), now: .seconds(500))
        try Self.tick(&server, until: .seconds(550))
        #expect(server.openStreams == 1)
        try Self.tick(&server, until: .seconds(600))
        #expect(server.openStreams == 0)
    }

    @Test(arguments: [true, false]) func aResponseWithoutCredit(connectionIsExhausted: Bool) throws {
        var server = HTTP2ServerMachine(now: .zero)
        let window = connectionIsExhausted ? UInt32(100_000) : 10
        let settings = Wire.frames { $0.appendSettings([Setting(.initialWindowSize, window)]) }
        try server.receive(
            ConnectionPreface.bytes + settings + Wire.settingsAcknowledgment + Wire.get(1), now: .seconds(100))
        try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: false, now: .seconds(100))
        let body = [UInt8](repeating: 0, count: 80_000)
        var sent = try server.send(body, on: StreamID(1), endsHere: true, now: .seconds(100)).count
        server.didWrite(server.outputCount)
        if connectionIsExhausted {
            sent += try server.send(Array(body[sent...]), on: StreamID(1), endsHere: true, now: .seconds(100)).count
        }
        #expect(sent == (connectionIsExhausted ? 65_535 : 10))
        _ = server.takeEvents()
        if connectionIsExhausted {
            let error = #expect(throws: HTTP2Error.self) { try Self.tick(&server, until: .seconds(140)) }
            #expect(error?.rule == "creditTimeout")
        } else {
            try Self.tick(&server, until: .seconds(140))
            guard case .reset(_, let failure) = server.takeEvents().last else {
                Issue.record("the stream has not ended")
                return
            }
            #expect(failure.code == .enhanceYourCalm)
        }
    }

    /// A server whose response on stream 1 has sent what the window allows.
    private static func respondingServer(window: UInt32) throws -> HTTP2ServerMachine {
        var server = HTTP2ServerMachine(now: .zero)
        let settings = Wire.frames { $0.appendSettings([Setting(.initialWindowSize, window)]) }
        let credit = Wire.windowUpdate(0, 1 << 20)
        try server.receive(ConnectionPreface.bytes + settings + Wire.settingsAcknowledgment + credit + Wire.get(1))
        try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        _ = try server.send([UInt8](repeating: 0, count: 200_000), on: StreamID(1), endsHere: true)
        _ = server.takeEvents()
        return server
    }

    /// A client that gives a byte each 29 seconds keeps its stream, or the connection, no longer than one that gives nothing.
    @Test(arguments: [true, false]) func aByteNowAndThenIsNoCredit(ofTheConnection: Bool) throws {
        var server = HTTP2ServerMachine(now: .zero)
        let window = Setting(.initialWindowSize, ofTheConnection ? 1 << 20 : 10)
        let settings = Wire.frames { $0.appendSettings([window]) }
        try server.receive(ConnectionPreface.bytes + settings + Wire.settingsAcknowledgment + Wire.get(1))
        try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        let body = [UInt8](repeating: 0, count: 200_000)
        var (now, sent, isOpen) = (Duration.zero, 0, true)
        while isOpen, now < .seconds(600) {
            // The output leaves in any case.
            server.didWrite(server.outputCount)
            let rest = Array(body[sent...])
            sent += try server.send(rest, on: StreamID(1), endsHere: true, now: now).count
            server.didWrite(server.outputCount)
            let next = now + .seconds(29)
            let isAlive: ()? = try? Self.tick(&server, until: next)
            now = next
            isOpen = isAlive != nil && server.openStreams == 1
            if isOpen {
                try server.receive(Wire.windowUpdate(ofTheConnection ? 0 : 1, 1), now: now)
                // What is too little for a frame waits a moment.
                now += .milliseconds(50)
                try? Self.tick(&server, until: now)
                isOpen = server.openStreams == 1
            }
        }
        // In the first turn, the output is full before the window of the connection is exhausted.
        #expect(now == (ofTheConnection ? .milliseconds(87_100) : .milliseconds(58_050)))
        #expect((server.failure?.rule == "creditTimeout") == ofTheConnection)
    }

    @Test func aClientWithSmallWindowsThatGivesCreditKeepsItsStream() throws {
        var server = try Self.respondingServer(window: 100)
        let body = [UInt8](repeating: 0, count: 200_000)
        var sent = 100
        for second in 1...600 {
            try server.receive(Wire.windowUpdate(1, 100), now: .seconds(second))
            sent += try server.send(Array(body[sent...]), on: StreamID(1), endsHere: true, now: .seconds(second)).count
            try Self.tick(&server, until: .seconds(second))
        }
        #expect(server.openStreams == 1 && sent == 60_100)
    }

    @Test func creditOfTheConnectionAloneIsNoCredit() throws {
        var server = try Self.respondingServer(window: 10)
        for second in stride(from: 5, through: 40, by: 5) {
            try Self.tick(&server, until: .seconds(second))
            try server.receive(Wire.windowUpdate(0, 1), now: .seconds(second))
        }
        #expect(server.openStreams == 0)
    }

    @Test func settingsThatTakeTheWindowAway() throws {
        // The output is full, so that the stream waits with credit.
        var server = try Self.respondingServer(window: 1 << 20)
        let none = Wire.frames { $0.appendSettings([Setting(.initialWindowSize, 0)]) }
        try server.receive(none, now: .seconds(1))
        try Self.tick(&server, until: .seconds(50))
        #expect(server.openStreams == 0)
    }

    /// Credit that is taken back before anything can leave does not prolong the wait.
    @Test func creditThatIsTakenBack() throws {
        var server = try Self.respondingServer(window: 0)
        let some = Wire.frames { $0.appendSettings([Setting(.initialWindowSize, 1024)]) }
        let none = Wire.frames { $0.appendSettings([Setting(.initialWindowSize, 0)]) }
        for seconds in stride(from: 25, through: 75, by: 25) {
            try Self.tick(&server, until: .seconds(seconds))
            try server.receive(some + none, now: .seconds(seconds))
        }
        #expect(server.openStreams == 0)
    }

    /// Without a window, a body cannot arrive: the client that announces one ends its stream.
    @Test func aBodyWithoutAWindow() throws {
        var limits = HTTP2Limits()
        limits.initialStreamWindow = 0
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1), now: .zero)
        try Self.tick(&server, until: .seconds(100))
        #expect(server.openStreams == 0)
    }

    @Test func aProgramThatIsSlowerThanTheCreditKeepsItsStream() throws {
        var server = try Self.respondingServer(window: 10)
        try server.receive(Wire.windowUpdate(1, 1 << 20), now: .seconds(20))
        try Self.tick(&server, until: .seconds(200))
        #expect(server.openStreams == 1 && server.nextWritable() == StreamID(1))
    }

    @Test func outputMustLeave() throws {
        var server = try Self.respondingServer(window: 1 << 20)
        try Self.tick(&server, until: .seconds(20), writes: false)
        server.didWrite(1024)
        try Self.tick(&server, until: .seconds(44), writes: false)
        let error = #expect(throws: HTTP2Error.self) { try Self.tick(&server, until: .seconds(70), writes: false) }
        #expect(error?.rule == "creditTimeout" && error?.code == .enhanceYourCalm)
        // The program has closed its streams, and the last response does not leave.
        var closed = HTTP2ServerMachine(now: .zero)
        try closed.receive(Wire.clientPreface + Wire.get(1))
        try closed.respond(StreamID(1), with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
        closed.close(StreamID(1), now: .zero)
        expectError("creditTimeout") { try Self.tick(&closed, until: .seconds(60), writes: false) }
    }

    /// A byte now and then is no progress.
    @Test func outputThatTrickles() throws {
        var server = try Self.respondingServer(window: 1 << 20)
        let error = #expect(throws: HTTP2Error.self) {
            for seconds in stride(from: 10, through: 100, by: 10) {
                try Self.tick(&server, until: .seconds(seconds), writes: false)
                server.didWrite(1)
            }
        }
        #expect(error?.rule == "creditTimeout")
    }

    /// Calls `tick` at each deadline up to a time.
    private static func tick(
        _ server: inout HTTP2ServerMachine, until end: Duration, writes: Bool = true
    ) throws {
        while let deadline = server.nextDeadline, deadline <= end {
            if writes { server.didWrite(server.outputCount) }
            try server.tick(now: deadline)
        }
        try server.tick(now: end)
    }
}
