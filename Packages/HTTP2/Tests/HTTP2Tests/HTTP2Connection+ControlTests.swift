import HTTPMessage
import Testing

@testable import HTTP2

/// GOAWAY in both directions, refused streams, and what a request's failure says about repeating it (RFC 9113 §6.8 and §8.7); SETTINGS and
/// priorities (RFC 9113 §6.5, RFC 9218 §7.1).
struct ControlTests {
    /// A client that has sent requests on the streams 1, 3 and 5, and what it reports after these bytes.
    private func client(after bytes: [UInt8]) throws -> [HTTP2Event] {
        var client = HTTP2ClientMachine(now: .zero)
        for _ in 0..<3 { _ = try client.request(MachinePair.head(), endsHere: true, now: .zero) }
        try client.receive(Wire.serverPreface + bytes)
        return client.takeEvents()
    }

    private func failures(_ events: [HTTP2Event]) -> [UInt32: HTTP2StreamFailure] {
        events.reduce(into: [:]) { found, event in
            if case .reset(let stream, let failure) = event { found[stream.rawValue] = failure }
        }
    }

    @Test func requestsAboveTheLastStreamWereNotProcessed() throws {
        let events = try client(after: Wire.goAway(1) + Wire.response(1, ends: true))
        let failures = failures(events)
        #expect(failures.keys.sorted() == [3, 5])
        #expect(failures.values.allSatisfy { $0.processing == .notProcessed && $0.code == .noError })
        #expect(events.contains(.ended(StreamID(1))) && events.last == .drained)
    }

    @Test func aSecondGoAwayMayLowerButNotRaise() throws {
        let lowered = failures(try client(after: Wire.goAway(0x7FFF_FFFF) + Wire.goAway(3)))
        #expect(lowered.keys.sorted() == [5])
        let error = #expect(throws: HTTP2Error.self) { try client(after: Wire.goAway(1) + Wire.goAway(3)) }
        #expect(error?.code == .protocolError && error?.rule == "RFC 9113 §6.8")
    }

    @Test func resets() throws {
        let events = try client(
            after: Wire.reset(1, .refusedStream) + Wire.reset(3, .http11Required)
                + Wire.reset(5, ErrorCode(rawValue: 999)))
        let failures = failures(events)
        #expect(failures[1]?.processing == .notProcessed && failures[1]?.cause == .peer)
        #expect(failures[3]?.processing == .unknown && failures[3]?.requiresHTTP11 == true)
        #expect(failures[5]?.processing == .unknown && failures[5]?.requiresHTTP11 == false)
        #expect(failures[5]?.code.description == "error code 999")
    }

    @Test func theEndOfTheConnectionLeavesRequestsUnknown() throws {
        var client = HTTP2ClientMachine(now: .zero)
        _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
        try client.receive(Wire.serverPreface + Wire.response(1))
        let error = #expect(throws: HTTP2Error.self) { try client.receiveEnd(now: .zero) }
        #expect(error?.scope == .connection && error?.fault == .peer)
        #expect(failures(client.takeEvents())[1]?.processing == .unknown)
        #expect(client.room == 0 && client.isDraining)
        expectError("RFC 9113 §5.4") { try client.receive([0], now: .zero) }
    }

    @Test func theEndWithoutStreamsIsNoError() throws {
        var client = HTTP2ClientMachine(now: .zero)
        try client.receive(Wire.serverPreface)
        try client.receiveEnd(now: .zero)
        var early = HTTP2ClientMachine(now: .zero)
        expectError("RFC 9113 §5.4") { try early.receiveEnd(now: .zero) }
        var cut = HTTP2ClientMachine(now: .zero)
        try cut.receive(Wire.serverPreface + [0, 0])
        expectError("RFC 9113 §5.4") { try cut.receiveEnd(now: .zero) }
        var cutBlock = HTTP2ServerMachine(now: .zero)
        try cutBlock.receive(Wire.clientPreface + Wire.frame(.headers, on: 1, Wire.block([(":method", "GET")])))
        expectError("RFC 9113 §5.4") { try cutBlock.receiveEnd(now: .zero) }
    }

