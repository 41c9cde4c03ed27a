import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// When a client of server-sent events connects again, and with what (WHATWG HTML §9.2.3).
@Suite struct EventSourceMachineTests {
    private typealias Action = EventSourceMachine.Action

    private static let reset = StreamError(posix: 104)
    private static let events: HTTPResponse = {
        guard var response = try? HTTPResponse(status: .ok) else { preconditionFailure("200 is a status") }
        response.fields = ["Content-Type": "text/event-stream"]
        return response
    }()

    private func machine(_ change: (inout EventSource.Options) -> Void = { _ in }) -> EventSourceMachine {
        var options = EventSource.Options()
        change(&options)
        return EventSourceMachine(options)
    }

    @Test("an event is delivered, and the next connection begins after it")
    func reconnection() {
        var machine = machine()
        #expect(machine.next() == .connect(lastEventID: nil))
        machine.connected(Self.events)
        #expect(machine.next() == .read)
        machine.received(Array("id: 7\ndata: a\n\ndata: b\n\nid: 8\ndata: incomplete".utf8), random: 0)
        #expect(machine.next() == .deliver(ServerSentEvent("a", id: "7")))
        #expect(machine.next() == .deliver(ServerSentEvent("b", id: "7")))
        #expect(machine.next() == .read)
        machine.received([], random: 0)
        #expect(machine.next() == .pause(.seconds(3), after: nil))
        #expect(machine.next() == .connect(lastEventID: "7"))
        machine.connected(Self.events)
        // What was incomplete is not continued, and an event without an identifier has the last one.
        machine.received(Array("data: c\n\n".utf8), random: 0)
        #expect(machine.next() == .deliver(ServerSentEvent("c", id: "7")))
        machine.disconnected(Self.reset, random: 0)
        #expect(machine.next() == .pause(.seconds(3), after: Self.reset))
        #expect(machine.next() == .connect(lastEventID: "7"))
        machine.connected(Self.events)
        // The server removes the identifier.
        machine.received(Array("id\n\n".utf8), random: 0)
        #expect(machine.next() == .read)
        machine.received([], random: 0)
        #expect(machine.next() == .pause(.seconds(3), after: nil))
        #expect(machine.next() == .connect(lastEventID: nil))
    }

    @Test(
        "an identifier that cannot be sent back is ignored, and the one before it stays",
        arguments: [
            "a\u{1}b", "\u{1b}[2J", "\u{7f}", "a\0b", String(repeating: "x", count: 8193),
            String(repeating: "x", count: 900_000),
        ])
    func identifiers(_ id: String) {
        var machine = machine()
        _ = machine.next()
        machine.connected(Self.events)
        machine.received(Array("id: 7\ndata: a\n\nid: \(id)\ndata: b\n\n".utf8), random: 0)
        #expect(machine.next() == .deliver(ServerSentEvent("a", id: "7")))
        #expect(machine.next() == .deliver(ServerSentEvent("b", id: "7")))
        _ = machine.next()
        machine.received([], random: 0)
        _ = machine.next()
        #expect(machine.next() == .connect(lastEventID: "7"))
    }

    @Test(
        "whatever identifier is sent back, a field can carry it",
        arguments: ["\t", "naïve ☃", String(repeating: "x", count: 8192)])
    func usableIdentifiers(_ id: String) throws {
        var parser = ServerSentEventParser()
        parser.append(Array("id:x\(id)\ndata: a\n\n".utf8))
        #expect(try parser.next()?.id == (id.utf8.count < 8192 ? "x\(id)" : nil))
        var fields = HTTPFields()
        try fields.set(parser.lastEventID, for: "Last-Event-ID")
    }

    @Test func aProgramCanBeginAfterAnEventThatItKnows() {
        var machine = machine { $0.lastEventID = "41" }
        #expect(machine.next() == .connect(lastEventID: "41"))
        machine.disconnected(Self.reset, random: 1)
        _ = machine.next()
        #expect(machine.next() == .connect(lastEventID: "41"))
    }

    @Test(
        "the server's time replaces the option, within limits",
        arguments: [
            ("250", Duration.milliseconds(250)), ("5000", .seconds(5)), ("600000", .seconds(600)),
            ("0", .milliseconds(100)), ("86400000", .seconds(600)), ("99999999999999999999", .seconds(600)),
            ("1.5", .seconds(3)),
        ])
    func retryField(_ text: String, _ pause: Duration) {
        var machine = machine()
        _ = machine.next()
        machine.connected(Self.events)
        machine.received(Array("retry: \(text)\n\n".utf8), random: 0)
        #expect(machine.next() == .read)
        machine.received([], random: 0)
        #expect(machine.next() == .pause(pause, after: nil))
        _ = machine.next()
        // It remains in effect for later connections that do not repeat it.
        machine.connected(Self.events)
        machine.received(Array(":\n".utf8), random: 0)
        _ = machine.next()
        machine.received([], random: 0)
        #expect(machine.next() == .pause(pause, after: nil))
    }

