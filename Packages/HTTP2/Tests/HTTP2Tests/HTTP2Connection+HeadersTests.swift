import HTTPMessage
import Testing

@testable import HTTP2

/// Received header blocks, and the messages on their streams (RFC 9113 §4.3, §5.1.1, §6.2, §6.10 and §8.1).
struct HeadersTests {
    @Test func aLargeHeadIsAnsweredWith431AndTheConnectionGoesOn() throws {
        var limits = HTTP2Limits()
        limits.fieldSection.listSize = 400
        var pair = MachinePair(server: limits)
        let value = String(repeating: "v", count: 300)
        let large = try HTTPFields(["X-Indexed": "1", "X-Large": value])
        let stream = try pair.request(MachinePair.head(.get, "/", large))
        #expect(pair.server.takeEvents() == [.settings])
        guard case .response(stream, let response) = pair.client.takeEvents()[1] else { throw MachinePair.NoRoom() }
        #expect(response.status.code == 431)
        pair.client.close(stream, now: .zero)
        // X-Indexed refers to the dynamic table, which the refused block has filled.
        _ = try pair.request(MachinePair.head(.get, "/", ["X-Indexed": "1"]))
        guard case .request(_, let request) = pair.server.takeEvents()[0] else { throw MachinePair.NoRoom() }
        #expect(request.head.fields["X-Indexed"] == "1")
        #expect(pair.client.openStreams == 1)
    }