    @Test func aServerShutsDownWithTwoGoAways() throws {
        var pair = MachinePair()
        let first = try pair.request()
        pair.server.shutDown(now: .zero)
        // A request is on its way while the first GOAWAY is.
        let second = try #require(try pair.client.request(MachinePair.head(), endsHere: true, now: .zero))
        let announcement = pair.server.takeOutput()
        try pair.server.receive(pair.client.takeOutput())
        try pair.client.receive(announcement)
        #expect(pair.client.isDraining == true)
        let lastStreams = { (events: [HTTP2Event]) in
            events.compactMap { if case .goAway(let goAway) = $0 { goAway.lastStream } else { nil } }
        }
        #expect(lastStreams(pair.client.takeEvents()) == [.highest])
        #expect(try pair.client.request(MachinePair.head(), endsHere: true, now: .zero) == nil)
        try pair.exchange()
        for stream in [first, second] {
            try pair.server.respond(stream, with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
            pair.server.close(stream, now: .zero)
        }
        try pair.exchange()
        #expect(lastStreams(pair.client.takeEvents()) == [second])
        #expect(pair.server.takeEvents().last == .drained && pair.client.openStreams == 0)
    }

    /// The client's GOAWAY does not tell which request was its last one (RFC 9113 §6.8).
    @Test func aRequestBehindTheClientsGoAway() throws {
        var server = HTTP2ServerMachine(now: .zero)
        let goAway = HTTP2GoAway(lastStream: .connection, code: .noError, debugData: [])
        try server.receive(Wire.clientPreface + Wire.frames { $0.appendGoAway(goAway) })
        #expect(server.takeEvents() == [.settings, .goAway(goAway)])
        server.shutDown(now: .zero)
        try server.receive(Wire.get(1))
        #expect(server.takeEvents().count == 2)
        try server.respond(StreamID(1), with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
        server.close(StreamID(1), now: .zero)
        #expect(server.takeEvents() == [])
        try server.tick(now: .seconds(15))
        #expect(server.takeEvents() == [.drained])
    }

    @Test func requestsThatTheProgramRefuses() throws {
        var pair = MachinePair()
        try pair.exchange()
        var refusals = 0
        while pair.server.failure == nil, refusals < 1000 {
            guard let stream = try pair.client.request(MachinePair.head(), endsHere: true, now: .zero) else { break }
            _ = try? pair.exchange()
            pair.server.refuse(stream, now: .zero)
            refusals += 1
            _ = try? pair.exchange()
            pair.client.close(stream, now: .zero)
        }
        #expect(refusals == Int(HTTP2Limits().resets.burst) + 1)
        #expect(pair.server.failure?.code == .enhanceYourCalm)
        // One that the program has closed.
        pair.server.refuse(StreamID(1), now: .zero)
    }

    @Test func aClientThatDoesNotAnswerThePing() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface)
        server.shutDown(now: .seconds(1))
        _ = server.takeOutput()
        #expect(server.nextDeadline == .seconds(16))
        try server.tick(now: .seconds(16))
        let last = HTTP2GoAway(lastStream: .connection, code: .noError, debugData: [])
        #expect(try server.takeParts() == [.goAway(last)])
        #expect(server.takeEvents().last == .drained && server.nextDeadline == nil)
        // The answer comes late.
        try server.receive(Wire.frames { $0.appendPing(1, isAcknowledgment: true) }, now: .seconds(17))
        #expect(server.outputCount == 0)
    }

    @Test(arguments: [Wire.response(1), Wire.response(1, "103")], [Wire.reset(1, .refusedStream), Wire.goAway(0)])
    func aRequestThatWasAnsweredWasProcessed(_ head: [UInt8], _ end: [UInt8]) throws {
        #expect(failures(try client(after: head + end))[1]?.processing == .unknown)
        #expect(failures(try client(after: end))[1]?.processing == .notProcessed)
    }

