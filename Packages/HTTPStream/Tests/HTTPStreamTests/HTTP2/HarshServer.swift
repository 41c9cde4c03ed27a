import EventLoops
import HTTP2
import HTTPMessage
import StreamKit

/// A server that ends its connections in every way in which a server may, and counts what it processes.
///
/// The paths of the requests are their numbers: `/1`, `/2`. It answers with the path.
final class HarshServer: Sendable {
    /// What the server does with one of its connections.
    ///
    /// No request is left or refused more than twice, however slow its caller is. A connection ends only once all requests have been processed
    /// that another one may have left (``State/mayEnd``), except at its first request. The server refuses in the first half only, and ends
    /// connections at their first request in the second half only: a request meets one of the two.
    enum Manner: Int, CaseIterable {
        /// Ends once it has answered all that has arrived; without GOAWAY if all requests are idempotent: others may be on their way.
        case endsSilently
        /// As many servers do: GOAWAY after a number of requests.
        case endsOrderly
        /// In the second half, GOAWAY with the last stream 0 at the first request; otherwise as ``endsOrderly``.
        case goAwayAtOnce
        /// Holds several requests, answers the first ones of them after GOAWAY, the newest first, and never the others.
        case dropsNewest
        /// In the first half, refuses each third request, unless it was refused before; then GOAWAY with the last stream that it has answered, and the end.
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
        /// Whether the client has been told that the connection will end.
        var isAnnounced = false
        /// The last stream that the server processes; nil before it ends the connection.
        var last: UInt32?
        var highest: UInt32 = 0
    }

    private struct State {
        var courses: [Int: Course] = [:]
        /// The paths that were refused.
        var refused: Set<String> = []
        /// Those of them that have not been processed since.
        var stillRefused: Set<String> = []
        /// All requests with lower numbers have been processed.
        var firstUnprocessed = 1
        /// The highest number that has arrived.
        var highest = 0
        /// The highest number of those that an ended connection may have left.
        var highestLeft = 0
        /// How often each request was processed, by number.
        var processed: [UInt8]
        var processedCount = 0
        var endings: [Int] = Array(repeating: 0, count: Manner.allCases.count)
        let allIdempotent: Bool
        /// The number of connections that requests have used: a client may open more.
        var used = 0

        /// Whether no request waits that another connection has left.
        var mayEnd: Bool { firstUnprocessed > highestLeft }

        /// Whether further requests will arrive, whatever happens to those that have.
        var continues: Bool { highest + RequestCrowd.callerCount < processed.count - 1 }

        /// Notes that a connection ends. The numbers of requests on their way are the next ones, one for each caller.
        mutating func noteEnd() { highestLeft = min(highest + RequestCrowd.callerCount, processed.count - 1) }

        mutating func beginCourse() -> Course {
            used += 1
            return Course(manner: Manner.allCases[used % Manner.allCases.count])
        }
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - count: the number of requests.
    ///   - allIdempotent: whether all of them are idempotent; only then does the server end connections without GOAWAY.
    init(count: Int, allIdempotent: Bool) {
        state = Locked(State(processed: Array(repeating: 0, count: count + 1), allIdempotent: allIdempotent))
    }

    /// How often each request was processed, by number.
    var processed: [UInt8] { state.withLock { $0.processed } }

    /// How many connections were ended in each manner.
    var endings: [Int] { state.withLock { $0.endings } }

    /// Acts on the events of all connections.
    var handler: HTTP2Script.Handler {
        { [self] (machine, event, connection) in
            try state.withLock { state in
                switch event {
                case .request(let stream, let request):
                    var course = state.courses[connection] ?? state.beginCourse()
                    course.highest = max(course.highest, stream.rawValue)
                    let path = request.head.target.path ?? ""
                    course.held.append(Arrived(stream: stream, path: path))
                    state.highest = max(state.highest, Self.number(of: path))
                    state.courses[connection] = course
                    return nil
                case .ended(let stream):
                    guard var course = state.courses[connection] else { return nil }
                    defer { state.courses[connection] = course }
                    return try Self.act(on: stream, &course, &machine, &state)
                case .reset(let stream, _):
                    state.courses[connection]?.held.removeAll { $0.stream == stream }
                    return nil
                default: return nil
                }
            }
        }
    }

