import HTTPMessage
import Testing

@testable import HTTP2

/// Streams from opening to closing (RFC 9113 §5.1 and §5.4.2): they end in every state and in every order, and the windows, events and
/// memory are checked after each step.
struct StreamsTests {
    /// The state of the messages when the endings begin.
    enum Beginning: CaseIterable {
        case requestBegun, requestBody, requestEnded, responseBegun, responseBody, responseUnread
    }

    enum Ending: CaseIterable {
        case clientEnds, serverEnds, clientResets, serverResets, clientShutsDown, serverShutsDown, clientFails,
            serverFails
        case clientIsGone, serverIsGone
    }

    @Test(arguments: Beginning.allCases) func everyOrder(_ beginning: Beginning) throws {
        for first in Ending.allCases {
            for second in Ending.allCases where second != first {
                for third in Ending.allCases where third != second {
                    var model = EndingModel()
                    try model.begin(beginning)
                    for ending in [first, second, third] {
                        model.apply(ending)
                        model.check("\(beginning), \(first), \(second), \(third) at \(ending)")
                    }
                    model.closeAll()
                    model.check("\(beginning), \(first), \(second), \(third) at the end")
                }
            }
        }
    }

    @Test func room() throws {
        var limits = HTTP2Limits()
        limits.maximumConcurrentStreams = 2
        var pair = MachinePair(server: limits)
        #expect(pair.client.room == 100)
        try pair.exchange()
        #expect(pair.client.room == 2)
        let first = try pair.request()
        _ = try pair.request()
        #expect(try pair.client.request(MachinePair.head(), endsHere: true, now: .zero) == nil)
        try pair.server.respond(first, with: HTTPResponse(status: .noContent), endsHere: true, now: .zero)
        pair.server.close(first, now: .zero)
        try pair.exchange()
        #expect(pair.client.takeEvents().contains(.room) && pair.client.room == 1)
    }

    @Test func identifiersRunOut() throws {
        var client = HTTP2ClientMachine(now: .zero)
        client.connection.nextStream = StreamID(0x7FFF_FFFD)
        #expect(try client.request(MachinePair.head(), endsHere: true, now: .zero) == StreamID(0x7FFF_FFFD))
        #expect(try client.request(MachinePair.head(), endsHere: true, now: .zero) == nil)
        #expect(client.isDraining && client.room == 0)
    }

    @Test func whatFollowsAResetIsIgnored() throws {
        var pair = MachinePair()
        let stream = try pair.request(MachinePair.head(.post), endsHere: false)
        _ = pair.server.takeEvents()
        pair.server.close(stream, code: .cancel, now: .zero)
        _ = pair.server.takeOutput()
        // Data, trailers that fill the dynamic table, and credit were on their way.
        _ = try pair.client.send([1, 2, 3], on: stream, endsHere: false)
        try pair.client.sendTrailers(["x-indexed": "1"], on: stream, now: .zero)
        try pair.server.receive(pair.client.takeOutput() + Wire.windowUpdate(1, 5))
        #expect(pair.server.takeEvents().isEmpty && pair.server.outputCount == 0)
        _ = try pair.request(MachinePair.head(.get, "/", ["X-Indexed": "1"]))
        guard
            case .request(_, let request) = pair.server.takeEvents().last(where: {
                if case .request = $0 { true } else { false }
            })
        else { throw MachinePair.NoRoom() }
        #expect(request.head.fields["x-indexed"] == "1")
    }

    @Test(arguments: [
        (Wire.response(2), "RFC 9113 §5.1.1"), (Wire.response(3), "RFC 9113 §5.1.1"),
        (Wire.data(3, "x"), "RFC 9113 §5.1"), (Wire.reset(2), "RFC 9113 §5.1"),
        (Wire.windowUpdate(3, 1), "RFC 9113 §5.1"),
    ])
    func aServerOpensNoStreams(_ frames: [UInt8], _ rule: String) throws {
        var client = HTTP2ClientMachine(now: .zero)
        _ = try client.request(MachinePair.head(), endsHere: true, now: .zero)
        let error = #expect(throws: HTTP2Error.self) { try client.receive(Wire.serverPreface + frames) }
        #expect(error?.code == .protocolError && error?.rule == rule)
    }
}

