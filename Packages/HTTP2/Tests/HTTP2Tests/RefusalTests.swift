import HTTPMessage
import Testing

@testable import HTTP2

/// The tables of the page "What is refused, and why": each rule, its code, and what ends.
struct RefusalTests {
    private typealias Reaction = (connection: HTTP2Error?, stream: ErrorCode?)

    /// What a server answers to these frames behind the preface, however they are cut: the error of the connection, or the code of
    /// RST_STREAM.
    private func serverReaction(_ frames: [UInt8], limits: HTTP2Limits = HTTP2Limits()) throws -> Reaction {
        let whole = try serverReaction(frames, limits: limits, inPiecesOf: .max)
        for size in [1, 2, 3, 7] {
            let reaction = try serverReaction(frames, limits: limits, inPiecesOf: size)
            #expect(reaction == whole, "in pieces of \(size)")
        }
        return whole
    }

    private func serverReaction(_ frames: [UInt8], limits: HTTP2Limits, inPiecesOf size: Int) throws -> Reaction {
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface, inPiecesOf: size)
        _ = server.takeEvents()
        _ = server.takeOutput()
        var error: HTTP2Error?
        do throws(HTTP2Error) { try server.receive(frames, inPiecesOf: size) } catch let thrown { error = thrown }
        let parts = try server.takeParts()
        if let error {
            guard case .goAway(let goAway) = parts.last else {
                Issue.record("no GOAWAY")
                return (error, nil)
            }
            #expect(goAway.code == error.code && error.scope == .connection && error.fault == .peer)
            #expect(throws: HTTP2Error.self) { try server.receive(Wire.settingsAcknowledgment) }
            return (error, nil)
        }
        for case .resetStream(_, let code) in parts { return (nil, code) }
        return (nil, nil)
    }

    @Test(arguments: [
        (Wire.frame(.continuation, .endHeaders, on: 1, [0x82]), ErrorCode.protocolError, "RFC 9113 §6.10"),
        (Wire.frame(.headers, on: 1, [0x82]) + Wire.settingsAcknowledgment, .protocolError, "RFC 9113 §6.10"),
        (Wire.frame(.headers, on: 1, [0x82]) + Wire.get(3), .protocolError, "RFC 9113 §6.10"),
        (Wire.frame(.headers, on: 1, [0x82]) + Wire.frame(.continuation, on: 3), .protocolError, "RFC 9113 §6.10"),
        (
            Wire.frame(.headers, on: 1, [0x82]) + Wire.frame(FrameKind(rawValue: 99), on: 1), .protocolError,
            "RFC 9113 §6.10"
        ),
        (Wire.frame(.headers, .endHeaders, on: 1, [0x80]), .compressionError, "RFC 7541 §6.1"),
        (Wire.frame(.pushPromise, .endHeaders, on: 1, [0, 0, 0, 2]), .protocolError, "RFC 9113 §8.4"),
        (Wire.get(2), .protocolError, "RFC 9113 §5.1.1"),
        (Wire.get(5) + Wire.get(3), .protocolError, "RFC 9113 §5.1.1"),
        (Wire.data(1, "x"), .protocolError, "RFC 9113 §5.1"),
        (Wire.reset(1), .protocolError, "RFC 9113 §5.1"),
        (Wire.windowUpdate(1, 1), .protocolError, "RFC 9113 §5.1"),
        (Wire.windowUpdate(2, 1), .protocolError, "RFC 9113 §5.1"),
        (Wire.post(1) + Wire.reset(1) + Wire.get(1), .streamClosed, "RFC 9113 §5.1"),
        (Wire.windowUpdate(0, SendWindow.maximum), .flowControlError, "RFC 9113 §6.9.1"),
        (Wire.goAway(1) + Wire.goAway(3), .protocolError, "RFC 9113 §6.8"),
        (Wire.frames { $0.appendSettings([Setting(.enablePush, 2)]) }, .protocolError, "RFC 9113 §6.5.2"),
        (
            Wire.frames { $0.appendSettings([Setting(.initialWindowSize, 1 << 31)]) }, .flowControlError,
            "RFC 9113 §6.5.2"
        ),
        (Wire.frames { $0.appendSettings([Setting(.maximumFrameSize, 16_383)]) }, .protocolError, "RFC 9113 §6.5.2"),
        (Wire.frames { $0.appendSettings([Setting(.maximumFrameSize, 1 << 24)]) }, .protocolError, "RFC 9113 §6.5.2"),
        (Wire.frames { $0.appendSettings([Setting(.enableConnectProtocol, 2)]) }, .protocolError, "RFC 8441 §3"),
        (Wire.frames { $0.appendSettings([Setting(.noRFC7540Priorities, 2)]) }, .protocolError, "RFC 9218 §2.1"),
        (Wire.frames { $0.appendPriorityUpdate(StreamID(2), "u=1") }, .protocolError, "RFC 9218 §7.1"),
        (Wire.frame(.priorityUpdate, on: 1, [0, 0, 0, 1]), .protocolError, "RFC 9218 §7.1"),
        (Wire.frame(.priorityUpdate, on: 1, [0]), .protocolError, "RFC 9218 §7.1"),
        (Wire.frames { $0.appendSettings([Setting(.noRFC7540Priorities, 1)]) }, .protocolError, "RFC 9218 §2.1"),
        (Wire.windowUpdate(0, 0), .protocolError, "RFC 9113 §6.9"),
        (Wire.frame(.priority, on: 1, [0]), .frameSizeError, "RFC 9113 §6.3"),
        (Wire.frame(.priority, on: 1, [0, 0, 0, 1, 0]), .protocolError, "RFC 7540 §5.3.1"),
        (Wire.frame(.data, on: 0), .protocolError, "RFC 9113 §6.1"),
        (Wire.frame(.headers, .endHeaders, on: 0, [0x82]), .protocolError, "RFC 9113 §6.2"),
        (Wire.frame(.settings, on: 1), .protocolError, "RFC 9113 §6.5"),
        (Wire.frame(.goAway, on: 1, [0, 0, 0, 0, 0, 0, 0, 0]), .protocolError, "RFC 9113 §6.8"),
        (Wire.frame(.resetStream, on: 1, [0]), .frameSizeError, "RFC 9113 §6.4"),
        (Wire.frame(.ping, on: 0, [0]), .frameSizeError, "RFC 9113 §6.7"),
        (Wire.frame(.headers, [.endHeaders, .padded], on: 1, [2, 0x82]), .protocolError, "RFC 9113 §6.2"),
        (Wire.frame(.data, .padded, on: 1, [2, 0]), .protocolError, "RFC 9113 §6.1"),
        (
            Wire.post(1) + Wire.windowUpdate(1, SendWindow.maximum - 65_535)
                + Wire.frames { $0.appendSettings([Setting(.initialWindowSize, 65_536)]) }, .flowControlError,
            "RFC 9113 §6.9.2"
        ),
        (
            Wire.frames { $0.appendSettings([Setting(.enableConnectProtocol, 1)]) }
                + Wire.frames { $0.appendSettings([Setting(.enableConnectProtocol, 0)]) }, .protocolError, "RFC 8441 §3"
        ),
    ])
    func connection(_ frames: [UInt8], _ code: ErrorCode, _ rule: String) throws {
        let reaction = try serverReaction(frames)
        #expect(reaction.connection?.code == code && reaction.connection?.rule == rule, "\(reaction)")
    }

    @Test(arguments: [
        (Wire.get(1) + Wire.data(1, "x"), ErrorCode.streamClosed),
        (Wire.get(1) + Wire.headers(1, ends: true, [("a", "b")]), .streamClosed),
        (Wire.post(1) + Wire.windowUpdate(1, 0), .protocolError),
        (Wire.post(1) + Wire.windowUpdate(1, SendWindow.maximum), .flowControlError),
        (Wire.post(1) + Wire.frame(.priority, on: 1, [0, 0, 0, 1, 0]), .protocolError),
        (Wire.post(1) + Wire.frame(.priority, on: 1, [0]), .frameSizeError),
        (Wire.post(1, [("content-length", "3")]) + Wire.data(1, "ab", ends: true), .protocolError),
        (Wire.post(1, [("content-length", "3")]) + Wire.data(1, "abcd"), .protocolError),
        (Wire.get(1, [("content-length", "3")]), .protocolError),
        (Wire.post(1) + Wire.headers(1, ends: false, [("a", "b")]), .protocolError),
        (Wire.post(1, [("content-length", "3")]) + Wire.headers(1, ends: true, [("a", "b")]), .protocolError),
        (
            Wire.headers(1, ends: false, [(":method", "CONNECT"), (":authority", "a:1")])
                + Wire.headers(1, ends: true, [("a", "b")]), .protocolError
        ),
        (
            Wire.frame(.headers, [.endHeaders, .priority], on: 1, [0, 0, 0, 1, 0] + Wire.block(Wire.request("GET"))),
            .protocolError
        ),
    ])
    func stream(_ frames: [UInt8], _ code: ErrorCode) throws {
        let reaction = try serverReaction(frames)
        #expect(reaction.connection == nil && reaction.stream == code, "\(reaction)")
    }

    /// What depends on a limit of this side.
    @Test func limits() throws {
        var limits = HTTP2Limits()
        limits.maximumConcurrentStreams = 1
        #expect(try serverReaction(Wire.get(1) + Wire.get(3), limits: limits) == (nil, .refusedStream))
        limits.initialStreamWindow = 10
        for (data, code) in [("0123456789", nil), ("0123456789A", ErrorCode.flowControlError)] {
            #expect(try serverReaction(Wire.post(1) + Wire.data(1, data), limits: limits) == (nil, code))
        }
        limits.head.listSize = 300
        let trailers = Wire.headers(1, ends: true, [("x", String(repeating: "v", count: 300))])
        #expect(try serverReaction(Wire.post(1) + trailers, limits: limits) == (nil, .enhanceYourCalm))
    }

    /// The data of a closed stream is given back at the end of a call: before, the peer cannot know of it.
    @Test func dataBeyondTheWindowOfTheConnection() throws {
        var limits = HTTP2Limits()
        limits.connectionWindowReserve = 65_535
        limits.initialStreamWindow = 0
        let frame = Wire.frame(.data, on: 1, [UInt8](repeating: 0, count: 13_107))
        for count in [5, 6] {
            var server = HTTP2ServerMachine(limits: limits, now: .zero)
            try server.receive(Wire.clientPreface + Wire.post(1) + Wire.reset(1))
            var error: HTTP2Error?
            let frames = [[UInt8]](repeating: frame, count: count).flatMap { $0 }
            do throws(HTTP2Error) { try server.receive(frames) } catch let thrown { error = thrown }
            #expect(error?.code == (count == 5 ? nil : .flowControlError))
            #expect(error?.rule == (count == 5 ? nil : "RFC 9113 §6.9.1"))
        }
    }

    /// A setting that cannot change back, and one that cannot change at all.
    @Test func settingsThatChange() throws {
        for id in [SettingID.enableConnectProtocol, .noRFC7540Priorities] {
            var client = HTTP2ClientMachine(now: .zero)
            try client.receive(Wire.frames { $0.appendSettings([Setting(id, 1)]) })
            try client.receive(Wire.frames { $0.appendSettings([Setting(id, 1)]) })
            let error = #expect(throws: HTTP2Error.self) {
                try client.receive(Wire.frames { $0.appendSettings([Setting(id, 0)]) })
            }
            #expect(error?.code == .protocolError)
        }
    }

    @Test func theFirstBytes() throws {
        for (bytes, word) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n", "GET / HTTP/1.1"), ("PRI * HTTP/2.0\r\n\r\nXX", "preface"),
        ] {
            for size in [1, 5, 100] {
                var server = HTTP2ServerMachine(now: .zero)
                let error = #expect(throws: HTTP2Error.self) { try server.receive(Array(bytes.utf8), inPiecesOf: size) }
                #expect(error?.rule == "RFC 9113 §3.4" && error?.code == .protocolError)
                if size == 100 { #expect(error?.reason.contains(word) == true) }
            }
        }
        for bytes in [Array("HTTP/1.1 400 Bad Request\r\n".utf8), Wire.settingsAcknowledgment, Wire.response(1)] {
            var client = HTTP2ClientMachine(now: .zero)
            _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
            let error = #expect(throws: HTTP2Error.self) { try client.receive(bytes) }
            #expect(error?.rule == "RFC 9113 §3.4")
            if bytes.first == UInt8(ascii: "H") {
                #expect(error?.reason.contains("'HTTP/1.1 400 Bad Request'") == true)
            }
        }
    }

    @Test(arguments: [
        (Wire.response(1, "100", ends: true), ErrorCode.protocolError),
        (Wire.response(1, "103") + Wire.data(1, "x"), .protocolError),
        (Wire.data(1, "x"), .protocolError),
        (Wire.response(1) + Wire.headers(1, ends: false, [("a", "b")]), .protocolError),
        (Wire.response(1) + Wire.response(1, ends: true), .protocolError),
        (Wire.headers(1, ends: false, [(":status", "204"), ("content-length", "1")]), .protocolError),
        (Wire.response(1, "204") + Wire.data(1, "x"), .protocolError),
    ])
    func responses(_ frames: [UInt8], _ code: ErrorCode) throws {
        for size in [.max, 1, 2, 3, 7] { try expectReset(code, after: frames, inPiecesOf: size) }
    }

    private func expectReset(
        _ code: ErrorCode, after frames: [UInt8], limits: HTTP2Limits = HTTP2Limits(), inPiecesOf size: Int
    ) throws {
        var client = HTTP2ClientMachine(limits: limits, now: .zero)
        _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
        try client.receive(Wire.serverPreface + frames, inPiecesOf: size)
        guard case .reset(StreamID(1), let failure) = client.takeEvents().last else {
            Issue.record("the stream has not ended")
            return
        }
        #expect(failure.code == code)
        #expect(try client.takeParts().contains(.resetStream(StreamID(1), code)))
    }

    @Test(arguments: [.max, 1, 7]) func largeListsOfFields(inPiecesOf size: Int) throws {
        var limits = HTTP2Limits()
        limits.head.listSize = 300
        let large = [("x", String(repeating: "v", count: 300))]
        let response = Wire.headers(1, ends: false, [(":status", "200")] + large)
        try expectReset(.enhanceYourCalm, after: response, limits: limits, inPiecesOf: size)
        let trailers = Wire.response(1) + Wire.headers(1, ends: true, large)
        try expectReset(.enhanceYourCalm, after: trailers, limits: limits, inPiecesOf: size)
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

    /// A request on a stream that this side has reset is ignored, even one that depends on itself.
    @Test func aLateRequestThatDependsOnItself() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1))
        server.close(StreamID(1))
        _ = server.takeOutput()
        let flags: FrameFlags = [.endHeaders, .endStream, .priority]
        try server.receive(Wire.frame(.headers, flags, on: 1, [0, 0, 0, 1, 15] + Wire.block([("x", "y")])))
        #expect(server.outputCount == 0)
    }

    @Test(arguments: [Wire.response(2), Wire.response(3), Wire.data(3, "x"), Wire.reset(2), Wire.windowUpdate(3, 1)])
    func aServerOpensNoStreams(_ frames: [UInt8]) throws {
        var client = HTTP2ClientMachine(now: .zero)
        _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
        let error = #expect(throws: HTTP2Error.self) { try client.receive(Wire.serverPreface + frames) }
        #expect(error?.code == .protocolError)
    }

    @Test func whatFollowsAResetIsIgnored() throws {
        var pair = MachinePair()
        let stream = try pair.request(MachinePair.head(.post), endsHere: false)
        _ = pair.server.takeEvents()
        pair.server.close(stream, code: .cancel)
        _ = pair.server.takeOutput()
        // Data, trailers that fill the dynamic table, and credit were on their way.
        _ = try pair.client.send([1, 2, 3], on: stream, endsHere: false)
        try pair.client.sendTrailers(["x-indexed": "1"], on: stream)
        try pair.server.receive(pair.client.takeOutput() + Wire.windowUpdate(1, 5))
        #expect(pair.server.takeEvents().isEmpty && pair.server.outputCount == 0)
        _ = try pair.request(MachinePair.head(.get, "/", ["X-Indexed": "1"]))
        guard
            case .request(_, let request) = pair.server.takeEvents().last(where: {
                if case .request = $0 { true } else { false }
            })
        else { throw MachinePair.NoRoom() }
        #expect(request.head.fields["x-indexed"] == "1")
    }

    @Test func aWindowOfTheConnectionHolds() throws {
        var limits = HTTP2Limits()
        limits.connectionWindowReserve = 65_535
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1) + Wire.reset(1))
        let frame = Wire.frame(.data, on: 1, [UInt8](repeating: 0, count: 16_384))
        // The data of a closed stream is given back, so that it never exhausts the window.
        for _ in 0..<50 { try server.receive(frame) }
        #expect(server.connection.receiveWindow.unread == 0)
        // A stream whose data is not read takes its own window, and then the reserve is left.
        try server.receive(Wire.post(3))
        for _ in 0..<16 { try server.receive(Wire.frame(.data, on: 3, [UInt8](repeating: 0, count: 16_384))) }
        #expect(server.connection.receiveWindow.available >= 65_535 / 2)
    }
}