    /// RFC 9218 §7: a server keeps the PRIORITY_UPDATE that precedes its request; §5 and RFC 9651 §4.2: lines are one value.
    @Test func prioritiesThatArriveInPartsOrEarly() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface)
        _ = server.takeEvents()
        for (stream, value) in [(UInt32(1), "u=6"), (5, "u=2"), (5, "u=1, i")] {
            try server.receive(Wire.frames { $0.appendPriorityUpdate(StreamID(stream), value) })
        }
        let lines = [("priority", "u=5"), ("priority", "i"), ("priority", "u=4")]
        try server.receive(Wire.get(1) + Wire.get(3, lines) + Wire.get(5, lines) + Wire.get(7))
        var found: [HTTP2Priority] = []
        for case .request(let stream, let request) in server.takeEvents() {
            found.append(request.priority)
            let index = try #require(server.connection.streams.index(of: stream))
            #expect(server.connection.streams[index].priority == request.priority)
        }
        // The last one is kept.
        let expected = [
            HTTP2Priority(), HTTP2Priority(urgency: 4, isIncremental: true),
            HTTP2Priority(urgency: 1, isIncremental: true), HTTP2Priority(),
        ]
        #expect(found == expected)
    }

    @Test func interimResponsesAreKeptWithinTheLimitOnOneList() throws {
        var client = HTTP2ClientMachine(now: .zero)
        _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
        let head = Wire.headers(1, ends: false, [(":status", "103"), ("x", String(repeating: "v", count: 16_000))])
        try client.receive(Wire.serverPreface)
        for _ in 0..<16 { try client.receive(head) }
        #expect(client.connection.streams.count == 1, "16 heads of 16,000 bytes are below 256 KiB")
        var limits = HTTP2Limits()
        limits.fieldSection.listSize = 100_000
        var limited = HTTP2ClientMachine(limits: limits, now: .zero)
        _ = try limited.request(MachinePair.head(), endsHere: true, now: .zero)
        try limited.receive(Wire.serverPreface)
        for _ in 0..<16 { try limited.receive(head) }
        let events = limited.takeEvents()
        let kept = events.count { if case .interim = $0 { true } else { false } }
        #expect(kept == 6)
        guard case .reset(_, let failure) = events.last, case .violation(let error) = failure.cause else {
            Issue.record("the stream has not ended")
            return
        }
        #expect(error.code == .enhanceYourCalm && error.rule == "fieldSection")
    }

    @Test func continuationsAreLimited() throws {
        for piece in [[], [0x82]] as [[UInt8]] {
            let head = Wire.frame(.headers, on: 1, [0x82])
            let result = try FloodGuardTests.flood(start: head) { _ in Wire.frame(.continuation, on: 1, piece) }
            #expect(result.error?.code == .enhanceYourCalm && result.error?.rule == "fieldSection")
            #expect(result.count == HTTP2Limits().maximumContinuations)
        }
    }

    /// Two bytes that stand for a name of 4,000, again and again: the connection ends within the block.
    @Test(arguments: [true, false]) func aBombOfReferences(isIndexed: Bool) throws {
        let name = [UInt8](repeating: UInt8(ascii: "n"), count: 4000)
        let entry: [UInt8] = [0x40, 0x7F, 0xA1, 0x1E] + name + [0]
        let references = [[UInt8]](repeating: isIndexed ? [0x7E, 0] : [0x0F, 0x2F, 0], count: 5000).flatMap { $0 }
        let block = entry + references
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.frame(.headers, on: 1, Array(block.prefix(4100))))
        let error = #expect(throws: HTTP2Error.self) {
            try server.receive(Wire.frame(.continuation, on: 1, Array(block.dropFirst(4100))))
        }
        #expect(error?.code == .enhanceYourCalm && error?.rule == "fieldSection")
        let limits = HTTP2Limits().fieldSection
        #expect(server.connection.fields.listSize < limits.listSize + limits.droppedSize + 5000)
    }

    /// A request on a stream that this side has reset is ignored, even one that depends on itself.
    @Test func aLateRequestThatDependsOnItself() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1))
        server.close(StreamID(1), now: .zero)
        _ = server.takeOutput()
        let flags: FrameFlags = [.endHeaders, .endStream, .priority]
        try server.receive(Wire.frame(.headers, flags, on: 1, [0, 0, 0, 1, 15] + Wire.block([("x", "y")])))
        #expect(server.outputCount == 0)
    }

    /// Trailers that are not allowed (RFC 9110 §6.5.1) are left out, and count like all others until then: at each limit, what the peer gets
    /// for a list does not depend on the names of its fields.
    @Test(arguments: ["set-cookie", "x-allowed-"])
    func forbiddenTrailersCountLikeAllowedOnes(_ name: String) throws {
        var limits = HTTP2Limits()
        (limits.fieldSection.listSize, limits.fieldSection.fieldCount) = (10 * (32 + 10 + 8), 10)
        // No frame of a message takes a token of the guard.
        for limit in [\.resets, \.emptyFrames, \.framesWithoutEffect] as [WritableKeyPath<HTTP2Limits, HTTP2Rate>] {
            limits[keyPath: limit] = HTTP2Rate(burst: 0, perSecond: 0)
        }
        let field = (name, "12345678")
        let fits = [(String, String)](repeating: field, count: 10)
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface)
        for id in stride(from: 1, to: 2000, by: 2) as StrideTo<UInt32> {
            try server.receive(Wire.post(id) + Wire.headers(id, ends: true, fits))
            let events = server.takeEvents()
            guard case .trailers(_, let trailers) = events.dropLast().last else { throw MachinePair.NoRoom() }
            #expect(trailers.count == (name == "set-cookie" ? 0 : 10) && events.last == .ended(StreamID(id)))
            #expect(server.failure == nil)
            server.close(StreamID(id), now: .zero)
        }
        // One field, or one byte of the list, beyond the limit.
        limits.resets = HTTP2Rate(burst: 1, perSecond: 0)
        for trailers in [fits + [(name, "")], fits.dropLast() + [(name, "123456789")]] {
            var server = HTTP2ServerMachine(limits: limits, now: .zero)
            try server.receive(Wire.clientPreface + Wire.post(1))
            _ = server.takeEvents()
            try server.receive(Wire.headers(1, ends: true, trailers))
            guard case .reset(StreamID(1), let failure) = server.takeEvents().last,
                case .violation(let error) = failure.cause
            else { throw MachinePair.NoRoom() }
            #expect(error.code == .enhanceYourCalm && error.rule == "fieldSection")
        }
        // Far beyond it, the connection ends.
        limits.fieldSection.droppedSize = 100
        let ends = try [12, 13].map { count in
            var server = HTTP2ServerMachine(limits: limits, now: .zero)
            try server.receive(Wire.clientPreface + Wire.post(1))
            let trailers = [(String, String)](repeating: field, count: count)
            try? server.receive(Wire.headers(1, ends: true, trailers))
            return server.failure?.rule
        }
        #expect(ends == [nil, "fieldSection"])
    }
}
