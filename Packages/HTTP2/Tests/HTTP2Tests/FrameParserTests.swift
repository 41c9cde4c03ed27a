import Testing

@testable import HTTP2

/// What a frame contains, with its content as bytes, however the input was cut.
private struct Parsed: Equatable {
    var parts: [FrameParser.Part] = []
    var content: [UInt8] = []
    var error: HTTP2Error?

    init(_ bytes: [UInt8], inPiecesOf size: Int) {
        var parser = FrameParser()
        do {
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = Array(bytes[start..<min(bytes.count, start + size)])
                var offset = 0
                while let part = try parser.next(in: piece.span.bytes, at: &offset) {
                    if case .content(let range) = part { content += piece[range] } else { parts.append(part) }
                }
                #expect(offset == piece.count, "all of the input is consumed")
            }
        } catch {
            self.error = error
        }
    }
}

struct FrameParserTests {
    static let frames: [[UInt8]] = [
        Wire.data(1, "hello", ends: true),
        Wire.frame(.data, .padded, on: 1, [2] + Array("hi".utf8) + [0, 0]),
        Wire.frame(.headers, [.endHeaders, .padded, .priority], on: 3, [1, 0x80, 0, 0, 5, 15, 0x82, 0]),
        Wire.frame(.continuation, .endHeaders, on: 3, [0x84]),
        Wire.frame(.pushPromise, .endHeaders, on: 1, [0, 0, 0, 2, 0x82]),
        Wire.frames { $0.appendSettings([Setting(.initialWindowSize, 5), Setting(.enablePush, 0)]) },
        Wire.settingsAcknowledgment,
        Wire.frames { $0.appendPing(0x0102_0304_0506_0708, isAcknowledgment: false) },
        Wire.frames { $0.appendPing(7, isAcknowledgment: true) },
        Wire.goAway(5, .enhanceYourCalm),
        Wire.windowUpdate(0, 9),
        Wire.windowUpdate(3, 0x7FFF_FFFF),
        Wire.reset(3, .refusedStream),
        Wire.frame(.priority, on: 5, [0, 0, 0, 3, 255]),
        Wire.frames { $0.appendPriorityUpdate(StreamID(3), "u=1") },
        Wire.frame(FrameKind(rawValue: 0xFA), on: 9, [1, 2, 3]),
        Wire.frame(.priorityUpdate, on: 0, [0, 0, 0]),
        Wire.frame(.priorityUpdate, on: 0),
        Wire.frame(.priorityUpdate, on: 0, [UInt8](repeating: 0, count: 257)),
        Wire.windowUpdate(1, 0),
        Wire.frame(.priority, on: 5, [0, 0]),
    ]

