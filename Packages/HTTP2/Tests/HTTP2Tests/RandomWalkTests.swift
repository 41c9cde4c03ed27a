import HTTP2Testing
import HTTPMessage
import Testing

@testable import HTTP2

/// A client and a server do at random what programs can do, and bytes are carried in random pieces. Windows, tables and credit must
/// agree at each moment of silence, and at the end nothing is left.
struct RandomWalkTests {
    @Test(arguments: 1...12) func creditGivenEqualsBytesReceived(seed: UInt64) throws {
        var walk = RandomWalk(seed: seed)
        for _ in 0..<400 {
            try walk.step()
            try walk.carry()
            walk.check()
        }
        try walk.finish()
        walk.check()
    }
}

private struct RandomWalk: ~Copyable {
    private var random: SeededRandom
    private var pair: MachinePair
    private var now = Duration.zero
    private var clientStreams: [StreamID] = []
    private var serverStreams: [StreamID] = []

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        var limits = HTTP2Limits()
        limits.initialStreamWindow = [20_000, 65_535, 100_000][Int(seed % 3)]
        limits.maximumConcurrentStreams = 8
        limits.resets = HTTP2Rate(burst: 1_000_000, perSecond: 1)
        pair = MachinePair(client: limits, server: limits)
    }

    mutating func step() throws {
        now += .microseconds(Int(random.below(3000)))
        switch random.below(10) {
        case 0, 1:
            let ends = random.below(2) == 0
            guard let stream = try pair.client.request(MachinePair.head(.post), endsHere: ends, now: now) else {
                return
            }
            clientStreams.append(stream)
        case 2, 3: sendFromClient()
        case 4:
            guard let stream = pick(serverStreams) else { return }
            try? pair.server.respond(stream, with: HTTPResponse(status: .ok), endsHere: random.below(4) == 0, now: now)
        case 5, 6: sendFromServer()
        case 7:
            guard let stream = pick(clientStreams), random.below(3) == 0 else { return }
            clientStreams.removeAll { $0 == stream }
            pair.client.close(stream, now: now)
        case 8:
            guard let stream = pick(serverStreams), random.below(3) == 0 else { return }
            serverStreams.removeAll { $0 == stream }
            pair.server.close(stream, code: random.below(2) == 0 ? nil : .internalError, now: now)
        default: try read(all: random.below(3) == 0)
        }
    }

    private mutating func sendFromClient() {
        guard let stream = pick(clientStreams) else { return }
        let bytes = [UInt8](repeating: 1, count: Int(random.below(40_000)))
        _ = try? pair.client.send(bytes, on: stream, endsHere: random.below(5) == 0, now: now)
    }

    private mutating func sendFromServer() {
        guard let stream = pick(serverStreams) else { return }
        let bytes = [UInt8](repeating: 2, count: Int(random.below(40_000)))
        _ = try? pair.server.send(bytes, on: stream, endsHere: random.below(5) == 0, now: now)
    }

    private mutating func read(all: Bool) throws {
        for stream in clientStreams where all || random.below(2) == 0 { _ = try pair.client.readAll(stream, now: now) }
        for stream in serverStreams where all || random.below(2) == 0 { _ = try pair.server.readAll(stream, now: now) }
    }

    private mutating func pick(_ streams: [StreamID]) -> StreamID? {
        streams.isEmpty ? nil : streams[Int(random.below(UInt64(streams.count)))]
    }

    /// Carries all bytes, in pieces, and takes all events.
    mutating func carry() throws {
        while pair.client.outputCount + pair.server.outputCount > 0 {
            let size = random.below(4) == 0 ? Int(1 + random.below(50)) : .max
            try pair.server.receive(pair.client.takeOutput(), inPiecesOf: size, now: now)
            try pair.client.receive(pair.server.takeOutput(), inPiecesOf: size, now: now)
            while let event = pair.server.nextEvent() {
                if case .request(let stream, _) = event { serverStreams.append(stream) }
            }
            while pair.client.nextEvent() != nil {}
        }
    }

    func check() {
        pair.client.connection.checkInvariants("client")
        pair.server.connection.checkInvariants("server")
        let (client, server) = (pair.client.windows, pair.server.windows)
        #expect(client.send == server.receive && server.send == client.receive)
        for stream in clientStreams {
            if let sent = pair.client.sendWindow(of: stream), let received = pair.server.receiveWindow(of: stream) {
                #expect(sent == received)
            }
            if let sent = pair.server.sendWindow(of: stream), let received = pair.client.receiveWindow(of: stream) {
                #expect(sent == received)
            }
        }
    }

    /// Reads and closes everything: all that was received was given back.
    mutating func finish() throws {
        try read(all: true)
        for stream in clientStreams { pair.client.close(stream, now: now) }
        try carry()
        for stream in serverStreams { pair.server.close(stream, now: now) }
        clientStreams = []
        try carry()
        for connection in 0..<2 {
            let window =
                connection == 0 ? pair.client.connection.receiveWindow : pair.server.connection.receiveWindow
            #expect(window.unread == 0 && window.size == HTTP2Limits().connectionWindowReserve)
            #expect(window.available + window.pending == window.size)
        }
        #expect(pair.client.connection.streams.count == 0 && pair.server.connection.streams.count == 0)
        #expect(pair.client.connection.openCount == 0 && pair.server.connection.openCount == 0)
    }
}

extension SeededRandom {
    fileprivate mutating func below(_ limit: UInt64) -> UInt64 { UInt64.random(in: 0..<limit, using: &self) }
}