private struct EndingModel: ~Copyable {
    var pair = MachinePair(client: EndingModel.limits, server: EndingModel.limits)
    var stream = StreamID(1)
    var other = StreamID(3)
    var clientEnds: [StreamID: Int] = [:]
    var serverEnds: [StreamID: Int] = [:]
    var closedByClient: Set<StreamID> = []
    var closedByServer: Set<StreamID> = []
    var isCut = false

    /// A window below the initial value of 65,535 shrinks when the settings are acknowledged.
    static var limits: HTTP2Limits {
        var limits = HTTP2Limits()
        limits.initialStreamWindow = 20_000
        return limits
    }

    /// Two streams: one that ends, and one that goes on.
    mutating func begin(_ beginning: StreamsTests.Beginning) throws {
        stream = try pair.request(MachinePair.head(.post), endsHere: false)
        other = try pair.request(MachinePair.head(.post), endsHere: false)
        if beginning == .requestBegun { return carry() }
        for id in [stream, other] { _ = try pair.client.send(body, on: id, endsHere: false) }
        try pair.exchange()
        if beginning == .requestBody { return carry() }
        for id in [stream, other] { _ = try pair.client.send(body, on: id, endsHere: true) }
        if beginning == .requestEnded { return carry() }
        try pair.exchange()
        for id in [stream, other] {
            try pair.server.respond(id, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
        }
        if beginning == .responseBegun { return carry() }
        for id in [stream, other] {
            // More than the window: the rest waits for credit.
            let count = beginning == .responseBody ? 300 : 30_000
            _ = try pair.server.send([UInt8](repeating: 2, count: count), on: id, endsHere: false)
        }
        carry()
    }

    private var body: [UInt8] { [UInt8](repeating: 1, count: 5000) }

    mutating func apply(_ ending: StreamsTests.Ending) {
        switch ending {
        case .clientEnds: _ = try? pair.client.send([3], on: stream, endsHere: true)
        case .serverEnds:
            if (try? pair.server.respond(stream, with: HTTPResponse(status: .ok), endsHere: true, now: .zero)) == nil {
                _ = try? pair.server.send([3], on: stream, endsHere: true)
            }
        case .clientResets:
            closedByClient.insert(stream)
            pair.client.close(stream, now: .zero)
        case .serverResets:
            closedByServer.insert(stream)
            pair.server.close(stream, code: .internalError, now: .zero)
        case .clientShutsDown: pair.client.shutDown(now: .zero)
        case .serverShutsDown: pair.server.shutDown(now: .zero)
        case .clientFails: pair.client.abort(.internalError, now: .zero)
        case .serverFails: pair.server.abort(.internalError, now: .zero)
        case .clientIsGone:
            try? pair.server.receiveEnd(now: .zero)
            isCut = true
        case .serverIsGone:
            try? pair.client.receiveEnd(now: .zero)
            isCut = true
        }
        carry()
    }

    /// Carries bytes until both are silent; a side that has failed only sends what it has.
    mutating func carry() {
        var quiet = 0
        while quiet < 2 {
            let (toServer, toClient) = (pair.client.takeOutput(), pair.server.takeOutput())
            quiet = toServer.isEmpty && toClient.isEmpty ? quiet + 1 : 0
            if !toServer.isEmpty { try? pair.server.receive(toServer) }
            if !toClient.isEmpty { try? pair.client.receive(toClient) }
            if pair.client.failure != nil || pair.server.failure != nil { isCut = true }
            while let event = pair.client.nextEvent() { Self.count(event, &clientEnds) }
            while let event = pair.server.nextEvent() { Self.count(event, &serverEnds) }
        }
    }

    private static func count(_ event: HTTP2Event, _ ends: inout [StreamID: Int]) {
        switch event {
        case .ended(let stream), .reset(let stream, _): ends[stream, default: 0] += 1
        default: break
        }
    }

    mutating func closeAll() {
        for id in [stream, other] {
            _ = try? pair.client.readAll(id)
            _ = try? pair.server.readAll(id)
            carry()
            closedByClient.insert(id)
            closedByServer.insert(id)
            pair.client.close(id, now: .zero)
            pair.server.close(id, now: .zero)
            carry()
        }
        #expect(pair.client.connection.streams.count == 0 && pair.server.connection.streams.count == 0)
        #expect(pair.client.connection.receiveWindow.unread == 0 && pair.server.connection.receiveWindow.unread == 0)
        #expect(pair.client.connection.receiveWindow.size == HTTP2Limits().connectionWindowReserve)
        #expect(pair.server.connection.receiveWindow.size == HTTP2Limits().connectionWindowReserve)
    }

    func check(_ place: String) {
        pair.client.connection.checkInvariants(place)
        pair.server.connection.checkInvariants(place)
        // A message ends once. A server's request that ended can still be reset before it is answered.
        for (id, count) in clientEnds { require(count == 1, "client, stream \(id): \(place)") }
        for (id, count) in serverEnds { require(count <= 2, "server, stream \(id): \(place)") }
        if isCut {
            for id in [stream, other] where pair.client.failure != nil && !closedByClient.contains(id) {
                require(clientEnds[id] == 1, "the client does not know the end of \(id): \(place)")
            }
            return
        }
        // What one side may send is what the other side allows: credit given equals bytes received.
        let (client, server) = (pair.client.windows, pair.server.windows)
        require(client.send == server.receive && server.send == client.receive, "connection: \(place)")
        for id in [stream, other] {
            if let sent = pair.client.sendWindow(of: id), let received = pair.server.receiveWindow(of: id) {
                require(sent == received, "client to server, \(id): \(place)")
            }
            if let sent = pair.server.sendWindow(of: id), let received = pair.client.receiveWindow(of: id) {
                require(sent == received, "server to client, \(id): \(place)")
            }
        }
    }
}

extension HTTP2Connection {
    /// Checks what must hold between two calls.
    func checkInvariants(_ place: String) {
        let all = streams.indices.map { streams[$0] }
        let isConsistent = { (window: ReceiveWindow) in
            window.available + window.unread + window.pending == window.size && window.unread >= 0
        }
        require(isConsistent(receiveWindow), "connection's window: \(place)")
        require(all.allSatisfy { isConsistent($0.receiveWindow) }, "streams' windows: \(place)")
        let sum = all.reduce(limits.connectionWindowReserve) { $0 + $1.receiveWindow.size }
        require(receiveWindow.size == sum, "the connection's window follows the streams: \(place)")
        if dataFrame == nil {
            let unread = all.reduce(0) { $0 + $1.receiveWindow.unread }
            require(receiveWindow.unread == unread, "unread: \(place)")
            require(all.allSatisfy { $0.receiveWindow.unread == Int64($0.body.count) }, "unread and held: \(place)")
        }
        require(openCount == all.count { $0.state != .closed }, "open streams: \(place)")
        let waiting = order.streams
        require(waiting.allSatisfy { id in all.contains { $0.id == id && $0.state != .closed } }, "order: \(place)")
        require(all.allSatisfy { $0.body.capacity <= max($0.receiveWindow.size, 16 * 1024) }, "memory: \(place)")
    }
}

extension HTTP2Machine {
    var windows: (send: Int64, receive: Int64) {
        (connection.sendWindow.available, connection.receiveWindow.available)
    }

    func sendWindow(of id: StreamID) -> Int64? { connection.sendWindow(of: id) }
    func receiveWindow(of id: StreamID) -> Int64? { connection.receiveWindow(of: id) }
}

extension HTTP2Connection {
    /// The window of a stream that this side may use; nil if it cannot send on it.
    func sendWindow(of id: StreamID) -> Int64? {
        guard let index = streams.index(of: id), streams[index].outgoing != .ended else { return nil }
        return streams[index].sendWindow.available
    }

    /// The window of a stream that the peer may use; nil if it cannot send on it.
    func receiveWindow(of id: StreamID) -> Int64? {
        guard let index = streams.index(of: id), streams[index].incoming != .ended else { return nil }
        return streams[index].receiveWindow.available
    }
}

/// `#expect` for conditions that are checked many thousand times.
private func require(_ condition: Bool, _ comment: @autoclosure () -> String) {
    if !condition { Issue.record("\(comment())") }
}
