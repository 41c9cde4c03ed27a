import Testing

@testable import HTTPAuth

@Suite struct DBusInputTests {
    /// Fills a buffer in parts of a given size.
    private func fill(_ input: inout DBusBuffer, _ bytes: [UInt8], inPiecesOf size: Int) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let moved = input.fill { room in
                let piece = rest.prefix(min(size, room.count))
                room.copyBytes(from: piece)
                return piece.count
            }
            rest = rest.dropFirst(moved)
        }
    }

    @Test(arguments: [1, 7, 4096, .max])
    func returnsBytesAndWipesThem(_ size: Int) {
        var input = DBusBuffer()
        let secret = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 % 255 + 1) }
        fill(&input, secret + [1, 2, 3], inPiecesOf: size)
        #expect(input.count == secret.count + 3 && input.first(4) == [1, 2, 3, 4])
        #expect(input.take(secret.count) == secret)
        #expect(input.count == 3 && input.storage[3...].allSatisfy { $0 == 0 })
        #expect(input.take(3) == [1, 2, 3])
        #expect(input.count == 0 && input.storage.allSatisfy { $0 == 0 })
    }

    @Test func failuresAreReported() {
        var input = DBusBuffer()
        #expect(input.fill { _ in -1 } == -1)
        #expect(input.fill { _ in 0 } == 0)
        #expect(input.count == 0)
    }
}