    @Test func aMistakeInARequestEndsNothing() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let bad = try HTTP2Request(MachinePair.head().head, scheme: "1x")
        let error = #expect(throws: HTTP2Error.self) { try client.request(bad, endsHere: true, now: .zero) }
        #expect(error?.scope == .call && error?.fault == .caller && client.failure == nil)
        #expect(try client.request(MachinePair.head(), endsHere: true, now: .zero) != nil)
    }

    @Test func aRequestAfterTheSecondGoAwayIsIgnored() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.get(1))
        server.shutDown(now: .zero)
        try server.receive(Wire.frames { $0.appendPing(1, isAcknowledgment: true) })
        _ = server.takeEvents()
        _ = server.takeOutput()
        try server.receive(Wire.post(3) + Wire.data(3, "body") + Wire.reset(3))
        #expect(server.takeEvents().isEmpty && server.outputCount == 0 && server.openStreams == 1)
        #expect(server.connection.receiveWindow.unread == 0)
    }

    @Test func aWholeAnswerOutlivesTheReset() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let stream = try #require(try client.request(MachinePair.head(.put), endsHere: false, now: .zero))
        try client.receive(Wire.serverPreface + Wire.response(1, "413") + Wire.data(1, "large", ends: true))
        try client.receive(Wire.reset(1, .noError) + Wire.reset(1, .cancel))
        let failure = HTTP2StreamFailure(code: .noError, cause: .peer, processing: .unknown)
        #expect(client.takeEvents().suffix(2) == [.ended(stream), .sendingStopped(stream, failure)])
        #expect(try client.readAll(stream) == (Array("large".utf8), .ended))
        let error = #expect(throws: HTTP2Error.self) { try client.send([1], on: stream, endsHere: true) }
        #expect(error?.code == .streamClosed && error?.fault == .peer && error?.rule == "RFC 9113 §5.1")
    }

    @Test func dataBeforeAResetIsRead() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let stream = try #require(try client.request(MachinePair.head(), endsHere: true, now: .zero))
        try client.receive(Wire.serverPreface + Wire.response(1) + Wire.data(1, "half") + Wire.reset(1, .internalError))
        let (bytes, outcome) = try client.readAll(stream)
        #expect(bytes == Array("half".utf8))
        #expect(outcome == .reset(HTTP2StreamFailure(code: .internalError, cause: .peer, processing: .unknown)))
    }

    @Test func aRefusedBodyIsResetWithoutError() throws {
        var pair = MachinePair()
        let stream = try pair.request(MachinePair.head(.put), endsHere: false)
        try pair.server.respond(stream, with: HTTPResponse(status: .forbidden), endsHere: true, now: .zero)
        pair.server.close(stream, now: .zero)
        #expect(try pair.server.takeParts().last == .resetStream(stream, .noError))
        // What the client sent meanwhile is given back, and harms nothing.
        _ = try pair.client.send([UInt8](repeating: 0, count: 50_000), on: stream, endsHere: false)
        try pair.server.receive(pair.client.takeOutput())
        #expect(pair.server.connection.receiveWindow.unread == 0 && pair.server.connection.streams.count == 0)
        #expect(pair.server.connection.recentStreams.wasResetHere(stream))
    }

    /// A setting that cannot change back, and one that cannot change at all.
    @Test func settingsThatChange() throws {
        for (id, rule) in [
            (SettingID.enableConnectProtocol, "RFC 8441 §3"), (.noRFC7540Priorities, "RFC 9218 §2.1"),
        ] {
            var client = HTTP2ClientMachine(now: .zero)
            try client.receive(Wire.frames { $0.appendSettings([Setting(id, 1)]) })
            try client.receive(Wire.frames { $0.appendSettings([Setting(id, 1)]) })
            let error = #expect(throws: HTTP2Error.self) {
                try client.receive(Wire.frames { $0.appendSettings([Setting(id, 0)]) })
            }
            #expect(error?.code == .protocolError && error?.rule == rule)
        }
    }

    @Test(arguments: [0, 3, 4, 300]) func aServerSendsNoPriorityUpdate(length: Int) throws {
        var client = HTTP2ClientMachine(now: .zero)
        let frame = Wire.frame(.priorityUpdate, on: 0, [UInt8](repeating: 0, count: length))
        let error = #expect(throws: HTTP2Error.self) { try client.receive(Wire.serverPreface + frame) }
        #expect(error?.code == .protocolError && error?.rule == "RFC 9218 §7.1")
    }

    @Test(arguments: [0, 3]) func aPriorityUpdateWithoutAStreamIsIgnored(length: Int) throws {
        var server = HTTP2ServerMachine(now: .zero)
        let frame = Wire.frame(.priorityUpdate, on: 0, [UInt8](repeating: 0, count: length))
        try server.receive(Wire.clientPreface + frame + Wire.get(1))
        #expect(server.openStreams == 1)
    }

    /// A value that is too long to be kept is ignored, but its stream is checked.
    @Test func aLongPriorityUpdate() throws {
        func frame(_ stream: UInt8) -> [UInt8] {
            Wire.frame(
                .priorityUpdate, on: 0,
                [0, 0, 0, stream] + Array("u=0, x=\"".utf8) + [UInt8](repeating: 0x61, count: 300))
        }
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.get(1) + frame(1) + frame(3) + Wire.get(3))
        for stream in [StreamID(1), StreamID(3)] {
            let index = try #require(server.connection.streams.index(of: stream))
            #expect(server.connection.streams[index].priority == HTTP2Priority())
        }
        let error = #expect(throws: HTTP2Error.self) { try server.receive(frame(2)) }
        #expect(error?.code == .protocolError && error?.rule == "RFC 9218 §7.1")
    }

    @Test func settingsThatTheFirstSettingsLeaveOut() throws {
        var client = HTTP2ClientMachine(now: .zero)
        #expect(client.peerSettings.ignoresRFC7540Priorities == nil)
        try client.receive(Wire.serverPreface)
        #expect(client.peerSettings.ignoresRFC7540Priorities == false)
    }

    /// The acknowledgment of SETTINGS that reduce windows concerns open streams only (RFC 9113 §6.9.2): those that have ended meanwhile
    /// have given up their windows, but for what is unread.
    @Test func anAcknowledgmentBehindTheEndOfStreams() throws {
        var limits = HTTP2Limits()
        limits.initialStreamWindow = 1000
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        let body = Wire.data(1, String(repeating: "a", count: 700))
        try server.receive(ConnectionPreface.bytes + Wire.frames { $0.appendSettings([]) } + Wire.post(1) + body)
        // Stream 3 is complete with 600 unread bytes, 5 was reset by the client, 7 by this side, and 9 is open.
        try server.receive(Wire.post(3) + Wire.data(3, String(repeating: "b", count: 600), ends: true))
        try server.respond(StreamID(3), with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
        try server.receive(Wire.post(5) + Wire.data(5, "c") + Wire.post(7) + Wire.data(7, "d") + Wire.post(9))
        _ = server.takeEvents()
        try server.receive(Wire.reset(5) + Wire.windowUpdate(7, 0))
        let reserve = limits.connectionWindowReserve
        #expect(server.connection.receiveWindow.size == reserve + 2 * SendWindow.initial + 600 + 1)
        _ = (server.takeEvents(), server.takeOutput())
        try server.receive(Wire.settingsAcknowledgment)
        #expect(server.connection.receiveWindow.size == reserve + 2 * 1000 + 600 + 1)
        let sizes = server.connection.streams.indices.map { server.connection.streams[$0].receiveWindow.size }
        #expect(sizes == [1000, 600, 1, 0, 1000])
        #expect(server.receiveWindow(of: StreamID(1)) == 300 && server.receiveWindow(of: StreamID(9)) == 1000)
        server.connection.checkInvariants("acknowledged")
        // What is unread can be read, and only the stream that is open gets credit.
        #expect(try server.readAll(StreamID(3)) == ([UInt8](repeating: 0x62, count: 600), .ended))
        #expect(try server.readAll(StreamID(5)).0 == [0x63])
        #expect(try server.takeParts().isEmpty)
        #expect(try server.readAll(StreamID(1)).0.count == 700)
        #expect(try server.takeParts() == [.windowUpdate(StreamID(1), increment: 700)])
        server.connection.checkInvariants("read")
        for id in [1, 3, 5, 7, 9] as [UInt32] { server.close(StreamID(id), now: .zero) }
        let window = server.connection.receiveWindow
        #expect(window.size == reserve && window.unread == 0 && server.connection.streams.count == 0)
    }

    /// The same on a client, whose program has closed one of the streams as well.
    @Test func anAcknowledgmentBehindTheEndOfResponses() throws {
        var limits = HTTP2Limits()
        limits.initialStreamWindow = 1000
        var client = HTTP2ClientMachine(limits: limits, now: .zero)
        for _ in 0..<3 { _ = try client.request(MachinePair.head(), endsHere: true, now: .zero) }
        let reserve = limits.connectionWindowReserve
        try client.receive(Wire.frames { $0.appendSettings([]) } + Wire.response(1) + Wire.data(1, "whole", ends: true))
        client.close(StreamID(3), now: .zero)
        #expect(client.connection.receiveWindow.size == reserve + 5 + SendWindow.initial)
        _ = client.takeOutput()
        try client.receive(Wire.settingsAcknowledgment)
        #expect(client.connection.receiveWindow.size == reserve + 5 + 1000 && client.outputCount == 0)
        #expect(client.receiveWindow(of: StreamID(5)) == 1000)
        client.connection.checkInvariants("acknowledged")
        #expect(try client.readAll(StreamID(1)) == (Array("whole".utf8), .ended))
        client.connection.checkInvariants("read")
    }
}
