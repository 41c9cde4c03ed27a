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

/// A server does with each frame, in each state, what the table says.
struct StreamStateOfMachineTests {
    /// A server whose stream 1 is in a state.
    private static func server(_ state: StreamState) throws -> HTTP2ServerMachine {
        var server = HTTP2ServerMachine(now: .zero)
        try server.receive(Wire.clientPreface)
        switch state {
        case .idle: break
        case .open: try server.receive(Wire.post(1))
        case .halfClosedLocal:
            try server.receive(Wire.post(1))
            try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: true, now: .zero)
        case .halfClosedRemote: try server.receive(Wire.get(1))
        case .closed:
            try server.receive(Wire.get(1))
            try server.respond(StreamID(1), with: HTTPResponse(status: .ok), endsHere: true, now: .zero)
        }
        _ = server.takeEvents()
        _ = server.takeOutput()
        let index = server.connection.streams.index(of: StreamID(1))
        #expect(server.connection.state(of: StreamID(1), at: index) == state)
        return server
    }

    private static func frame(_ event: StreamState.Event, _ state: StreamState) -> [UInt8] {
        switch event {
        // The second HEADERS of a request are trailers.
        case .headers: state == .idle ? Wire.post(1) : Wire.headers(1, ends: false, [("x", "y")])
        case .headersEnd: state == .idle ? Wire.get(1) : Wire.headers(1, ends: true, [("x", "y")])
        case .data: Wire.data(1, "x")
        case .dataEnd: Wire.data(1, "x", ends: true)
        case .resetStream: Wire.reset(1)
        case .windowUpdate: Wire.windowUpdate(1, 1)
        }
    }

    @Test(arguments: StreamState.allCases, StreamState.Event.allCases)
    func received(_ state: StreamState, _ event: StreamState.Event) throws {
        var server = try Self.server(state)
        var error: HTTP2Error?
        do throws(HTTP2Error) { try server.receive(Self.frame(event, state)) } catch let thrown { error = thrown }
        var reset: ErrorCode?
        for case .resetStream(_, let code) in try server.takeParts() { reset = code }
        switch state.transition(event, .receive) {
        case .connectionError(let code): #expect(error?.code == code)
        case .streamError(let code): #expect(error == nil && reset == code)
        case .ignore: #expect(error == nil && reset == nil)
        case .to(let next) where event == .headers && state != .idle:
            // The state allows them, but trailers must end the message (RFC 9113 §8.1).
            #expect(next == state && reset == .protocolError)
        case .to(let next):
            #expect(error == nil && reset == nil)
            #expect(
                server.connection.state(of: StreamID(1), at: server.connection.streams.index(of: StreamID(1))) == next)
        case .forbidden: Issue.record("a received frame is never forbidden")
        }
    }

    @Test(arguments: [true, false]) func aRequestOpensItsStream(endsHere: Bool) throws {
        var client = HTTP2ClientMachine(now: .zero)
        let stream = try #require(try client.request(MachinePair.head(.put), endsHere: endsHere, now: .zero))
        let index = try #require(client.connection.streams.index(of: stream))
        let expected = StreamState.idle.transition(endsHere ? .headersEnd : .headers, .send)
        #expect(.to(client.connection.streams[index].state) == expected)
    }

    /// WINDOW_UPDATE for a stream goes out as the table says, when the program has read more than half of its window.
    @Test(arguments: StreamState.allCases) func creditIsSent(_ state: StreamState) throws {
        var limits = HTTP2Limits()
        (limits.initialStreamWindow, limits.maximumStreamWindow) = (16_384, 16_384)
        var server = HTTP2ServerMachine(limits: limits, now: .zero)
        try server.receive(Wire.clientPreface)
        let stream = StreamID(1)
        if state != .idle {
            let ends: FrameFlags = state == .halfClosedRemote || state == .closed ? .endStream : []
            try server.receive(Wire.post(1) + Wire.frame(.data, ends, on: 1, [UInt8](repeating: 0, count: 16_384)))
        }
        if state == .halfClosedLocal || state == .closed {
            try server.respond(stream, with: HTTPResponse(status: .ok), endsHere: true, now: .zero)
        }
        _ = server.takeOutput()
        let index = server.connection.streams.index(of: stream)
        #expect(server.connection.state(of: stream, at: index) == state)
        if state == .idle {
            expectError("RFC 9113 §5.1") { try server.readAll(stream) }
        } else {
            #expect(try server.readAll(stream).0.count == 16_384)
        }
        let isSent = if case .to = state.transition(.windowUpdate, .send) { true } else { false }
        var credit = 0
        for part in try server.takeParts() {
            guard case .windowUpdate(stream, let increment) = part else {
                Issue.record("\(part)")
                continue
            }
            credit += Int(increment)
        }
        #expect(credit == (isSent ? 16_384 : 0))
    }

    @Test(arguments: StreamState.allCases, StreamState.Event.allCases.filter { $0 != .windowUpdate })
    func sent(_ state: StreamState, _ event: StreamState.Event) throws {
        var server = try Self.server(state)
        let stream = StreamID(1)
        let ok = try HTTPResponse(status: .ok)
        if state != .idle, event == .data || event == .dataEnd {
            try? server.respond(stream, with: ok, endsHere: false, now: .zero)
        }
        _ = server.takeOutput()
        var error: HTTP2Error?
        do throws(HTTP2Error) {
            switch event {
            case .headers: try server.respond(stream, with: ok, endsHere: false, now: .zero)
            case .headersEnd: try server.respond(stream, with: ok, endsHere: true, now: .zero)
            case .data: _ = try server.send([1].span.bytes, on: stream, endsHere: false, now: .zero)
            case .dataEnd: _ = try server.send([1].span.bytes, on: stream, endsHere: true, now: .zero)
            // The machine sends this one itself.
            case .resetStream: server.close(stream)
            case .windowUpdate: break
            }
        } catch let thrown { error = thrown }
        let parts = try server.takeParts()
        switch state.transition(event, .send) {
        case .forbidden where event == .resetStream: #expect(parts.isEmpty)
        case .forbidden: #expect(error?.code == .streamClosed && parts.isEmpty)
        case .to where state == .closed:
            #expect(error == nil && parts.isEmpty, "a stream that has ended needs no reset")
        case .to where state == .idle: #expect(error?.fault == .caller, "a server opens no streams")
        case .to(let next):
            #expect(error == nil)
            if let index = server.connection.streams.index(of: stream) {
                #expect(server.connection.streams[index].state == next)
            } else {
                #expect(next == .closed)
            }
        case .ignore, .streamError, .connectionError: Issue.record("a sent frame is never an error of the peer")
        }
    }
}