    @Test("pauses grow after connections that received nothing, to a limit, and not after others")
    func backOff() {
        var machine = machine()
        func pauses(_ count: Int, random: Double) -> [Duration?] {
            (0..<count).map { number -> Duration? in
                guard case .connect = machine.next() else { return nil }
                // A refused connection, or a response that ends at once.
                if number.isMultiple(of: 2) {
                    machine.disconnected(Self.reset, random: random)
                } else {
                    machine.connected(Self.events)
                    machine.received([], random: random)
                }
                guard case .pause(let pause, _) = machine.next() else { return nil }
                return pause
            }
        }
        #expect(pauses(7, random: 1) == [6, 12, 24, 48, 60, 60, 60].map { .seconds($0) })
        #expect(pauses(1, random: 0) == [.seconds(30)])
        _ = machine.next()
        machine.connected(Self.events)
        machine.received(Array(":\n".utf8), random: 0)
        #expect(machine.next() == .read)
        machine.disconnected(Self.reset, random: 1)
        #expect(machine.next() == .pause(.seconds(3), after: Self.reset))
        #expect(pauses(2, random: 0) == [.seconds(3), .seconds(6)])
        // Without overflow, however long it takes.
        #expect(pauses(300, random: 1).last == .seconds(60))
    }

    @Test func theServersTimeMayBeLongerThanTheLongestDelay() {
        var machine = machine { $0.reconnectionTime = .seconds(600) }
        for _ in 0..<3 {
            _ = machine.next()
            machine.disconnected(Self.reset, random: 1)
            #expect(machine.next() == .pause(.seconds(600), after: Self.reset))
        }
    }

    @Test func theNumberOfAttemptsCanBeLimited() {
        for (limit, attempts) in [(0, 1), (2, 3)] {
            var machine = machine { $0.maximumAttempts = limit }
            // A stream that received something is continued.
            #expect(machine.next() == .connect(lastEventID: nil))
            machine.connected(Self.events)
            machine.received(Array("id: 1\n\n".utf8), random: 0)
            _ = machine.next()
            machine.received([], random: 0)
            _ = machine.next()
            for attempt in 1...attempts {
                #expect(machine.next() == .connect(lastEventID: "1"))
                machine.disconnected(Self.reset, random: 0)
                if attempt == attempts { break }
                guard case .pause = machine.next() else { return #expect(Bool(false)) }
            }
            #expect(machine.next() == .end(Self.reset))
            #expect(machine.next() == .end(nil))
        }
    }

    @Test(
        "a 204 ends the sequence; any other response without events is a failure",
        arguments: [(204, "text/event-stream", false), (200, "text/html", true), (200, nil, true)]
            + [201, 301, 400, 401, 404, 500, 503].map { ($0, "text/event-stream", true) })
    func responses(_ status: Int, _ type: String?, fails: Bool) throws {
        var machine = machine()
        _ = machine.next()
        var response = try HTTPResponse(status: try #require(HTTPStatus(status)))
        if let type { try response.fields.set(type, for: .contentType) }
        machine.connected(response)
        guard case .end(let error) = machine.next() else { return #expect(Bool(false)) }
        #expect((error?.isPOSIX(71) == true) == fails)
        // The failure is reported once.
        #expect(machine.next() == .end(nil))
    }

    @Test(
        "errors that another connection cannot repair end the sequence",
        arguments: [
            (StreamError.cancelled, true), (StreamError(posix: 22), true), (StreamError(posix: 111), false),
            (StreamError(posix: 110), false), (StreamError(domain: .netDB, code: -2, sentence: .init("", "")), false),
            (StreamError(domain: .ssl, code: TLSFailure.unknownRoot.rawValue, sentence: .init("", "")), true),
            (StreamError(domain: .ssl, code: TLSFailure.closedWithoutNotify.rawValue, sentence: .init("", "")), false),
            (StreamError(domain: .http, code: -1, sentence: .init("", "")), true),
            (StreamError(domain: .http, code: -4, sentence: .init("", "")), false),
        ])
    func errors(_ error: StreamError, ends: Bool) {
        var machine = machine()
        _ = machine.next()
        machine.disconnected(error, random: 0)
        if ends {
            #expect(machine.next() == .end(error))
        } else {
            #expect(machine.next() == .pause(.seconds(3), after: error))
        }
    }

    @Test func anEventBeyondTheLimitEndsTheSequence() {
        var machine = machine { $0.maximumEventLength = 20 }
        _ = machine.next()
        machine.connected(Self.events)
        machine.received(Array("data: a\n\ndata: \(String(repeating: "b", count: 20))\n\n".utf8), random: 0)
        #expect(machine.next() == .deliver(ServerSentEvent("a")))
        #expect(machine.next() == .end(StreamError(posix: 90)))
        #expect(machine.next() == .end(nil))
    }
}
