import Testing

@testable import HPACK

@Suite struct PrefixedIntegerTests {
    private func read(_ bytes: [UInt8], prefix: Int) throws(HPACKError) -> (value: Int?, position: Int) {
        var position = 0
        let value = try PrefixedInteger.read(bytes.span.bytes, at: &position, prefix: prefix)
        return (value, position)
    }

    private func write(_ value: Int, prefix: Int, pattern: UInt8 = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        PrefixedInteger.append(value, prefix: prefix, pattern: pattern, to: &bytes)
        return bytes
    }

    /// The examples of RFC 7541 appendix C.1, and the largest integer.
    static let examples: [(value: Int, prefix: Int, bytes: [UInt8])] = [
        (10, 5, [0x0A]), (1337, 5, [0x1F, 0x9A, 0x0A]), (42, 8, [0x2A]),
        (0, 1, [0x00]), (1, 1, [0x01, 0x00]), (254, 8, [0xFE]), (255, 8, [0xFF, 0x00]),
        (1 << 28, 7, [0x7F, 0x81, 0xFF, 0xFF, 0x7F]), (1 << 28, 1, [0x01, 0xFF, 0xFF, 0xFF, 0x7F]),
    ]

    @Test(arguments: examples) func readsAndWrites(value: Int, prefix: Int, bytes: [UInt8]) throws {
        #expect(write(value, prefix: prefix) == bytes)
        let high = UInt8(truncatingIfNeeded: ~(1 << prefix - 1))
        #expect(write(value, prefix: prefix, pattern: high)[0] == bytes[0] | high)
        for pattern in [0, high] {
            let marked = [bytes[0] | pattern] + bytes.dropFirst()
            let (read, position) = try read(marked + [0x55], prefix: prefix)
            #expect(read == value && position == bytes.count)
            for cut in 0..<bytes.count {
                let (partial, position) = try self.read(Array(marked[..<cut]), prefix: prefix)
                #expect(partial == nil && position == 0)
            }
        }
    }

    @Test func readsWhatItWrites() throws {
        for prefix in 1...8 {
            for value in Array(0...1000) + (8..<28).flatMap({ [1 << $0 - 1, 1 << $0, 1 << $0 + 1] }) {
                #expect(try read(write(value, prefix: prefix), prefix: prefix).value == value)
            }
        }
    }

    @Test(
        arguments: [
            [0x7F, 0x82, 0xFF, 0xFF, 0x7F],  // 2^28 + 1
            [0x7F, 0x80, 0x80, 0x80, 0x80, 0x10],  // above 2^32
            [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
            [0x7F, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],  // zeros that add nothing
        ] as [[UInt8]])
    func rejects(bytes: [UInt8]) {
        #expect(throws: HPACKError(.integerTooLarge)) { try read(bytes, prefix: 7) }
    }

    @Test func acceptsFewZerosThatAddNothing() throws {
        #expect(try read([0x7F, 0x81, 0x80, 0x00], prefix: 7).value == 128)
        #expect(try read([0x7F, 0x80, 0x80, 0x80, 0x80, 0x00], prefix: 7).value == 127)
    }
}
