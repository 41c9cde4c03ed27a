internal import COpenSSL
internal import EventLoops
import Testing

@testable import StreamKit
@testable import StreamTLS

/// What OpenSSL gets of the bytes that a peer sends.
@Suite struct TLSLowerTests {
    /// A record of `length` bytes after its header.
    private static func record(_ length: Int) -> [UInt8] {
        [23, 3, 3, UInt8(length >> 8), UInt8(length & 0xFF)] + [UInt8](repeating: 7, count: length)
    }

    /// A peer that has sent `bytes`, and the reads of OpenSSL.
    private final class Reader {
        let wire: TestWire
        private let peer: TestWire
        let lower: TLSLower
        private let bio: OpaquePointer

        init(_ bytes: [UInt8]) throws {
            let (near, far) = TestWire.pair()
            #expect(try far.tryWrite(bytes.span.bytes) == .moved(bytes.count))
            (wire, peer) = (near, far)
            lower = TLSLower(near)
            bio = try #require(lower.makeBIO())
        }

        deinit { BIO_free(bio) }

        func read(_ maximum: Int = 20_000) -> [UInt8]? {
            var buffer = [UInt8](repeating: 0, count: maximum)
            let count = BIO_read(bio, &buffer, CInt(maximum))
            return count > 0 ? Array(buffer.prefix(Int(count))) : nil
        }

        /// Takes bytes at the other end. Returns their number.
        func readAtPeer() throws -> Int {
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            guard case .moved(let count) = try peer.read(&buffer) else { return 0 }
            return count
        }

        /// Writes as OpenSSL does. Returns whether the bytes were taken.
        func write(_ bytes: [UInt8]) -> Bool { BIO_write(bio, bytes, CInt(bytes.count)) == CInt(bytes.count) }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 21, 1000])
    func recordsEndWhereTheirHeadersSay(most: Int) throws {
        let records = [Self.record(17), Self.record(0), Self.record(300), Self.record(1)]
        let bytes = Array(records.joined())
        for maximum in 1...4 {
            var bounds = TLSRecordBounds()
            var offset = 0
            var ends: [Int] = []
            while offset < bytes.count {
                let part = bytes[offset...].prefix(most)
                let count = bounds.advance(over: part.span.bytes, maximumRecords: maximum).bytes
                #expect(count > 0 && count <= part.count)
                offset += count
                if count < part.count { ends.append(offset) }
            }
            // Where it stops before the end of the part, a record ends.
            let possible = records.indices.map { records[...$0].joined().count }
            #expect(ends.allSatisfy(possible.contains))
            if most > bytes.count { #expect(ends.count == (records.count - 1) / maximum) }
        }
    }

    @Test func aReadHasFewRecords() throws {
        let most = TLSEndpoint.recordsPerRead
        let reader = try Reader(Array(repeatElement(Self.record(17), count: 2 * most + 2).joined()))
        reader.lower.beginCall()
        #expect(reader.read()?.count == most * 22)
        // What was received with them follows, in pieces of any size.
        #expect(reader.read(30)?.count == 30)
        #expect(reader.read()?.count == most * 22 - 8)
        #expect(reader.read()?.count == 22)
        #expect(reader.lower.received == (2 * most + 2) * 22)
        #expect(reader.read() == nil)
        #expect(!reader.lower.isBudgetSpent)
    }

    /// Off the loop, too: a thread that waits for the lock must not wait for long.
    @Test func aCallHasFewRecords() throws {
        let most = TLSEndpoint.recordsPerCall
        let reader = try Reader(Array(repeatElement(Self.record(17), count: most + 1).joined()))
        reader.lower.beginCall()
        var count = 0
        while let bytes = reader.read() { count += bytes.count }
        #expect(count == most * 22 && reader.lower.isBudgetSpent)
        reader.lower.beginCall()
        #expect(reader.read()?.count == 22)
    }

    /// A peer that provokes answers, such as those to key updates, and does not read them.
    @Test func unsentBytesAreBounded() throws {
        let reader = try Reader(Self.record(1))
        reader.wire.set { $0.isStuck = true }
        let answer = [UInt8](repeating: 1, count: 1 << 12)
        var count = 0
        while count < 2 * TLSLower.maximumUnsent, reader.write(answer) { count += answer.count }
        #expect(count == TLSLower.maximumUnsent)
        // Once the peer reads, all of them are sent.
        reader.wire.set { $0.isStuck = false }
        while try reader.lower.flush() != nil, try reader.readAtPeer() > 0 {}
        #expect(!reader.lower.hasUnsent && reader.wire.transcript.count == count)
    }

    @Test func aReadHasAllOfALargeRecord() throws {
        let record = Self.record(1 << 14)
        let reader = try Reader(record)
        reader.lower.beginCall()
        #expect(reader.read() == record)
    }

    /// A call on a loop whose other work is due makes one step.
    @Test func aSpentShareEndsTheCall() async throws {
        let records = Array(repeatElement(Self.record(17), count: 3 * TLSEndpoint.recordsPerRead).joined())
        let loop = try Reader(records).wire.waitPoint.loop
        let counts = try await withCheckedContinuation { continuation in
            loop.execute {
                continuation.resume(
                    returning: Result {
                        let reader = try Reader(records)
                        while !loop.isShareSpent {}  // ends with the budget
                        reader.lower.beginCall()
                        let counts = [reader.read()?.count, reader.read()?.count]
                        #expect(reader.lower.isBudgetSpent)
                        reader.lower.beginCall()
                        return counts + [reader.read()?.count]
                    })
            }
        }.get()
        #expect(counts == [TLSEndpoint.recordsPerRead * 22, nil, TLSEndpoint.recordsPerRead * 22])
    }
}