    /// Processes a request: counts it, and answers with its path.
    private static func process(_ arrived: Arrived, _ machine: inout HTTP2ServerMachine, _ state: inout State) throws {
        state.processed[number(of: arrived.path)] &+= 1
        state.processedCount += 1
        state.stillRefused.remove(arrived.path)
        while state.firstUnprocessed < state.processed.count, state.processed[state.firstUnprocessed] > 0 {
            state.firstUnprocessed += 1
        }
        try machine.answer(arrived.stream, body: Array(arrived.path.utf8))
    }

    private static func number(of path: String) -> Int { Int(path.dropFirst()) ?? 0 }

    private static func act(
        on stream: StreamID, _ course: inout Course, _ machine: inout HTTP2ServerMachine, _ state: inout State
    ) throws -> HTTP2Script.Action? {
        guard let index = course.held.firstIndex(where: { $0.stream == stream }) else { return nil }
        // A request that has arrived behind GOAWAY is not processed.
        if let last = course.last, stream.rawValue > last { return nil }
        course.count += 1
        func end(_ action: HTTP2Script.Action) -> HTTP2Script.Action {
            state.endings[course.manner.rawValue] += 1
            state.noteEnd()
            return action
        }
        func processFirst(at index: Int) throws { try process(course.held.remove(at: index), &machine, &state) }
        func refuse(at index: Int) {
            let arrived = course.held.remove(at: index)
            state.refused.insert(arrived.path)
            state.stillRefused.insert(arrived.path)
            course.refused += 1
            machine.close(arrived.stream, code: .refusedStream, now: .zero)
        }
        let isFirstHalf = state.processedCount < state.processed.count / 2
        switch course.manner {
        case .goAwayAtOnce where !isFirstHalf && course.count == 1 && state.stillRefused.isEmpty:
            return end(.close(HTTP2Script.goAway(last: 0)))
        case .refuses:
            let isNew = isFirstHalf && !state.refused.contains(course.held[index].path)
            if isNew, course.count % 3 == 0 { refuse(at: index) } else { try processFirst(at: index) }
            guard course.count >= 60, state.mayEnd else { return nil }
            course.last = stream.rawValue
            // The bodies of earlier requests may be on their way: their heads have arrived.
            while let open = course.held.firstIndex(where: { $0.stream.rawValue < stream.rawValue }) {
                try processFirst(at: open)
            }
            return end(.finish(HTTP2Script.goAway(last: stream.rawValue)))
        case .lowersLimit:
            let isNew = isFirstHalf && !state.refused.contains(course.held[index].path)
            if course.isLowered, isNew, course.held.count > 2 { refuse(at: index) } else { try processFirst(at: index) }
            if course.count == 20 {
                course.isLowered = true
                return .write(streamLimit(2))
            }
            if course.count == 60 {
                course.isLowered = false
                return .write(streamLimit(50))
            }
            if !course.isAnnounced {
                guard course.count >= 90, state.mayEnd else { return nil }
                course.isAnnounced = true
                state.noteEnd()
                return .write(HTTP2Script.goAway(last: 0x7fff_ffff))
            }
            course.last = course.highest
            while !course.held.isEmpty { try processFirst(at: 0) }
            return end(.finish(HTTP2Script.goAway(last: course.highest)))
        case .dropsNewest:
            if course.count <= 40 {
                try processFirst(at: index)
                return nil
            }
            guard state.mayEnd, state.continues else {
                while !course.held.isEmpty { try processFirst(at: 0) }
                return nil
            }
            guard course.held.count >= 8 else { return nil }
            let streams = course.held.map(\.stream.rawValue).sorted()
            let last = streams[streams.count / 2]
            course.last = last
            for arrived in course.held.reversed() where arrived.stream.rawValue <= last {
                try process(arrived, &machine, &state)
            }
            course.held = []
            return end(.finish(HTTP2Script.goAway(last: last)))
        case .endsSilently:
            try processFirst(at: index)
            guard course.count >= 50, course.held.isEmpty, state.mayEnd else { return nil }
            course.last = course.highest
            return end(.finish(state.allIdempotent ? [] : HTTP2Script.goAway(last: course.highest)))
        case .endsOrderly, .goAwayAtOnce:
            try processFirst(at: index)
            guard course.count >= 100, state.mayEnd else { return nil }
            course.last = course.highest
            while !course.held.isEmpty { try processFirst(at: 0) }
            return end(.finish(HTTP2Script.goAway(last: course.highest)))
        }
    }

    /// SETTINGS_MAX_CONCURRENT_STREAMS, whatever the machine knows.
    private static func streamLimit(_ count: UInt8) -> [UInt8] { [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, count] }
}
