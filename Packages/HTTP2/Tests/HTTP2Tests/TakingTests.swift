import HTTPMessage
import Testing

@testable import HTTP2

/// Data that the program takes from the receive buffer, without ``HTTP2Machine/read(_:into:now:)``.
struct TakingTests {
    /// A client whose response has begun, and whose events were taken.
    private static func client() throws -> HTTP2ClientMachine {
        var client = HTTP2ClientMachine(now: .zero)
        _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
        try client.receive(Wire.serverPreface + Wire.response(1))
        _ = client.takeEvents()
        return client
    }

    @Test func allIsTaken() throws {
        var client = try Self.client()
        var taken: [UInt8] = []
        let frames = Wire.data(1, "hello, ") + Wire.frame(.data, .padded, on: 1, [3] + Array("wor".utf8) + [0, 0, 0])
        try client.receive((frames + Wire.data(1, "ld", ends: true)).span.bytes, now: .zero) { stream, data in
            #expect(stream == StreamID(1))
            data.withUnsafeBytes { taken += $0 }
            return data.byteCount
        }
        #expect(taken == Array("hello, world".utf8))
        #expect(client.takeEvents() == [.ended(StreamID(1))], "nothing is readable")
        #expect(try client.readAll(StreamID(1)) == ([], .ended))
        client.connection.checkInvariants("taken")
    }

    @Test func whatIsNotTakenIsReadInOrder() throws {
        let text = Array("abcdefghijklmnopqrstuvwxyz".utf8)
        let frames = Wire.data(1, "abcdefghijkl") + Wire.data(1, "mnopqrstuvwxyz", ends: true)
        for size in 1...frames.count {
            for limit in 0...text.count {
                var client = try Self.client()
                var all: [UInt8] = []
                for start in stride(from: 0, to: frames.count, by: size) {
                    let piece = Array(frames[start..<min(start + size, frames.count)])
                    try client.receive(piece.span.bytes, now: .zero) { _, data in
                        let count = min(data.byteCount, limit - all.count)
                        data.withUnsafeBytes { all += $0[..<count] }
                        return count
                    }
                }
                #expect(all.count <= limit)
                let (rest, outcome) = try client.readAll(StreamID(1))
                #expect(all + rest == text && outcome == .ended)
                let readable = client.takeEvents().count { $0 == .readable(StreamID(1)) }
                #expect(readable == (rest.isEmpty ? 0 : 1))
                client.connection.checkInvariants("\(size), \(limit)")
            }
        }
    }

    @Test func whatIsTakenIsGivenBackAsCredit() throws {
        var client = try Self.client()
        _ = client.takeOutput()
        let frame = Wire.frame(.data, on: 1, [UInt8](repeating: 0, count: 16_384))
        for _ in 0..<1000 {
            try client.receive(frame.span.bytes, now: .zero) { $1.byteCount }
            client.connection.checkInvariants("taken")
        }
        var (onStream, onConnection) = (Int64(0), Int64(0))
        for case .windowUpdate(let stream, let increment) in try client.takeParts() {
            if stream == .connection { onConnection += Int64(increment) } else { onStream += Int64(increment) }
        }
        let received = Int64(1000 * 16_384)
        #expect(received - onStream < 256 * 1024 && received - onConnection < 1024 * 1024)
        #expect(client.connection.streams[0].body.capacity == 0)
    }

    @Test func nothingIsOfferedForAStreamThatHasEnded() throws {
        var client = try Self.client()
        client.close(StreamID(1))
        try client.receive(Wire.data(1, "late").span.bytes, now: .zero) { _, _ in
            Issue.record("data of a closed stream")
            return 0
        }
    }

    @Test func whatWasTakenBeforeAnErrorRemainsTaken() throws {
        var client = try Self.client()
        var taken = 0
        let frames = Wire.data(1, "abc") + Wire.frame(.pushPromise, .endHeaders, on: 1, [0, 0, 0, 2])
        let error = #expect(throws: HTTP2Error.self) {
            try client.receive(frames.span.bytes, now: .zero) {
                taken += $1.byteCount
                return $1.byteCount
            }
        }
        #expect(error?.rule == "RFC 9113 §8.4" && taken == 3)
        client.connection.checkInvariants("failed")
    }
}
