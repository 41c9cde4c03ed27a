import Testing

@testable import HTTP2

/// Each frame, octet by octet as RFC 9113 §4.1 and §6 draw it: nothing here is read back with the parser.
struct FrameWriterTests {
    @Test func framesOfMessages() {
        let data = Wire.frames { $0.appendData(([0xAA, 0xBB] as [UInt8]).span.bytes, on: StreamID(3), ends: true) }
        #expect(data == [0, 0, 2, 0x0, 0x1, 0, 0, 0, 3, 0xAA, 0xBB])
        let more = Wire.frames { $0.appendData(([0xAA] as [UInt8]).span.bytes, on: StreamID(0x0102_0304), ends: false) }
        #expect(more == [0, 0, 1, 0x0, 0, 1, 2, 3, 4, 0xAA])
        for (ends, flags) in [(false, 0x4), (true, 0x5)] as [(Bool, UInt8)] {
            let headers = Wire.frames { writer in
                let content = writer.beginHeaders(on: StreamID(5), ends: ends)
                writer.bytes += [0x82, 0x84]
                writer.endHeaders(content, on: StreamID(5))
            }
            #expect(headers == [0, 0, 2, 0x1, flags, 0, 0, 0, 5, 0x82, 0x84])
        }
        let reset = Wire.frames { $0.appendReset(StreamID(0x7FFF_FFFF), .refusedStream) }
        #expect(reset == [0, 0, 4, 0x3, 0, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 7])
        let update = Wire.frames { $0.appendWindowUpdate(StreamID(1), increment: SendWindow.maximum) }
        #expect(update == [0, 0, 4, 0x8, 0, 0, 0, 0, 1, 0x7F, 0xFF, 0xFF, 0xFF])
    }

    @Test func framesOfTheConnection() {
        let preface = Wire.frames { $0.appendPreface() }
        #expect(preface == Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
        let settings = Wire.frames {
            $0.appendSettings([Setting(.initialWindowSize, 0x0102_0304), Setting(SettingID(rawValue: 0xABCD), 5)])
        }
        #expect(settings == [0, 0, 12, 0x4, 0, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4, 0xAB, 0xCD, 0, 0, 0, 5])
        #expect(Wire.frames { $0.appendSettings([]) } == [0, 0, 0, 0x4, 0, 0, 0, 0, 0])
        #expect(Wire.frames { $0.appendSettingsAcknowledgment() } == [0, 0, 0, 0x4, 0x1, 0, 0, 0, 0])
        let opaque: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        for (isAcknowledgment, flags) in [(false, 0), (true, 0x1)] as [(Bool, UInt8)] {
            let ping = Wire.frames { $0.appendPing(0x0102_0304_0506_0708, isAcknowledgment: isAcknowledgment) }
            #expect(ping == [0, 0, 8, 0x6, flags, 0, 0, 0, 0] + opaque)
        }
        let end = HTTP2GoAway(lastStream: StreamID(9), code: .enhanceYourCalm, debugData: [0x61, 0x62])
        let goAway = Wire.frames { $0.appendGoAway(end) }
        #expect(goAway == [0, 0, 10, 0x7, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0xB, 0x61, 0x62])
        let priority = Wire.frames { $0.appendPriorityUpdate(StreamID(3), "u=1") }
        #expect(priority == [0, 0, 7, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 3] + Array("u=1".utf8))
    }

    /// A block above the maximum frame size continues in CONTINUATION frames, of which the last one has END_HEADERS (RFC 9113 §6.10).
    @Test(arguments: [
        (0, [0]), (16_384, [16_384]), (16_385, [16_384, 1]), (32_768, [16_384, 16_384]), (32_769, [16_384, 16_384, 1]),
    ])
    func blocksOfSeveralFrames(_ count: Int, _ lengths: [Int]) {
        let block = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        let earlier: [UInt8] = [0xEE, 0xEE]
        let bytes = Wire.frames { writer in
            writer.bytes += earlier
            let content = writer.beginHeaders(on: StreamID(7), ends: true)
            writer.bytes += block
            writer.endHeaders(content, on: StreamID(7))
        }
        var expected = earlier
        for (index, length) in lengths.enumerated() {
            let flags = (index == 0 ? 0x1 : 0) | (index == lengths.count - 1 ? 0x4 : 0) as UInt8
            expected += [0, UInt8(length >> 8), UInt8(length & 0xFF), index == 0 ? 0x1 : 0x9, flags, 0, 0, 0, 7]
            expected += block[(16_384 * index)..<(16_384 * index + length)]
        }
        #expect(bytes == expected)
    }

    /// What was written stays in memory up to ``FrameWriter/maximumGap``, so that few writes move what waits.
    @Test func writtenBytesAreRemovedInLargePieces() {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 3) }
        var writer = FrameWriter()
        writer.bytes = bytes
        func waiting() -> [UInt8] { writer.withBytes { $0.withUnsafeBytes { Array($0) } } }
        writer.didWrite(FrameWriter.maximumGap)
        #expect(writer.bytes.count == 100_000 && writer.count == 34_464 && waiting() == Array(bytes[65_536...]))
        writer.didWrite(0)
        #expect(writer.bytes.count == 100_000)
        writer.didWrite(1)
        #expect(writer.bytes.count == 34_463 && writer.count == 34_463 && waiting() == Array(bytes[65_537...]))
        writer.appendSettingsAcknowledgment()
        #expect(waiting().suffix(9) == [0, 0, 0, 0x4, 0x1, 0, 0, 0, 0])
        writer.didWrite(writer.count)
        #expect(writer.count == 0 && writer.bytes.isEmpty && writer.bytes.capacity >= 34_463, "the memory serves again")
    }

    @Test func moreThanThereIsIsAMistake() async {
        await #expect(processExitsWith: .failure) {
            var writer = FrameWriter()
            writer.appendSettingsAcknowledgment()
            writer.didWrite(FrameHeader.size + 1)
        }
    }
}
