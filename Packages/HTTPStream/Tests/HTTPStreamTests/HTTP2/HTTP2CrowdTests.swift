import EventLoops
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Many threads and tasks on one connection: which of them reads it changes all the time (``ReadingRoleTests`` has the rules).
@Suite(.timeLimit(.minutes(10))) struct HTTP2CrowdTests {
    private static let count = 500
    private static let requestsEach = 4

    private static func server() -> HTTP2Peer {
        HTTP2Peer(isRecorded: false) { (machine, event, _) in
            if case .ended(let stream) = event { try machine.answer(stream, body: Array("answer".utf8)) }
            return nil
        }
    }

    /// Sends requests, one after the other, on a thread or in a task; returns the number of right answers.
    private static func requests(to server: HTTP2Peer, onThread isThread: Bool) async throws -> Int {
        var answers = 0
        for _ in 0..<(isThread ? 0 : requestsEach) {
            let stream = try server.stream(.get, "/")
            try stream.open()
            if try await stream.readAll(limit: 100) == Array("answer".utf8) { answers += 1 }
        }
        if !isThread { return answers }
        return try await onThread {
            var answers = 0
            for _ in 0..<requestsEach {
                let stream = try server.stream(.get, "/")
                try stream.open()
                if try stream.readAll(limit: 100) == Array("answer".utf8) { answers += 1 }
            }
            return answers
        }
    }

    @Test("threads, tasks, and both share one connection", arguments: [(1, 0), (0, 1), (1, 1)])
    func crowd(threads: Int, tasks: Int) async throws {
        let server = Self.server()
        let kinds = Array(repeating: true, count: threads) + Array(repeating: false, count: tasks)
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<Self.count {
                for kind in kinds { group.addTask { try await Self.requests(to: server, onThread: kind) } }
            }
            return try await group.reduce(0, +)
        }
        #expect(answers == Self.count * kinds.count * Self.requestsEach)
        #expect(server.connectionCount == 1)
    }

    @Test("downloads on threads and in tasks share one connection, and each receives its own body")
    func downloads() async throws {
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 5) }
        let server = HTTP2Peer(isRecorded: false) { (machine, event, _) in
            guard case .ended(let stream) = event else { return nil }
            try machine.respond(stream, with: HTTPResponse(status: .ok), endsHere: false, now: .zero)
            return .send(body, on: stream)
        }
        let right = try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<24 {
                // The size of the caller's buffer, from a part of a frame to several frames.
                let size = 500 * (1 + index * index / 4)
                group.addTask {
                    let stream = try server.stream(.get, "/")
                    return try await onThread {
                        try stream.open()
                        var received: [UInt8] = []
                        while case let part = try stream.read(upTo: size), !part.isEmpty { received += part }
                        return received == body
                    }
                }
                group.addTask {
                    let stream = try server.stream(.get, "/")
                    try stream.open()
                    var received: [UInt8] = []
                    while case let part = try await stream.read(upTo: size), !part.isEmpty { received += part }
                    return received == body
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(right == 48)
        #expect(server.connectionCount == 1)
    }

    @Test("a thread that reads leaves the connection to the loop when it stops, so that a task that waits goes on")
    func handOver() async throws {
        // Answers in the order of arrival, the second request only once a third has arrived.
        let held = Locked<[StreamID]>([])
        let server = HTTP2Peer(isRecorded: false) { (machine, event, _) in
            guard case .ended(let stream) = event else { return nil }
            let (first, rest) = held.withLock { held -> (StreamID?, [StreamID]) in
                held.append(stream)
                switch held.count {
                case 1: return (stream, [])
                case 3: return (nil, Array(held.dropFirst()))
                default: return (nil, [])
                }
            }
            for stream in [first].compactMap(\.self) + rest { try machine.answer(stream, body: [1]) }
            return nil
        }
        let waiting = try server.stream(.get, "/")
        // A thread has the role, and goes on.
        let first = try await onThread { try server.stream(.get, "/").opened().readAll(limit: 10) }
        async let answer = waiting.opened().readAll(limit: 10)
        let last = try await onThread { try server.stream(.get, "/").opened().readAll(limit: 10) }
        #expect(try await (first, answer, last) == ([1], [1], [1]))
    }
}

extension ReadStream {
    fileprivate func opened() throws(StreamError) -> ReadStream {
        try open()
        return self
    }
}
