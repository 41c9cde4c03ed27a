import Glibc
import HTTPMessage
import Testing

@testable import HTTP2

struct StreamStateTests {
    /// RFC 9113 §5.1 in words, written independently of the table: what an endpoint must do with a frame in a state.
    private func expectation(
        _ state: StreamState, _ event: StreamState.Event, _ direction: StreamState.Direction
    ) -> StreamState.Transition {
        let isHeaders = event == .headers || event == .headersEnd
        let isMessage = isHeaders || event == .data || event == .dataEnd
        let ends = event == .headersEnd || event == .dataEnd
        switch (state, direction) {
        case (.idle, .receive):
            guard isHeaders else { return .connectionError(.protocolError) }
            return .to(ends ? .halfClosedRemote : .open)
        case (.idle, .send):
            guard isHeaders else { return .forbidden }
            return .to(ends ? .halfClosedLocal : .open)
        case (.closed, .receive):
            if isHeaders { return .connectionError(.streamClosed) }
            return isMessage ? .streamError(.streamClosed) : .ignore
        // RST_STREAM answers a frame that came late.
        case (.closed, .send): return event == .resetStream ? .to(.closed) : .forbidden
        // The peer has sent everything, and needs no credit.
        case (.halfClosedRemote, .send) where event == .windowUpdate: return .forbidden
        default: break
        }
        if event == .resetStream { return .to(.closed) }
        if event == .windowUpdate { return .to(state) }
        let hasEnded = direction == .receive ? state == .halfClosedRemote : state == .halfClosedLocal
        if hasEnded { return direction == .receive ? .streamError(.streamClosed) : .forbidden }
        guard ends else { return .to(state) }
        if state == .open { return .to(direction == .receive ? .halfClosedRemote : .halfClosedLocal) }
        return .to(.closed)
    }

    @Test func eachCell() {
        var count = 0
        for state in StreamState.allCases {
            for event in StreamState.Event.allCases {
                for direction in StreamState.Direction.allCases {
                    let (found, expected) = (state.transition(event, direction), expectation(state, event, direction))
                    #expect(found == expected, "\(state), \(event), \(direction)")
                    count += 1
                }
            }
        }
        #expect(count == 60)
    }

    /// The page "The states of a stream" shows this table.
    @Test func thePageShowsTheTable() throws {
        let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let file = try #require(fopen("/\(package)/Sources/HTTP2/HTTP2.docc/StreamStates.md", "r"))
        defer { fclose(file) }
        var rows: [String] = []
        var line = [CChar](repeating: 0, count: 10_000)
        while fgets(&line, CInt(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if StreamState.allCases.contains(where: { text.hasPrefix("| \($0) |") }) { rows.append(text) }
        }
        var expected: [String] = []
        for direction in StreamState.Direction.allCases {
            for state in StreamState.allCases {
                let cells = StreamState.Event.allCases.map { Self.text(state.transition($0, direction), from: state) }
                expected.append("| \(state) | \(cells.joined(separator: " | ")) |\n")
            }
        }
        #expect(rows == expected)
    }

    private static func text(_ transition: StreamState.Transition, from state: StreamState) -> String {
        switch transition {
        case .to(state) where state != .open: "same"
        case .to(let next): "\(next)"
        case .ignore: "·"
        case .streamError(let code): "stream \(code)"
        case .connectionError(let code): "conn \(code)"
        case .forbidden: "–"
        }
    }

    @Test func sidesMirrorEachOther() {
        let mirror: [StreamState: StreamState] = [
            .idle: .idle, .open: .open, .halfClosedLocal: .halfClosedRemote, .halfClosedRemote: .halfClosedLocal,
            .closed: .closed,
        ]
        for state in StreamState.allCases {
            for event in StreamState.Event.allCases {
                guard case .to(let sent) = state.transition(event, .send), let seen = mirror[state] else { continue }
                // RST_STREAM that answers a late frame finds a stream that the peer has closed as well.
                if state == .closed { continue }
                #expect(seen.transition(event, .receive) == .to(mirror[sent] ?? .idle), "\(state), \(event)")
            }
        }
    }
}

/// A side of a connection as the tests of the table use it: both are driven through the same states.
private protocol SideOfTheTable: HTTP2Side {
    static var role: HTTP2Role { get }
    static func machine(_ limits: HTTP2Limits) -> HTTP2Machine<Self>
    /// The HEADERS of the peer with which its message begins, which the first frames on stream 1 contain.
    static func peerHead(ends: Bool) -> [UInt8]
    /// Sends the head of this side's message.
    static func sendHead(_ machine: inout HTTP2Machine<Self>, endsHere: Bool) throws
    /// Brings stream 1 to a state. Content may follow in each direction that the state leaves open.
    static func enter(_ state: StreamState, _ machine: inout HTTP2Machine<Self>, peerData: [UInt8]) throws
}

extension HTTP2ServerSide: SideOfTheTable {
    fileprivate static let role = HTTP2Role.server
    fileprivate static func machine(_ limits: HTTP2Limits) -> HTTP2ServerMachine {
        HTTP2ServerMachine(limits: limits, now: .zero)
    }
    fileprivate static func peerHead(ends: Bool) -> [UInt8] { ends ? Wire.get(1) : Wire.post(1) }
    fileprivate static func sendHead(_ server: inout HTTP2ServerMachine, endsHere: Bool) throws {
        try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: endsHere, now: .zero)
    }
    fileprivate static func enter(
        _ state: StreamState, _ server: inout HTTP2ServerMachine, peerData: [UInt8]
    ) throws {
        try server.receive(Wire.clientPreface)
        if state == .idle { return }
        try server.receive(Wire.post(1) + peerData)
        if state == .halfClosedRemote || state == .closed { try server.receive(Wire.data(1, "", ends: true)) }
        try sendHead(&server, endsHere: state == .halfClosedLocal || state == .closed)
    }
}

