import Dispatch
import EventLoops
import NetKit
import Peers
import StreamKit
import Testing

/// The events of a scheduled load, and their order (HM-080).
@Suite(.serialized) struct EventTests {
    // Parity: HM-080 (nginx)
    @Test(arguments: [Style.queueEvents, .runLoopEvents])
    func theOrderOfEvents(_ style: Style) async throws {
        let nginx = try SharedNginx.get()
        let hello = try await get(nginx.url(.plain, "/hello"), style)
        #expect(hello.events.first == .openCompleted)
        #expect(hello.events.last == .endEncountered)
        #expect(hello.events.dropFirst().dropLast().allSatisfy { $0 == .hasBytesAvailable })
        #expect(hello.events.count >= 3)
        #expect(hello.text == "hello\n")

        let empty = try await get(nginx.url(.plain, "/status/204"), style)
        #expect(empty.events == [.openCompleted, .endEncountered])
        #expect(empty.status == 204)

        let head = try await get(nginx.url(.plain, "/hello"), style, method: .head)
        #expect(head.events == [.openCompleted, .endEncountered])
        #expect(head.status == 200)
    }

    @Test(arguments: [Style.queueEvents, .runLoopEvents])
    func theEventsOfAFailure(_ style: Style) async throws {
        let server = try ScriptedServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        let loaded = try await get(server.url(), style)
        #expect(loaded.events.first == .openCompleted)
        #expect(loaded.events.last == .errorOccurred)
        #expect(loaded.text == "half")

        let bad = try await get("gopher://127.0.0.1/", style)
        #expect(bad.error?.domain == .http && bad.error?.code == -3)
    }

    @Test func noEventAfterClose() async throws {
        let go = Signal()
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            try connection.wait(for: go)
            try? connection.send("the rest")
        }
        let queue = DispatchQueue(label: "events")
        let events = Locked<[StreamEvent]>([])
        let first = Signal()
        let stream = try makeStream(server.url())
        stream.setClient(.all) { stream, event in
            events.withLock { $0.append(event) }
            guard event == .hasBytesAvailable else { return }
            stream.close()
            first.fire()
        }
        stream.schedule(on: .queue(queue))
        try stream.open()
        try await first.wait()
        go.fire()
        try await server.finished()
        queue.sync {}
        #expect(events.withLock { $0 } == [.openCompleted, .hasBytesAvailable])
        #expect(stream.status == .closed)
    }
}
