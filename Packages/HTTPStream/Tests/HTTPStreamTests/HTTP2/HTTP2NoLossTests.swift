import Dispatch
import EventLoops
import Foundation
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Many requests of many callers, to a server that ends its connections in every way in which a server may.
///
/// `NETKIT_REQUESTS` is the number of requests, for a run by hand: `NETKIT_REQUESTS=1000000`.
@Suite(.timeLimit(.minutes(180))) struct HTTP2NoLossTests {
    private static let requestCount = ProcessInfo.processInfo.environment["NETKIT_REQUESTS"].flatMap { Int($0) } ?? 4000

    // MARK: The server

    /// What the server does with one of its connections.
    ///
    /// In an order in which no request can be lost or refused more than twice: a caller waits for one request at a time, so those that one
    /// connection leaves are among the first 64 of the next one, unless they pause. Those that were refused may pause, so the server refuses
    /// only in the first half, and ends connections at their first request only in the second one.
    private enum Manner: Int, CaseIterable {
        /// Ends once it has answered all that has arrived; without GOAWAY if all requests are idempotent: others may be on their way.
        case endsSilently
        /// As many servers do: GOAWAY after a number of requests.
        case endsOrderly
        /// GOAWAY with the last stream 0 at the first request.
        case goAwayAtOnce
        /// Holds several requests, answers the first ones of them after GOAWAY, the newest first, and never the others.
        case dropsNewest
        /// Refuses each third request that it sees for the first time; then GOAWAY with the last stream that it has answered, and the end.
        case refuses
        /// Lowers the limit of streams, and refuses those above it; then GOAWAY in two steps (RFC 9113 §6.8), and the end.
        case lowersLimit
    }

    /// A request that has arrived.
    private struct Arrived {
        let stream: StreamID
        let path: String
    }

    /// One connection of the server.
    private struct Course {
        let manner: Manner
        var count = 0
        var refused = 0
        var held: [Arrived] = []
        var isLowered = false
        /// The last stream that the server processes; nil before it ends the connection.
        var last: UInt32?
        var highest: UInt32 = 0
    }

    private final class Log: Sendable {
        struct State {
            var courses: [Int: Course] = [:]
            /// The paths that were refused.
            var refused: Set<String> = []
            /// How often each path was processed, by number.
            var processed: [UInt8]
            var processedCount = 0
            var endings: [Int] = Array(repeating: 0, count: Manner.allCases.count)
            let allIdempotent: Bool
            /// The number of connections that requests have used: a client may open more.
            var used = 0

            mutating func beginCourse() -> Course {
                used += 1
                return Course(manner: Manner.allCases[used % Manner.allCases.count])
            }
        }

        let state: Locked<State>

        init(count: Int, allIdempotent: Bool) {
            state = Locked(State(processed: Array(repeating: 0, count: count + 1), allIdempotent: allIdempotent))
        }
    }

    /// Processes a request: counts it, and answers with its path.
    private static func process(_ arrived: Arrived, _ machine: inout HTTP2ServerMachine, _ log: inout Log.State) throws
    {
        let number = Int(arrived.path.dropFirst()) ?? 0
        log.processed[number] &+= 1
        log.processedCount += 1
        try machine.answer(arrived.stream, body: Array(arrived.path.utf8))
    }

    private static func handler(_ log: Log) -> HTTP2Peer.Handler {
        { (machine, event, connection) in
            try log.state.withLock { state in
                switch event {
                case .request(let stream, let request):
                    var course = state.courses[connection] ?? state.beginCourse()
                    course.highest = max(course.highest, stream.rawValue)
                    course.held.append(
                        Arrived(stream: stream, path: request.head.target.path ?? ""))
                    state.courses[connection] = course
                    return nil
                case .ended(let stream):
                    guard var course = state.courses[connection] else { return nil }
                    defer { state.courses[connection] = course }
                    return try act(on: stream, &course, &machine, &state)
                case .reset(let stream, _):
                    state.courses[connection]?.held.removeAll { $0.stream == stream }
                    return nil
                default: return nil
                }
            }
        }
    }

    private static func act(
        on stream: StreamID, _ course: inout Course, _ machine: inout HTTP2ServerMachine, _ log: inout Log.State
    ) throws -> HTTP2Peer.Action? {
        guard let index = course.held.firstIndex(where: { $0.stream == stream }) else { return nil }
        // A request that has arrived behind GOAWAY is not processed.
        if let last = course.last, stream.rawValue > last { return nil }
        course.count += 1
        func end(_ action: HTTP2Peer.Action) -> HTTP2Peer.Action {
            log.endings[course.manner.rawValue] += 1
            return action
        }
        func processFirst(at index: Int) throws { try process(course.held.remove(at: index), &machine, &log) }
        func refuse(at index: Int) {
            let arrived = course.held.remove(at: index)
            log.refused.insert(arrived.path)
            course.refused += 1
            machine.close(arrived.stream, code: .refusedStream, now: .zero)
        }
        let isFirstHalf = log.processedCount < log.processed.count / 2
        switch course.manner {
        case .goAwayAtOnce where !isFirstHalf && course.count == 1: return end(.close(HTTP2Peer.goAway(last: 0)))
        case .refuses:
            let isNew = isFirstHalf && !log.refused.contains(course.held[index].path)
            if isNew, course.count % 3 == 0 { refuse(at: index) } else { try processFirst(at: index) }
            guard course.count >= 60 else { return nil }
            course.last = stream.rawValue
            // The bodies of earlier requests may be on their way: their heads have arrived.
            while let open = course.held.firstIndex(where: { $0.stream.rawValue < stream.rawValue }) {
                try processFirst(at: open)
            }
            return end(.finish(HTTP2Peer.goAway(last: stream.rawValue)))
        case .lowersLimit:
            let isNew = isFirstHalf && !log.refused.contains(course.held[index].path)
            if course.isLowered, isNew, course.held.count > 2 { refuse(at: index) } else { try processFirst(at: index) }
            if course.count == 20 {
                course.isLowered = true
                return .write(HTTP2Peer.streamLimit(2))
            }
            if course.count == 60 {
                course.isLowered = false
                return .write(HTTP2Peer.streamLimit(50))
            }
            if course.count == 90 { return .write(HTTP2Peer.goAway(last: 0x7fff_ffff)) }
            guard course.count >= 100 || (course.count > 90 && course.held.isEmpty) else { return nil }
            course.last = course.highest
            while !course.held.isEmpty { try processFirst(at: 0) }
            return end(.finish(HTTP2Peer.goAway(last: course.highest)))
        case .dropsNewest:
            if course.count <= 40 {
                try processFirst(at: index)
                return nil
            }
            guard course.held.count >= 8 || course.count > 60 else { return nil }
            let streams = course.held.map(\.stream.rawValue).sorted()
            let last = streams[streams.count / 2]
            course.last = last
            for arrived in course.held.reversed() where arrived.stream.rawValue <= last {
                try process(arrived, &machine, &log)
            }
            course.held = []
            return end(.finish(HTTP2Peer.goAway(last: last)))
        case .endsSilently:
            try processFirst(at: index)
            guard course.count >= 50, course.held.isEmpty else { return nil }
            course.last = course.highest
            return end(.finish(log.allIdempotent ? [] : HTTP2Peer.goAway(last: course.highest)))
        case .endsOrderly, .goAwayAtOnce:
            try processFirst(at: index)
            guard course.count >= 100 else { return nil }
            course.last = course.highest
            while !course.held.isEmpty { try processFirst(at: 0) }
            return end(.finish(HTTP2Peer.goAway(last: course.highest)))
        }
    }

    // MARK: The callers

    private enum Caller: Int, CaseIterable {
        case task
        case thread
        case poller
        case client
    }

    private static func read(_ stream: ReadStream, as caller: Caller) async throws -> [UInt8] {
        defer { stream.close() }
        switch caller {
        case .task:
            try stream.open()
            return try await stream.readAll(limit: 100)
        case .thread:
            return try await onThread {
                try stream.open()
                return try stream.readAll(limit: 100)
            }
        case .poller:
            try stream.open()
            var buffer = [UInt8](repeating: 0, count: 100)
            var body: [UInt8] = []
            while true {
                guard let count = try stream.tryRead(into: &buffer) else {
                    await Task.yield()
                    continue
                }
                if count == 0 { return body }
                body += buffer[..<count]
            }
        case .client:
            let outcome = OneShot<Result<[UInt8], StreamError>>()
            let body = Locked<[UInt8]>([])
            stream.setClient(.all) { stream, event in
                switch event {
                case .hasBytesAvailable:
                    var buffer = [UInt8](repeating: 0, count: 100)
                    guard let count = try? stream.tryRead(into: &buffer) else { return }
                    body.withLock { $0 += buffer[..<count] }
                case .errorOccurred: outcome.provide(.failure(stream.error ?? .closed))
                case .endEncountered: outcome.provide(.success(body.withLock { $0 }))
                case .openCompleted, .canAcceptBytes: break
                }
            }
            stream.schedule(on: .queue(DispatchQueue(label: "caller")))
            try stream.open()
            return try await outcome.value().get()
        }
    }

    /// The requests that the callers share, and those that have failed.
    private final class Round: Sendable {
        let server: HTTP2Peer
        let count: Int
        let allIdempotent: Bool
        private let last = Locked(0)
        let failures = Locked<[String]>([])

        init(_ server: HTTP2Peer, count: Int, allIdempotent: Bool) {
            self.server = server
            self.count = count
            self.allIdempotent = allIdempotent
        }

        private func nextNumber() -> Int? {
            last.withLock { last in
                last += 1
                return last > count ? nil : last
            }
        }

        /// Sends requests one after the other until there are none left.
        func run(_ caller: Caller) async {
            while let number = nextNumber() {
                let path = "/\(number)"
                let method: HTTPMethod = number % 3 > 0 ? .get : allIdempotent ? .put : .post
                do {
                    let stream = try server.stream(method, path, body: method == .get ? nil : .bytes([1, 2, 3]))
                    do {
                        let answer = try await HTTP2NoLossTests.read(stream, as: caller)
                        if answer != Array(path.utf8) { fail("\(method) \(path): \(answer)") }
                    } catch {
                        fail("\(method) \(path) of a \(caller): \(error)\n\(stream[.report]?.description ?? "")")
                    }
                } catch {
                    fail("\(error)")
                }
            }
        }

        private func fail(_ text: String) { failures.withLock { $0.append(text) } }
    }

    @Test(
        "64 callers of all kinds lose no request at a server that ends each connection, and none that is not idempotent is processed twice",
        arguments: [false, true])
    func noneLost(allIdempotent: Bool) async throws {
        let count = Self.requestCount
        let log = Log(count: count, allIdempotent: allIdempotent)
        let server = HTTP2Peer(isRecorded: false, Self.handler(log))
        let round = Round(server, count: count, allIdempotent: allIdempotent)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask { await round.run(Caller.allCases[number % Caller.allCases.count]) }
            }
        }
        let failed = round.failures.withLock { $0 }
        let isLossless = failed.isEmpty
        #expect(isLossless, "\(failed.count) failed; \(failed.prefix(3).joined(separator: "\n"))")
        let (processed, endings) = log.state.withLock { ($0.processed, $0.endings) }
        #expect((1...count).allSatisfy { processed[$0] > 0 })
        if !allIdempotent { #expect((1...count).allSatisfy { $0 % 3 > 0 || processed[$0] == 1 }) }
        #expect(endings.allSatisfy { $0 > 0 }, "\(endings)")
    }
}

extension HTTP2Peer {
    /// SETTINGS_MAX_CONCURRENT_STREAMS, whatever the machine knows.
    fileprivate static func streamLimit(_ count: UInt8) -> [UInt8] {
        [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, count]
    }
}
