import HTTPMessage
import Testing

@testable import HTTP2

/// The tables of the page "What is refused, and why": each rule, its code, and what ends.
struct RefusalTests {
    /// The error of the connection, or the code of RST_STREAM and the rule that the program is told.
    private typealias Reaction = (connection: HTTP2Error?, stream: ErrorCode?, rule: String?)

    /// What a server answers to these frames behind the preface and the frames of `start`, however they are cut.
    private func serverReaction(
        _ frames: [UInt8], after start: [UInt8] = [], limits: HTTP2Limits = HTTP2Limits()
    ) throws -> Reaction {
        let whole = try serverReaction(frames, after: start, limits: limits, inPiecesOf: .max)
        for size in [1, 2, 3, 7] {
            let reaction = try serverReaction(frames, after: start, limits: limits, inPiecesOf: size)
            #expect(reaction == whole, "in pieces of \(size)")
        }
        return whole
    }

    private func serverReaction(
        _ frames: [UInt8], after start: [UInt8], limits: HTTP2Limits, inPiecesOf size: Int
    ) throws -> Reaction {
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface + start, inPiecesOf: size)
        _ = server.takeEvents()
        _ = server.takeOutput()
        var error: HTTP2Error?
        do throws(HTTP2Error) { try server.receive(frames, inPiecesOf: size) } catch let thrown { error = thrown }
        let parts = try server.takeParts()
        if let error {
            guard case .goAway(let goAway) = parts.last else {
                Issue.record("no GOAWAY")
                return (error, nil, nil)
            }
            #expect(goAway.code == error.code && error.scope == .connection && error.fault == .peer)
            #expect(throws: HTTP2Error.self) { try server.receive(Wire.settingsAcknowledgment) }
            return (error, nil, nil)
        }
        var rule: String?
        for case .reset(_, let failure) in server.takeEvents() {
            guard case .violation(let error) = failure.cause else { continue }
            #expect(error.code == failure.code && error.scope == .stream(StreamID(1)) && error.fault == .peer)
            rule = error.rule
        }
        for case .resetStream(_, let code) in parts { return (nil, code, rule) }
        return (nil, nil, rule)
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

    /// The first frames open the stream, and the program takes its request; the others end it. The two heads that are wrong themselves are
    /// not reported, so that their rules stay unknown.
    @Test(
        arguments: [
            (Wire.get(1), Wire.data(1, "x"), .streamClosed, "RFC 9113 §5.1"),
            (Wire.get(1), Wire.headers(1, ends: true, [("a", "b")]), .streamClosed, "RFC 9113 §5.1"),
            (Wire.post(1), Wire.windowUpdate(1, 0), .protocolError, "RFC 9113 §6.9"),
            (Wire.post(1), Wire.windowUpdate(1, SendWindow.maximum), .flowControlError, "RFC 9113 §6.9.1"),
            (Wire.post(1), Wire.frame(.priority, on: 1, [0, 0, 0, 1, 0]), .protocolError, "RFC 7540 §5.3.1"),
            (Wire.post(1), Wire.frame(.priority, on: 1, [0]), .frameSizeError, "RFC 9113 §6.3"),
            (Wire.post(1, length(3)), Wire.data(1, "ab", ends: true), .protocolError, "RFC 9113 §8.1.1"),
            (Wire.post(1, length(3)), Wire.data(1, "abcd"), .protocolError, "RFC 9113 §8.1.1"),
            (Wire.post(1), Wire.headers(1, ends: false, [("a", "b")]), .protocolError, "RFC 9113 §8.1"),
            (Wire.post(1, length(3)), Wire.headers(1, ends: true, [("a", "b")]), .protocolError, "RFC 9113 §8.1.1"),
            (
                Wire.headers(1, ends: false, [(":method", "CONNECT"), (":authority", "a:1")]),
                Wire.headers(1, ends: true, [("a", "b")]), .protocolError, "RFC 9113 §8.5"
            ),
            ([], Wire.get(1, length(3)), .protocolError, nil),
            (
                [],
                Wire.frame(
                    .headers, [.endHeaders, .priority], on: 1, [0, 0, 0, 1, 0] + Wire.block(Wire.request("GET"))),
                .protocolError, nil
            ),
        ] as [([UInt8], [UInt8], ErrorCode, String?)])
    func stream(_ start: [UInt8], _ frames: [UInt8], _ code: ErrorCode, _ rule: String?) throws {
        let reaction = try serverReaction(frames, after: start)
        #expect(reaction.connection == nil && reaction.stream == code && reaction.rule == rule, "\(reaction)")
    }