extension HTTP2ClientSide: SideOfTheTable {
    fileprivate static let role = HTTP2Role.client
    fileprivate static func machine(_ limits: HTTP2Limits) -> HTTP2ClientMachine {
        HTTP2ClientMachine(limits: limits, now: .zero)
    }
    fileprivate static func peerHead(ends: Bool) -> [UInt8] { Wire.response(1, ends: ends) }
    fileprivate static func sendHead(_ client: inout HTTP2ClientMachine, endsHere: Bool) throws {
        _ = try client.request(MachinePair.head(.put), endsHere: endsHere, now: .zero)
    }
    fileprivate static func enter(
        _ state: StreamState, _ client: inout HTTP2ClientMachine, peerData: [UInt8]
    ) throws {
        try client.receive(Wire.serverPreface)
        if state == .idle { return }
        try sendHead(&client, endsHere: state == .halfClosedLocal || state == .closed)
        try client.receive(Wire.response(1) + peerData)
        if state == .halfClosedRemote || state == .closed { try client.receive(Wire.data(1, "", ends: true)) }
    }
}

/// Both sides do with each frame, in each state, what the table says.
struct StreamStateOfMachineTests {
    /// A machine whose stream 1 is in a state.
    private static func machine<Side: SideOfTheTable>(
        _ state: StreamState, limits: HTTP2Limits = HTTP2Limits(), peerData: [UInt8] = []
    ) throws -> HTTP2Machine<Side> {
        var machine = Side.machine(limits)
        try Side.enter(state, &machine, peerData: peerData)
        _ = machine.takeEvents()
        _ = machine.takeOutput()
        #expect(machine.state == state)
        return machine
    }

    private static func frame<Side: SideOfTheTable>(
        _ event: StreamState.Event, _ state: StreamState, _: Side.Type
    ) -> [UInt8] {
        switch event {
        // The second HEADERS of a message are trailers.
        case .headers: state == .idle ? Side.peerHead(ends: false) : Wire.headers(1, ends: false, [("x", "y")])
        case .headersEnd: state == .idle ? Side.peerHead(ends: true) : Wire.headers(1, ends: true, [("x", "y")])
        case .data: Wire.data(1, "x")
        case .dataEnd: Wire.data(1, "x", ends: true)
        case .resetStream: Wire.reset(1)
        case .windowUpdate: Wire.windowUpdate(1, 1)
        }
    }

    @Test(arguments: StreamState.allCases, StreamState.Event.allCases)
    func received(_ state: StreamState, _ event: StreamState.Event) throws {
        try received(state, event, HTTP2ServerSide.self)
        try received(state, event, HTTP2ClientSide.self)
    }

