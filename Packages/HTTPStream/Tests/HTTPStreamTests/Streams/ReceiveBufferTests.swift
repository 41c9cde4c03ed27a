import StreamKit
import Testing

@testable import HTTPStream

@Suite struct ReceiveBufferTests {
    private func contents(_ buffer: ReceiveBuffer) -> [UInt8] {
        buffer.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
    }

    @Test func fillsAndRemoves() throws {
        let stream = ReadStream(bytes: Array(0..<100))
        try stream.open()
        var buffer = ReceiveBuffer(capacity: 10)
        #expect(try buffer.fill(from: stream) == 10)
        buffer.remove(4)
        #expect(contents(buffer) == Array(4..<10))
        // No room at the end: the unused bytes move to the front.
        #expect(try buffer.fill(from: stream) == 4)
        #expect(contents(buffer) == Array(4..<14))
        // All bytes are unused: the buffer grows.
        #expect(try buffer.fill(from: stream) == 10)
        #expect(contents(buffer) == Array(4..<24))
        buffer.remove(20)
        #expect(buffer.isEmpty && buffer.start == 0)
        #expect(try buffer.fill(from: stream) == 20)
        buffer.remove(20)
        buffer.shrink()
        #expect(try buffer.fill(from: stream) == 10)
    }

    @Test func tellsTheEnd() throws {
        let stream = ReadStream(bytes: [])
        try stream.open()
        var buffer = ReceiveBuffer(capacity: 10)
        #expect(try buffer.fill(from: stream) == 0)
        let pair = StreamPair.bound()
        try pair.open()
        #expect(try buffer.fill(from: pair.input) == nil)
        pair.close()
    }

    @Test func copiesParts() throws {
        let stream = ReadStream(bytes: Array(0..<20))
        try stream.open()
        var buffer = ReceiveBuffer(capacity: 20)
        _ = try buffer.fill(from: stream)
        buffer.remove(5)
        var target = [UInt8](repeating: 0, count: 4)
        var span = target.mutableSpan
        var bytes = span.mutableBytes
        buffer.copy(2..<5, into: &bytes)
        #expect(target == [7, 8, 9, 0])
    }
}
