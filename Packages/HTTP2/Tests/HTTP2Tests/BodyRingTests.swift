import Testing

@testable import HTTP2

struct BodyRingTests {
    @Test func isAQueue() {
        var ring = BodyRing()
        var expected: [UInt8] = []
        var read: [UInt8] = []
        var next: UInt8 = 0
        for round in 0..<2000 {
            let bytes = (0..<(round * 37 % 300)).map { _ -> UInt8 in
                next &+= 1
                return next
            }
            ring.append(bytes.span.bytes, limit: 1_000_000)
            expected += bytes
            var buffer = [UInt8](repeating: 0, count: round * 53 % 290)
            var span = buffer.mutableSpan
            var target = span.mutableBytes
            let count = ring.read(into: &target)
            read += buffer[..<count]
            #expect(ring.count == expected.count - read.count)
        }
        while ring.count > 0 {
            var buffer = [UInt8](repeating: 0, count: 100)
            var span = buffer.mutableSpan
            var target = span.mutableBytes
            let count = ring.read(into: &target)
            read += buffer[..<count]
        }
        #expect(read == expected)
    }

    @Test func trimmingKeepsTheBytes() {
        var ring = BodyRing()
        let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
        ring.append(bytes.span.bytes, limit: 100_000)
        var memory = [UInt8](repeating: 0, count: 50_000)
        var span = memory.mutableSpan
        var target = span.mutableBytes
        #expect(ring.read(into: &target) == 50_000)
        // They go around the end of the memory.
        ring.append(bytes.span.bytes.extracting(0..<40_000), limit: 80_000)
        ring.trim()
        #expect(ring.count == 60_000 && ring.capacity == 60_000)
        var rest = [UInt8](repeating: 0, count: 60_000)
        var restSpan = rest.mutableSpan
        var restTarget = restSpan.mutableBytes
        #expect(ring.read(into: &restTarget) == 60_000)
        #expect(rest == Array(bytes[50_000...]) + bytes[..<40_000])
        ring.trim()
        #expect(ring.capacity == 0)
    }

    @Test func keepsLittleMemory() {
        var ring = BodyRing()
        ring.append([UInt8](repeating: 1, count: 70_000).span.bytes, limit: 100_000)
        ring.append([UInt8](repeating: 1, count: 30_000).span.bytes, limit: 100_000)
        #expect(ring.capacity == 100_000)
        ring.removeAll()
        #expect(ring.capacity == 0 && ring.count == 0)
        ring.append(([1, 2, 3] as [UInt8]).span.bytes, limit: 100_000)
        ring.removeAll()
        #expect(ring.capacity == 1024)
    }
}