    private func received<Side: SideOfTheTable>(
        _ state: StreamState, _ event: StreamState.Event, _ side: Side.Type
    ) throws {
        var machine: HTTP2Machine<Side> = try Self.machine(state)
        var error: HTTP2Error?
        do throws(HTTP2Error) { try machine.receive(Self.frame(event, state, side)) } catch let thrown {
            error = thrown
        }
        var reset: ErrorCode?
        for case .resetStream(_, let code) in try machine.takeParts() { reset = code }
        switch state.transition(event, .receive) {
        case .connectionError(let code): #expect(error?.code == code && error?.rule == "RFC 9113 §5.1")
        case .streamError(let code): #expect(error == nil && reset == code)
        case .ignore: #expect(error == nil && reset == nil)
        case .to where state == .idle && Side.role == .client:
            // The state allows it, but not the number: it is not a server's (RFC 9113 §5.1.1).
            #expect(error?.code == .protocolError && error?.rule == "RFC 9113 §5.1.1")
        case .to(let next) where event == .headers && state != .idle:
            // The state allows them, but trailers must end the message (RFC 9113 §8.1).
            #expect(next == state && error == nil && reset == .protocolError)
        case .to(let next): #expect(error == nil && reset == nil && machine.state == next)
        case .forbidden: Issue.record("a received frame is never forbidden")
        }
    }

    /// WINDOW_UPDATE for a stream goes out as the table says, when the program has read more than half of its window.
    @Test(arguments: StreamState.allCases) func creditIsSent(_ state: StreamState) throws {
        try creditIsSent(state, HTTP2ServerSide.self)
        try creditIsSent(state, HTTP2ClientSide.self)
    }

    private func creditIsSent<Side: SideOfTheTable>(_ state: StreamState, _: Side.Type) throws {
        var limits = HTTP2Limits()
        (limits.initialStreamWindow, limits.maximumStreamWindow) = (16_384, 16_384)
        let data = Wire.frame(.data, on: 1, [UInt8](repeating: 0, count: 16_384))
        var machine: HTTP2Machine<Side> = try Self.machine(state, limits: limits, peerData: data)
        if state == .idle {
            expectError("RFC 9113 §5.1") { try machine.readAll(StreamID(1)) }
        } else {
            #expect(try machine.readAll(StreamID(1)).0.count == 16_384)
        }
        let isSent = if case .to = state.transition(.windowUpdate, .send) { true } else { false }
        // For each half of the window.
        let credit = FrameParser.Part.windowUpdate(StreamID(1), increment: 8192)
        #expect(try machine.takeParts() == (isSent ? [credit, credit] : []))
    }

    @Test(arguments: StreamState.allCases, StreamState.Event.allCases.filter { $0 != .windowUpdate })
    func sent(_ state: StreamState, _ event: StreamState.Event) throws {
        try sent(state, event, HTTP2ServerSide.self)
        try sent(state, event, HTTP2ClientSide.self)
    }

    private func sent<Side: SideOfTheTable>(
        _ state: StreamState, _ event: StreamState.Event, _: Side.Type
    ) throws {
        // Behind its head, a message has no HEADERS that do not end it: there is no member that sends them.
        if event == .headers, state != .idle { return }
        var machine: HTTP2Machine<Side> = try Self.machine(state)
        let stream = StreamID(1)
        var error: HTTP2Error?
        do {
            switch event {
            case .headers: try Side.sendHead(&machine, endsHere: false)
            case .headersEnd where state == .idle: try Side.sendHead(&machine, endsHere: true)
            case .headersEnd: try machine.sendTrailers(["x": "y"], on: stream, now: .zero)
            case .data: _ = try machine.send([1], on: stream, endsHere: false)
            case .dataEnd: _ = try machine.send([1], on: stream, endsHere: true)
            case .resetStream: machine.close(stream, now: .zero)
            // The machine sends this one itself.
            case .windowUpdate: break
            }
        } catch let thrown as HTTP2Error { error = thrown }
        let parts = try machine.takeParts()
        switch state.transition(event, .send) {
        case .forbidden where event == .resetStream: #expect(parts.isEmpty)
        case .forbidden: #expect(error?.code == .streamClosed && error?.rule == "RFC 9113 §5.1" && parts.isEmpty)
        case .to where state == .closed:
            #expect(error == nil && parts.isEmpty, "a stream that has ended needs no reset")
        case .to where state == .idle && Side.role == .server:
            #expect(error?.fault == .caller && parts.isEmpty, "a server opens no streams")
        case .to(let next):
            #expect(error == nil && !parts.isEmpty && machine.state == next)
        case .ignore, .streamError, .connectionError: Issue.record("a sent frame is never an error of the peer")
        }
    }
}

extension HTTP2Machine {
    /// The state of stream 1.
    fileprivate var state: StreamState {
        connection.state(of: StreamID(1), at: connection.streams.index(of: StreamID(1)))
    }
}
