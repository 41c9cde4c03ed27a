import HTTPMessage
import Testing

@testable import HTTP2

/// Received data, and the credit for it (RFC 9113 §5.2, §6.1 and §6.9); first, data that the program takes from the receive buffer, without
/// ``HTTP2Machine/read(_:into:now:)``.
struct DataTests {
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
        let before = Self.given(client)
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
        // The credit is for what was taken, and for what the windows have grown by.
        let after = Self.given(client)
        #expect(onStream == received + after.stream - before.stream)
        #expect(onConnection == received + after.connection - before.connection)
        let (stream, reserve) = (client.connection.streams[0].receiveWindow, HTTP2Limits().connectionWindowReserve)
        #expect(stream.pending < stream.size / 2 && client.connection.receiveWindow.pending < reserve / 2)
        #expect(client.connection.streams[0].body.capacity == 0)
    }

    /// The parts of the windows that the server knows of. Nothing is unread.
    private static func given(_ client: borrowing HTTP2ClientMachine) -> (stream: Int64, connection: Int64) {
        (client.connection.streams[0].receiveWindow.available, client.connection.receiveWindow.available)
    }

    @Test func nothingIsOfferedForAStreamThatHasEnded() throws {
        var client = try Self.client()
        client.close(StreamID(1), now: .zero)
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

    @Test func aStreamThatIsNotReadDoesNotStarveAnother() throws {
        var pair = MachinePair()
        let (slow, fast) = (try pair.request(), try pair.request())
        try pair.server.respond(slow, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        try pair.server.respond(fast, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        let total = 20 * 1024 * 1024
        let chunk = [UInt8](repeating: 7, count: 65_536)
        var (sentSlow, sentFast, read) = (0, 0, 0)
        while read < total {
            if sentSlow < total { sentSlow += try pair.server.send(chunk, on: slow, endsHere: false).count }
            if sentFast < total { sentFast += try pair.server.send(chunk, on: fast, endsHere: false).count }
            try pair.exchange()
            let (bytes, _) = try pair.client.readAll(fast)
            read += bytes.count
            try pair.exchange()
            _ = pair.server.nextWritable()
            #expect(Int64(sentFast - read) <= HTTP2Limits().maximumStreamWindow)
        }
        #expect(sentSlow == Int(HTTP2Limits().initialStreamWindow))
    }

    @Test func windowsGrowWhileTheReaderKeepsUp() throws {
        var client = HTTP2ClientMachine(now: .zero)
        let stream = try #require(try client.request(MachinePair.head(), endsHere: true, now: .zero))
        // A round trip takes 20 ms.
        try client.receive(Wire.serverPreface + Wire.response(1), now: .milliseconds(20))
        var now = Duration.milliseconds(20)
        let frame = Wire.frame(.data, on: 1, [UInt8](repeating: 0, count: 16_384))
        let index = try #require(client.connection.streams.index(of: stream))
        for _ in 0..<3000 {
            now += .microseconds(100)
            try client.receive(frame, now: now)
            _ = try client.readAll(stream, now: now)
        }
        let grown = client.connection.streams[index].receiveWindow.size
        #expect(grown == HTTP2Limits().maximumStreamWindow)
        for _ in 0..<3000 {
            now += .milliseconds(10)
            try client.receive(frame, now: now)
            _ = try client.readAll(stream, now: now)
        }
        #expect(client.connection.streams[index].receiveWindow.size == grown, "a slow transfer needs no larger window")
        client.connection.checkInvariants("after growing")
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
        #expect(server.connection.receiveWindow.available == 65_535)
    }
}
