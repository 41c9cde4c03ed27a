import HTTPMessage
import Testing

@testable import HTTP2

/// Floods of valid frames (RFC 9113 §10.5): each ends the connection at its named limit, and memory stays bounded until then.
struct FloodGuardTests {
    /// Feeds a server until the connection ends. Returns the error, and how many times it took the frames.
    static func flood(
        _ count: Int = 200_000, limits: HTTP2Limits = HTTP2Limits(), start: [UInt8] = [],
        handler: (inout HTTP2ServerMachine) -> Void = { $0.dropEvents() }, frames: (UInt32) -> [UInt8]
    ) throws -> (error: HTTP2Error?, count: Int) {
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface + start)
        for index in 0..<count {
            do throws(HTTP2Error) {
                try server.receive(frames(UInt32(index)))
            } catch {
                return (error, index)
            }
            handler(&server)
            #expect(server.connection.streams.count <= limits.maximumConcurrentStreams)
            #expect(server.outputCount <= limits.maximumQueuedAnswers + 64)
        }
        return (nil, count)
    }

    @Test func rapidReset() throws {
        let result = try Self.flood { Wire.post(1 + 2 * $0) + Wire.reset(1 + 2 * $0) }
        #expect(result.error?.code == .enhanceYourCalm && result.error?.rule == "resets" && result.count == 200)
    }

    /// A WebSocket sends a frame for each message, however small.
    @Test func smallDataOfATunnelIsNoFlood() throws {
        var server = HTTP2ServerMachine(allowsConnectProtocol: true, now: .zero)
        let request = Wire.request("CONNECT") + [(":protocol", "websocket")]
        try server.receive(Wire.clientPreface + Wire.headers(1, ends: false, request))
        try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        var count = 0
        for _ in 0..<30 {
            for _ in 0..<1000 { try server.receive(Wire.data(1, "x")) }
            count += try server.readAll(StreamID(1)).0.count
            _ = server.takeOutput()
        }
        #expect(count == 30_000)
    }

    /// Data pay for the PING that measures them, but not small frames of a tunnel, which are not counted themselves.
    @Test func smallDataOfATunnelPayForNoPing() throws {
        var server = HTTP2ServerMachine(allowsConnectProtocol: true, now: .zero)
        let request = Wire.request("CONNECT") + [(":protocol", "websocket")]
        try server.receive(Wire.clientPreface + Wire.headers(1, ends: false, request))
        try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        var pings = 0
        let error = #expect(throws: HTTP2Error.self) {
            while pings < 2000 {
                try server.receive(Wire.data(1, "x") + Wire.frame(.ping, on: 0, [UInt8](repeating: 0, count: 8)))
                pings += 1
                _ = try server.readAll(StreamID(1))
                _ = server.takeOutput()
            }
        }
        #expect(error?.code == .enhanceYourCalm && error?.rule == "pings" && pings == 1000)
    }

    @Test func rapidResetWithAHandlerThatNeverReturns() throws {
        // The program knows 100 streams, which it does not close. The server then refuses a request itself, which counts as a reset.
        let result = try Self.flood(handler: { _ = $0.takeEvents() }) { index in
            let stream = 1 + 2 * (index / 2)
            return index % 2 == 0 ? Wire.post(stream) : Wire.reset(stream)
        }
        #expect(result.error?.code == .enhanceYourCalm && result.error?.rule == "resets" && result.count == 400)
    }

    /// Each stream is reset once, and the last kind twice: by the client, and because of what the client sends then.
    @Test(arguments: [
        ("window", 200), ("overflow", 200), ("data", 200), ("priority", 200), ("malformed", 200), ("closed", 100),
    ])
    func madeYouReset(_ kind: String, _ count: Int) throws {
        let result = try Self.flood { index in
            let id = 1 + 2 * index
            switch kind {
            case "window": return Wire.post(id) + Wire.windowUpdate(id, 0)
            case "overflow": return Wire.post(id) + Wire.windowUpdate(id, SendWindow.maximum)
            case "data": return Wire.get(id) + Wire.data(id, "x")
            case "priority":
                return Wire.post(id) + Wire.frame(.priority, on: id, [0, 0, UInt8(id >> 8), UInt8(id & 255), 1])
            case "malformed": return Wire.headers(id, ends: true, [(":method", "GET")])
            default: return Wire.post(id) + Wire.reset(id) + Wire.data(id, "x")
            }
        }
        #expect(result.error?.code == .enhanceYourCalm && result.error?.rule == "resets" && result.count == count)
    }

    /// A client that uploads and does not read what this side answers: WINDOW_UPDATE waits like all other answers.
    @Test func uploadsWhoseCreditIsNotRead() throws {
        var limits = HTTP2Limits()
        (limits.initialStreamWindow, limits.maximumStreamWindow, limits.maximumOutput) = (512, 512, 1)
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface + Wire.post(1))
        let data = Wire.data(1, String(repeating: "d", count: 256))
        let error = #expect(throws: HTTP2Error.self) {
            for _ in 0..<20_000 { try server.receive(data.span.bytes, now: .zero) { _, data in data.byteCount } }
        }
        #expect(error?.rule == "maximumOutput" && server.outputCount <= limits.maximumQueuedAnswers + 256)
    }

    @Test func manyStreamsAreRefused() throws {
        let result = try Self.flood(handler: { _ in }) { Wire.post(1 + 2 * $0) }
        #expect(result.error?.rule == "resets" && result.count == 300)
    }

    @Test(arguments: [
        ("settingsFrames", Wire.frames { $0.appendSettings([]) }, 99),
        ("pings", Wire.frames { $0.appendPing(1, isAcknowledgment: false) }, 1_000),
        ("emptyFrames", Wire.data(1, ""), 100),
        ("smallDataFrames", Wire.data(1, "x"), 100_000),
        ("windowUpdates", Wire.windowUpdate(0, 1), 100_000),
        ("windowUpdates", Wire.windowUpdate(1, 1), 100_000),
        ("framesWithoutEffect", Wire.frames { $0.appendPing(1, isAcknowledgment: true) }, 10_000),
        ("framesWithoutEffect", Wire.settingsAcknowledgment, 10_000),
        ("framesWithoutEffect", Wire.frame(.priority, on: 9, [0, 0, 0, 0, 1]), 10_000),
        ("framesWithoutEffect", Wire.frame(FrameKind(rawValue: 99), on: 9, [0]), 10_000),
        ("framesWithoutEffect", Wire.goAway(0), 10_000),
        ("framesWithoutEffect", Wire.frames { $0.appendPriorityUpdate(StreamID(1), "u=1") }, 10_000),
    ])
    func frames(_ rule: String, _ frame: [UInt8], _ count: Int) throws {
        let read = { (server: inout HTTP2ServerMachine) in
            server.dropEvents()
            _ = try? server.readAll(StreamID(1))
            server.didWrite(server.outputCount)
        }
        let result = try Self.flood(start: Wire.post(1), handler: read) { _ in frame }
        #expect(result.error?.code == .enhanceYourCalm && result.error?.rule == rule)
        #expect(result.count == count)
    }

    /// A client that gives back the credit of each 256 bytes at once, as it reads them.
    @Test func creditInSmallPartsIsNoFlood() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface + Wire.get(1))
        try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        let part = Wire.windowUpdate(0, 256) + Wire.windowUpdate(1, 256)
        for _ in 0..<2_000 {
            let sent = try server.send([UInt8](repeating: 0, count: 4096), on: StreamID(1), endsHere: false)
            #expect(sent.isComplete)
            for _ in 0..<16 { try server.receive(part) }
            server.didWrite(server.outputCount)
        }
    }

    /// A client that gives back the credit of what it reads when the whole response has left, and raises windows for responses without DATA.
    @Test func creditForStreamsThatHaveEndedIsNoFlood() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface)
        for index in 0..<60_000 as Range<UInt32> {
            let (id, hasBody) = (1 + 2 * index, index % 2 == 0)
            try server.receive(Wire.get(id) + Wire.windowUpdate(id, 1))
            server.dropEvents()
            try server.respond(StreamID(id), with: HTTPResponse(status: .ok), endsHere: !hasBody, now: .zero)
            if hasBody { _ = try server.send([UInt8](repeating: 0, count: 1024), on: StreamID(id), endsHere: true) }
            server.close(StreamID(id), now: .zero)
            server.didWrite(server.outputCount)
            if hasBody { try server.receive(Wire.windowUpdate(0, 1024) + Wire.windowUpdate(id, 1024)) }
        }
    }

    /// A client that gives up large downloads, of which the rest is on its way.
    @Test func theRestOfAResponseAfterAResetIsNoFlood() throws {
        var client = HTTP2ClientMachine(now: .zero)
        try client.receive(Wire.serverPreface)
        let rest = String(repeating: "r", count: 4096)
        for index in 0..<400 as Range<UInt32> {
            let id = try #require(try client.request(MachinePair.head(), endsHere: true, now: .zero))
            try client.receive(Wire.response(id.rawValue))
            client.close(id, now: .zero)
            for _ in 0..<50 { try client.receive(Wire.data(id.rawValue, rest)) }
            _ = client.takeEvents()
            client.didWrite(client.outputCount)
            #expect(id.rawValue == 1 + 2 * index)
        }
    }

    @Test func aSlowRateIsFine() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface)
        for index in 0..<2000 {
            let id = UInt32(1 + 2 * index)
            let frames = Wire.post(id) + Wire.reset(id) + Wire.frames { $0.appendPing(1, isAcknowledgment: false) }
            try server.receive(frames, now: .milliseconds(110 * index))
            server.dropEvents()
            _ = server.takeOutput()
        }
    }

    @Test func answersThatAreNotReadAreLimited() throws {
        var limits = HTTP2Limits()
        limits.pings = HTTP2Rate(burst: 1_000_000, perSecond: 1)
        let result = try Self.flood(limits: limits) { _ in Wire.frames { $0.appendPing(1, isAcknowledgment: false) } }
        #expect(result.error?.code == .enhanceYourCalm && result.error?.rule == "maximumOutput")
    }

    @Test func requestsWhoseAnswersAreNotReadAreLimited() throws {
        let answer = { (server: inout HTTP2ServerMachine) in
            while let event = server.nextEvent() {
                guard case .request(let stream, _) = event else { continue }
                try? server.respond(stream, with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
                server.close(stream, now: .zero)
            }
        }
        let result = try Self.flood(handler: answer) { Wire.get(1 + 2 * $0) }
        #expect(result.error?.code == .enhanceYourCalm && result.error?.rule == "maximumOutput")
        var limits = HTTP2Limits()
        limits.fieldSection.listSize = 10
        limits.resets = HTTP2Rate(burst: 1_000_000, perSecond: 1)
        let tooLarge = try Self.flood(limits: limits) { Wire.get(1 + 2 * $0) }
        #expect(tooLarge.error?.code == .enhanceYourCalm && tooLarge.error?.rule == "maximumOutput")
    }

    @Test func aDriverThatStopsReadingKeepsTheConnection() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface)
        for index in 0..<20_000 as Range<UInt32> {
            if server.isOutputFull { server.didWrite(server.outputCount) }
            let stream = StreamID(1 + 2 * index)
            try server.receive(Wire.get(stream.rawValue))
            server.dropEvents()
            try server.respond(stream, with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
            server.close(stream, now: .zero)
        }
        // Data alone never makes a driver stop reading: two sides that both send would wait for each other.
        _ = server.takeOutput()
        try server.receive(Wire.windowUpdate(0, 1 << 20) + Wire.post(40_001) + Wire.windowUpdate(40_001, 1 << 20))
        try server.respond(StreamID(40_001), with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        let sent = try server.send([UInt8](repeating: 0, count: 1 << 20), on: StreamID(40_001), endsHere: true)
        #expect(!sent.isComplete && !server.isOutputFull)
    }

    @Test func requestsAfterTheLastGoAwayAreCounted() throws {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface)
        server.shutDown(now: .zero)
        try server.receive(Wire.frames { $0.appendPing(1, isAcknowledgment: true) })
        let error = #expect(throws: HTTP2Error.self) {
            for index in 0..<20_000 as Range<UInt32> { try server.receive(Wire.get(1 + 2 * index)) }
        }
        #expect(error?.rule == "framesWithoutEffect")
    }

    @Test func clientsAreProtectedAsWell() throws {
        for (rule, frame) in [
            ("settingsFrames", Wire.frames { $0.appendSettings([]) }),
            ("pings", Wire.frames { $0.appendPing(1, isAcknowledgment: false) }),
            ("framesWithoutEffect", Wire.frame(FrameKind(rawValue: 0x0A), on: 0)),
            ("maximumInterimResponses", Wire.response(1, "103")),
        ] {
            var client = HTTP2ClientMachine(now: .zero)
            _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
            try client.receive(Wire.serverPreface)
            var error: HTTP2Error?
            for _ in 0..<20_000 where error == nil {
                do throws(HTTP2Error) { try client.receive(frame) } catch let thrown { error = thrown }
                for case .reset(_, let failure) in client.takeEvents() {
                    if case .violation(let violation) = failure.cause { error = violation }
                }
                _ = client.takeOutput()
            }
            #expect(error?.rule == rule && error?.code == .enhanceYourCalm)
        }
    }

    @Test func settingsAndGoAwaysThatAreNotTakenLeaveNothingBehind() throws {
        var client = HTTP2ClientMachine(now: .zero)
        try client.receive(Wire.serverPreface)
        for index in 0..<1000 as Range<UInt32> {
            let frames = Wire.frames { $0.appendSettings([]) } + Wire.goAway(0x7FFF_FFFF - index)
            try client.receive(frames, now: .seconds(Int(index)))
            _ = client.takeOutput()
        }
        #expect(client.connection.events.count == 3)
    }
}

extension HTTP2ServerMachine {
    /// Takes all events, and closes the streams that have ended, as a program does whose handlers return at once.
    mutating func dropEvents() {
        while let event = nextEvent() {
            if case .reset(let stream, _) = event { close(stream, now: .zero) }
        }
    }
}