    @Test(arguments: frames) func resultDoesNotDependOnCuts(_ frame: [UInt8]) {
        let bytes = frame + Wire.settingsAcknowledgment
        let whole = Parsed(bytes, inPiecesOf: bytes.count)
        #expect(whole.error == nil)
        #expect(whole.parts.last == .settingsAcknowledgment)
        for size in 1..<bytes.count { #expect(Parsed(bytes, inPiecesOf: size) == whole) }
    }

    @Test(arguments: frames) func stopsBeforeTheEndOfAFrame(_ frame: [UInt8]) throws {
        for end in 0..<frame.count where end > 0 {
            var parser = FrameParser()
            var offset = 0
            let start = Array(frame[..<end])
            while let part = try parser.next(in: start.span.bytes, at: &offset) { #expect(part != .end) }
            #expect(!parser.isBetweenFrames)
        }
    }

    @Test func fieldsOfFrames() throws {
        #expect(Parsed(Self.frames[1], inPiecesOf: 100).content == Array("hi".utf8))
        guard case .begin(let headers) = Parsed(Self.frames[2], inPiecesOf: 100).parts.first else {
            Issue.record("HEADERS did not begin")
            return
        }
        #expect(headers.padding == 1 && headers.contentLength == 1)
        #expect(headers.dependency?.isExclusive == true && headers.dependency?.stream == StreamID(5))
        #expect(headers.dependency?.weight == 16)
        #expect(
            try Wire.parts(Self.frames[9]) == [
                .goAway(HTTP2GoAway(lastStream: StreamID(5), code: .enhanceYourCalm, debugData: []))
            ])
        #expect(try Wire.parts(Self.frames[11]) == [.windowUpdate(StreamID(3), increment: 0x7FFF_FFFF)])
        #expect(try Wire.parts(Self.frames[14]) == [.priorityUpdate(StreamID(3), value: Array("u=1".utf8))])
    }

    @Test(arguments: [
        (Wire.frame(.data, on: 0, [1]), ErrorCode.protocolError, "RFC 9113 §6.1"),
        (Wire.frame(.headers, on: 0, [1]), .protocolError, "RFC 9113 §6.2"),
        (Wire.frame(.continuation, on: 0, [1]), .protocolError, "RFC 9113 §6.10"),
        (Wire.frame(.priority, on: 0, [0, 0, 0, 0, 0]), .protocolError, "RFC 9113 §6.3"),
        (Wire.frame(.resetStream, on: 0, [0, 0, 0, 0]), .protocolError, "RFC 9113 §6.4"),
        (Wire.frame(.settings, on: 1), .protocolError, "RFC 9113 §6.5"),
        (Wire.frame(.ping, on: 1, Array(repeating: 0, count: 8)), .protocolError, "RFC 9113 §6.7"),
        (Wire.frame(.goAway, on: 1, Array(repeating: 0, count: 8)), .protocolError, "RFC 9113 §6.8"),
        (Wire.windowUpdate(0, 0), .protocolError, "RFC 9113 §6.9"),
        (Wire.frame(.data, .padded, on: 1, [1]), .protocolError, "RFC 9113 §6.1"),
        (Wire.frame(.data, .padded, on: 1), .frameSizeError, "RFC 9113 §6.1"),
        (Wire.frame(.headers, .priority, on: 1, [0, 0, 0, 0]), .frameSizeError, "RFC 9113 §6.2"),
        (Wire.frame(.pushPromise, on: 1, [0, 0, 0]), .frameSizeError, "RFC 9113 §6.6"),
        (Wire.frame(.resetStream, on: 1, [0, 0, 0]), .frameSizeError, "RFC 9113 §6.4"),
        (Wire.frame(.settings, on: 0, [0]), .frameSizeError, "RFC 9113 §6.5"),
        (Wire.frame(.settings, .acknowledgment, on: 0, [0, 0, 0, 0, 0, 0]), .frameSizeError, "RFC 9113 §6.5"),
        (Wire.frame(.ping, on: 0, [0]), .frameSizeError, "RFC 9113 §6.7"),
        (Wire.frame(.goAway, on: 0, [0]), .frameSizeError, "RFC 9113 §6.8"),
        (Wire.frame(.priorityUpdate, on: 1, [0, 0, 0, 1]), .protocolError, "RFC 9218 §7.1"),
        (Wire.frame(.priorityUpdate, on: 1, Array(repeating: 0, count: 1000)), .protocolError, "RFC 9218 §7.1"),
        (Wire.frame(.windowUpdate, on: 1, [0]), .frameSizeError, "RFC 9113 §6.9"),
        (Wire.frame(.settings, on: 0, Array(repeating: 0, count: 33 * 6)), .enhanceYourCalm, "maximumSettingsEntries"),
        (
            Array(Wire.frame(.data, on: 1, Array(repeating: 0, count: 16_385)).prefix(9)), .frameSizeError,
            "RFC 9113 §4.2"
        ),
    ])
    func refusesAFrame(_ frame: [UInt8], _ code: ErrorCode, _ rule: String) {
        for size in [1, 3, frame.count] {
            let error = Parsed(frame, inPiecesOf: size).error
            #expect(error?.code == code && error?.rule == rule && error?.scope == .connection)
        }
    }

    @Test func keepsLittleOfALongGoAway() throws {
        let frame = Wire.frame(.goAway, on: 0, Array(repeating: 0x61, count: 16_384))
        let parsed = Parsed(frame + Wire.settingsAcknowledgment, inPiecesOf: 1000)
        guard case .goAway(let goAway) = parsed.parts.first else {
            Issue.record("no GOAWAY")
            return
        }
        #expect(goAway.debugData.count == FrameParser.keptPayload)
        #expect(parsed.parts.last == .settingsAcknowledgment)
    }
}
