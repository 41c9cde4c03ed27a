import Dispatch
import EventLoops
import HTTP2
import HTTPMessage
import StreamKit
import Testing

@testable import HTTPStream

/// Requests whose bodies are sent while their responses arrive.
@Suite(.timeLimit(.minutes(5))) struct HTTP2DuplexTests {
    /// Answers a head at once, returns each piece of the body as it arrives, and ends with the request.
    private static let echo: HTTP2Script.Handler = { (machine, event, _) in
        switch event {
        case .request(let stream, _):
            try machine.respond(stream, with: try HTTPResponse(status: .ok), endsHere: false, now: .zero)
            return nil
        case .readable(let stream): return .echo(stream)
        case .ended(let stream): return .end(stream, try HTTPFields(["X-End": "1"]))
        default: return nil
        }
    }

    private struct TestFailure: Error, Equatable {}

    /// A sequence that a test feeds, and whether the load has cancelled it.
    private struct Questions {
        let pieces: AsyncThrowingStream<[UInt8], any Error>
        let source: AsyncThrowingStream<[UInt8], any Error>.Continuation
        let end = OneShot<Void>()

        init() {
            (pieces, source) = AsyncThrowingStream.makeStream(of: [UInt8].self)
            source.onTermination = { [end] _ in end.provide(()) }
        }
    }

    private func read(_ count: Int, _ stream: ReadStream) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let more = try await stream.read(upTo: count - bytes.count)
            if more.isEmpty { break }
            bytes += more
        }
        return bytes
    }

    // MARK: In turns

    @Test("each chunk of a sequence depends on the answer to the one before")
    func turns() async throws {
        let server = HTTP2Peer(Self.echo)
        let questions = Questions()
        let stream = try server.stream(.post, body: .chunks(questions.pieces))
        try stream.open()
        defer { stream.close() }
        // Nothing of the body has been sent.
        #expect(try await stream.response().status == .ok)
        for turn in 0..<200 {
            let question = Array("turn \(turn)\n".utf8)
            questions.source.yield(question)
            #expect(try await read(question.count, stream) == question)
        }
        #expect(server.requests.count == 1 && stream[.httpTrailers]?.isEmpty != false)
        questions.source.finish()
        #expect(try await stream.read(upTo: 1).isEmpty)
        #expect(stream[.httpTrailers]?["X-End"] == "1")
        #expect(try #require(server.requests.first).request.head.fields[.contentLength] == nil)
        #expect(stream[.httpBodyBytesSent] == server.bodies[StreamID(1)].map { Int64($0.count) })
    }

    @Test("a thread writes and reads in turns")
    func turnsOfThread() async throws {
        let server = HTTP2Peer(Self.echo)
        try await onThread {
            let pair = StreamPair.bound()
            let stream = try server.stream(.post, body: .stream(once: pair.input))
            try stream.open()
            defer { stream.close() }
            try pair.output.open()
            for turn in 0..<200 {
                let question = Array("turn \(turn)\n".utf8)
                try pair.output.writeAll(question)
                var answer: [UInt8] = []
                while answer.count < question.count {
                    let more: [UInt8] = try stream.read(upTo: question.count - answer.count)
                    if more.isEmpty { break }
                    answer += more
                }
                #expect(answer == question)
            }
            pair.output.close()
            let rest: [UInt8] = try stream.read(upTo: 1)
            #expect(rest.isEmpty)
        }
    }

    @Test("a caller that polls writes and reads in turns")
    func polledTurns() async throws {
        let server = HTTP2Peer(Self.echo)
        let pair = StreamPair.bound()
        let stream = try server.stream(.post, body: .stream(once: pair.input))
        try stream.open()
        defer { stream.close() }
        try pair.output.open()
        var buffer = [UInt8](repeating: 0, count: 100)
        for turn in 0..<50 {
            let question = Array("turn \(turn)\n".utf8)
            try await pair.output.writeAll(question)
            var answer: [UInt8] = []
            while answer.count < question.count, !Task.isCancelled {
                guard let count = try stream.tryRead(into: &buffer) else {
                    await Task.yield()
                    continue
                }
                if count == 0 { break }
                answer += buffer[..<count]
            }
            #expect(answer == question)
        }
    }

    /// Asks the next question at each answer, in the events of a stream.
    private final class Asker: Sendable {
        private let pair = StreamPair.bound()
        private let turns: Int
        private let answers = Locked<[[UInt8]]>([])
        private let end = OneShot<StreamError?>()

        init(turns: Int) { self.turns = turns }

        func run(_ server: HTTP2Peer) async throws -> [[UInt8]] {
            let stream = try server.stream(.post, body: .stream(once: pair.input))
            stream.setClient(.all) { [self] stream, event in receive(event, of: stream) }
            stream.schedule(on: .queue(DispatchQueue(label: "asker")))
            try pair.output.open()
            try stream.open()
            defer { stream.close() }
            if let error = try await end.value() { throw error }
            return answers.withLock { $0 }
        }

        private func ask(_ number: Int) {
            if number == turns { return pair.output.close() }
            // One byte: the buffer has room, and the answer arrives whole.
            _ = try? pair.output.tryWrite(([UInt8(number)] as [UInt8]).span.bytes)
        }

        private func receive(_ event: StreamEvent, of stream: ReadStream) {
            switch event {
            case .openCompleted: ask(0)
            case .hasBytesAvailable:
                var buffer = [UInt8](repeating: 0, count: 100)
                guard let count = try? stream.tryRead(into: &buffer), count > 0 else { return }
                let number = answers.withLock { answers in
                    answers.append(Array(buffer[..<count]))
                    return answers.count
                }
                ask(number)
            case .errorOccurred: end.provide(stream.error)
            case .endEncountered: end.provide(nil)
            case .canAcceptBytes: break
            }
        }
    }

    @Test("a client of events writes and reads in turns")
    func turnsOfEvents() async throws {
        #expect(try await Asker(turns: 100).run(HTTP2Peer(Self.echo)) == (0..<100).map { [UInt8($0)] })
    }

    @Test("40 duplex requests share one connection")
    func manyTurns() async throws {
        let server = HTTP2Peer(Self.echo)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    let questions = Questions()
                    let stream = try server.stream(.post, body: .chunks(questions.pieces))
                    try stream.open()
                    defer { stream.close() }
                    for turn in 0..<20 {
                        let question = Array("\(number).\(turn) ".utf8)
                        questions.source.yield(question)
                        let answer = try await read(question.count, stream)
                        #expect(answer == question)
                    }
                    questions.source.finish()
                    let rest = try await stream.read(upTo: 1)
                    #expect(rest.isEmpty)
                }
            }
            try await group.waitForAll()
        }
        #expect(server.connectionCount == 1)
    }

    // MARK: Amounts

    @Test("both directions exceed the windows", arguments: [nil, Int64(6_000_000)])
    func largeBodies(length: Int64?) async throws {
        let server = HTTP2Peer(Self.echo)
        let chunk = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        let pieces = AsyncStream<[UInt8]> { source in
            for _ in 0..<100 { source.yield(chunk) }
            source.finish()
        }
        let stream = try server.stream(.post, body: .chunks(pieces, length: length))
        try stream.open()
        defer { stream.close() }
        for number in 0..<100 {
            let isWhole = try await read(chunk.count, stream) == chunk
            #expect(isWhole, "\(number)")
        }
        #expect(try await stream.read(upTo: 1).isEmpty)
        #expect(stream[.httpBodyBytesSent] == 6_000_000)
    }

    @Test("no more of a sequence is taken than the windows and buffers hold, while the server reads nothing")
    func backPressure() async throws {
        var limits = HTTP2Limits()
        limits.initialStreamWindow = 65_535
        // Answers when the first bytes have arrived, and reads none.
        let server = HTTP2Peer(limits: limits, readsBodies: false) { (machine, event, _) in
            if case .readable(let stream) = event { try machine.answer(stream, .contentTooLarge) }
            return nil
        }
        let taken = Locked(0)
        let pieces = AsyncStream<[UInt8]> {
            taken.withLock { $0 += 1 }
            return [UInt8](repeating: 1, count: 1000)
        }
        let stream = try server.stream(.post, body: .chunks(pieces))
        try stream.open()
        defer { stream.close() }
        #expect(try await stream.readAll(limit: 10).isEmpty)
        #expect(stream[.httpResponse]?.status == .contentTooLarge)
        // The window, a piece that is being sent, the buffer before it, and a chunk that waits.
        #expect(taken.withLock { $0 } * 1000 <= 65_535 + 2 * ReadStream.chunkSize + 2000)
    }

    // MARK: Early ends

    /// How a server ends an exchange whose request goes on.
    enum ServersEnd: CaseIterable {
        /// The end of the response, then RST_STREAM with NO_ERROR (RFC 9113 §8.1).
        case response
        /// The end of the response alone.
        case responseAlone
        /// The same, with trailers.
        case trailers
        case reset
        case connection
    }

    private static func ending(_ end: ServersEnd) -> HTTP2Script.Handler {
        { (machine, event, _) in
            guard case .request(let stream, let request) = event else { return nil }
            if request.head.method == .get {
                try machine.answer(stream)
                return nil
            }
            let head = try HTTPResponse(status: .ok)
            switch end {
            case .response: try machine.answer(stream, body: [1])
            case .responseAlone: try machine.respond(stream, with: head, endsHere: true, now: .zero)
            case .trailers:
                try machine.respond(stream, with: head, endsHere: false, now: .zero)
                try machine.sendTrailers(HTTPFields(["X-End": "1"]), on: stream, now: .zero)
            case .reset:
                try machine.respond(stream, with: head, endsHere: false, now: .zero)
                machine.close(stream, code: .internalError, now: .zero)
            case .connection: return .close()
            }
            return nil
        }
    }

    @Test(
        "a server ends the exchange while the sequence has nothing: the load ends, and so does the sequence",
        arguments: ServersEnd.allCases)
    func serverEnds(_ end: ServersEnd) async throws {
        let server = HTTP2Peer(Self.ending(end))
        let questions = Questions()
        let stream = try server.stream(.post, body: .chunks(questions.pieces))
        try stream.open()
        switch end {
        case .response: #expect(try await stream.readAll(limit: 10) == [1])
        case .responseAlone, .trailers: #expect(try await stream.readAll(limit: 10).isEmpty)
        case .reset, .connection:
            let error = await #expect(throws: StreamError.self) { _ = try await stream.readAll(limit: 10) }
            if end == .reset { #expect(error?.description.contains("INTERNAL_ERROR") == true) }
        }
        if end == .trailers { #expect(stream[.httpTrailers]?["X-End"] == "1") }
        // Without close(): the load has no use for the body any more.
        if end != .reset, end != .connection { try await questions.end.value() }
        stream.close()
        try await questions.end.value()
        let next = try server.stream()
        try next.open()
        #expect(try await next.readAll(limit: 10).isEmpty)
        next.close()
        #expect(server.connectionCount == (end == .connection ? 2 : 1))
        // The server learns that the rest of the request does not come.
        let codes = server.events.compactMap { event -> ErrorCode? in
            if case .reset(StreamID(1), let failure) = event { failure.code } else { nil }
        }
        #expect(codes == (end == .responseAlone || end == .trailers ? [.cancel] : []))
    }

    /// How a client ends an exchange whose response goes on.
    enum ClientsEnd: CaseIterable {
        case close
        case failure
        case ownFailure
        case short
        case cancellation
    }

    @Test("a client ends the exchange before its body has ended", arguments: ClientsEnd.allCases)
    func clientEnds(_ end: ClientsEnd) async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(let stream, let request) = event, request.head.method == .get {
                try machine.answer(stream)
                return nil
            }
            return if case .ended = event { nil } else { try Self.echo(&machine, event, 1) }
        }
        let questions = Questions()
        let stream = try server.stream(.post, body: .chunks(questions.pieces, length: end == .short ? 10 : nil))
        try stream.open()
        questions.source.yield([1])
        #expect(try await stream.read(upTo: 10) == [1])
        switch end {
        case .close: stream.close()
        case .failure:
            questions.source.finish(throwing: StreamError(posix: 5))
            let error = await #expect(throws: StreamError.self) { _ = try await stream.read(upTo: 10) }
            #expect(error?.isPOSIX(5) == true)
        case .ownFailure:
            questions.source.finish(throwing: TestFailure())
            let error = await #expect(throws: StreamError.self) { _ = try await stream.read(upTo: 10) }
            #expect(error?.underlying as? TestFailure == TestFailure())
        case .short:
            questions.source.finish()
            let error = await #expect(throws: StreamError.self) { _ = try await stream.read(upTo: 10) }
            #expect(error?.description.contains("1 bytes, but 10") == true)
        case .cancellation:
            let reader = Task { try await stream.read(upTo: 10) }
            reader.cancel()
            await #expect(throws: StreamError.cancelled) { try await reader.value }
            // The read has consumed nothing, and the exchange goes on.
            questions.source.yield([2])
            #expect(try await stream.read(upTo: 10) == [2])
            stream.close()
        }
        if end != .close, end != .cancellation { stream.close() }
        try await questions.end.value()
        let next = try server.stream()
        try next.open()
        #expect(try await next.readAll(limit: 10).isEmpty)
        next.close()
        #expect(server.connectionCount == 1)
        let codes = server.events.compactMap { event -> ErrorCode? in
            if case .reset(StreamID(1), let failure) = event { failure.code } else { nil }
        }
        #expect(codes == [.cancel])
    }

    @Test("a duplex request goes on when the server ends its connection after it")
    func goAway() async throws {
        let server = HTTP2Peer { (machine, event, connection) in
            if case .request(let stream, let request) = event, request.head.method == .get {
                try machine.answer(stream)
                return connection == 1 ? .write(HTTP2Script.goAway(last: 3)) : nil
            }
            if case .ended(let stream) = event, stream != StreamID(1) || connection > 1 { return nil }
            return try Self.echo(&machine, event, connection)
        }
        let questions = Questions()
        let stream = try server.stream(.post, body: .chunks(questions.pieces))
        try stream.open()
        defer { stream.close() }
        questions.source.yield([1])
        #expect(try await read(1, stream) == [1])
        for _ in 0..<2 {
            let other = try server.stream()
            try other.open()
            #expect(try await other.readAll(limit: 10).isEmpty)
            other.close()
        }
        for turn in 2..<20 {
            questions.source.yield([UInt8(turn)])
            #expect(try await read(1, stream) == [UInt8(turn)])
        }
        questions.source.finish()
        #expect(try await stream.read(upTo: 1).isEmpty)
        #expect(stream[.httpTrailers]?["X-End"] == "1")
    }

    @Test("a body that can be sent once is not sent again after a refusal that came before any of it was taken")
    func refusal() async throws {
        let server = HTTP2Peer { (machine, event, _) in
            if case .request(StreamID(1), _) = event {
                machine.close(StreamID(1), code: .refusedStream, now: .zero)
                return nil
            }
            return try Self.echo(&machine, event, 1)
        }
        let questions = Questions()
        let stream = try server.stream(.post, body: .chunks(questions.pieces))
        try stream.open()
        defer { stream.close() }
        let error = await #expect(throws: StreamError.self) { _ = try await stream.response() }
        #expect(error?.description.contains("REFUSED_STREAM") == true)
        #expect(server.requests.count == 1)
        stream.close()
        try await questions.end.value()
    }
}