    private static func length(_ count: Int) -> [(String, String)] { [("content-length", "\(count)")] }

    /// What depends on a limit of this side.
    @Test func limits() throws {
        var limits = HTTP2Limits()
        limits.maximumConcurrentStreams = 1
        // The program does not know the refused stream.
        #expect(try serverReaction(Wire.get(3), after: Wire.get(1), limits: limits) == (nil, .refusedStream, nil))
        limits.initialStreamWindow = 10
        for (data, code, rule) in [
            ("0123456789", nil, nil), ("0123456789A", ErrorCode.flowControlError, "RFC 9113 §6.9.1"),
        ] {
            let reaction = try serverReaction(Wire.data(1, data), after: Wire.post(1), limits: limits)
            #expect(reaction == (nil, code, rule))
        }
        limits.fieldSection.listSize = 300
        let trailers = Wire.headers(1, ends: true, [("x", String(repeating: "v", count: 300))])
        #expect(
            try serverReaction(trailers, after: Wire.post(1), limits: limits) == (nil, .enhanceYourCalm, "fieldSection")
        )
    }

    @Test(arguments: [
        (Wire.response(1, "100", ends: true), ErrorCode.protocolError, "RFC 9113 §8.1"),
        (Wire.response(1, "103") + Wire.data(1, "x"), .protocolError, "RFC 9113 §8.1"),
        (Wire.data(1, "x"), .protocolError, "RFC 9113 §8.1"),
        (Wire.response(1) + Wire.headers(1, ends: false, [("a", "b")]), .protocolError, "RFC 9113 §8.1"),
        (Wire.response(1) + Wire.response(1, ends: true), .protocolError, "RFC 9113 §8.1"),
        (Wire.headers(1, ends: false, [(":status", "204"), ("content-length", "1")]), .protocolError, "RFC 9110 §8.6"),
        (Wire.response(1, "204") + Wire.data(1, "x"), .protocolError, "RFC 9110 §6.4.1"),
    ])
    func responses(_ frames: [UInt8], _ code: ErrorCode, _ rule: String) throws {
        for size in [.max, 1, 2, 3, 7] { try expectReset(code, rule, after: frames, inPiecesOf: size) }
    }

    private func expectReset(
        _ code: ErrorCode, _ rule: String, after frames: [UInt8], limits: HTTP2Limits = HTTP2Limits(),
        inPiecesOf size: Int
    ) throws {
        var client = HTTP2ClientMachine(limits: limits, now: .zero)
        _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
        try client.receive(Wire.serverPreface + frames, inPiecesOf: size)
        guard case .reset(StreamID(1), let failure) = client.takeEvents().last,
            case .violation(let error) = failure.cause
        else {
            Issue.record("the stream has not ended")
            return
        }
        #expect(failure.code == code && error.code == code && error.rule == rule)
        #expect(try client.takeParts().contains(.resetStream(StreamID(1), code)))
    }

    @Test(arguments: [.max, 1, 7]) func largeListsOfFields(inPiecesOf size: Int) throws {
        var limits = HTTP2Limits()
        limits.fieldSection.listSize = 300
        let large = [("x", String(repeating: "v", count: 300))]
        let response = Wire.headers(1, ends: false, [(":status", "200")] + large)
        try expectReset(.enhanceYourCalm, "fieldSection", after: response, limits: limits, inPiecesOf: size)
        let trailers = Wire.response(1) + Wire.headers(1, ends: true, large)
        try expectReset(.enhanceYourCalm, "fieldSection", after: trailers, limits: limits, inPiecesOf: size)
    }
}
