import EventLoops
import StreamKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct TextLinesTests {
    private func lines(_ bytes: [UInt8], limit: Int = 100) async throws -> [String] {
        let stream = ReadStream(bytes: bytes)
        try stream.open()
        defer { stream.close() }
        var lines: [String] = []
        for try await line in stream.lines(limit: limit) { lines.append(line) }
        return lines
    }

    @Test(
        "lines end with LF or CR LF",
        arguments: [
            ("", []), ("\n", [""]), ("a\nb\r\n\r\nc", ["a", "b", "", "c"]), ("a\rb\n", ["a\rb"]), ("\r\n\n", ["", ""]),
            ("é\n", ["é"]),
        ] as [(String, [String])])
    func split(_ text: String, _ expected: [String]) async throws {
        #expect(try await lines(Array(text.utf8)) == expected)
    }

    @Test func invalidUTF8IsReplaced() async throws {
        #expect(try await lines([0x61, 0xff, 0x0a]) == ["a\u{fffd}"])
    }

    @Test("the limit counts the bytes of a line", arguments: ["abc\n", "abc\r\n", "abc", "x\nabc\n"])
    func limit(_ text: String) async throws {
        #expect(try await lines(Array(text.utf8), limit: 3).last == "abc")
        let error = await #expect(throws: StreamError.self) { _ = try await lines(Array(text.utf8), limit: 2) }
        #expect(error?.isPOSIX(90) == true)
    }

    @Test func manyLinesTakeLinearTime() async throws {
        let text = [UInt8](repeating: 0x0a, count: 100_000)
        #expect(try await lines(text).count == 100_000)
    }

    /// The lines of one read are as many as a peer likes. Other work of the loop does not wait for all of them.
    @Test func manyLinesOfOneReadShareTheLoop() async throws {
        let loop = EventLoop(name: "lines")
        defer { loop.shutdown() }
        let count = try await withNetworkExecutor(loop) { () async throws(StreamError) in
            let bytes = [UInt8](repeating: UInt8(ascii: "\n"), count: ReadStream.chunkSize)
            let stream = ReadStream(bytes: bytes, loop: loop)
            try stream.open()
            defer { stream.close() }
            var lines = stream.lines().makeAsyncIterator()
            _ = try await lines.next()
            let other = OneShot<Void>()
            Task(executorPreference: loop) { other.provide(()) }
            var count = 1
            while other.value == nil, try await lines.next() != nil { count += 1 }
            return count
        }
        #expect(count < ReadStream.chunkSize)
    }

    @Test func aLineMayArriveInPieces() async throws {
        let pair = StreamPair.bound(bufferSize: 2)
        try pair.input.open()
        try pair.output.open()
        let writing = Task {
            try await pair.output.writeAll(Array("hello\r\nworld".utf8))
            pair.output.close()
        }
        var lines = pair.input.lines().makeAsyncIterator()
        #expect(try await lines.next() == "hello")
        #expect(try await lines.next() == "world")
        #expect(try await lines.next() == nil)
        try await writing.value
        pair.input.close()
    }
}

extension TextLinesTests {
    /// A line announces data, between which and the next line nothing is lost, however the bytes arrive.
    @Test(arguments: [1, 2, 3, 7, 100])
    func dataBetweenLines(_ bufferSize: Int) async throws {
        let pair = StreamPair.bound(bufferSize: bufferSize)
        try pair.input.open()
        try pair.output.open()
        let writing = Task {
            try await pair.output.writeAll("4\r\na\nb\n0\n3\nxyzend")
            pair.output.close()
        }
        var lines = pair.input.lines(limit: 10).makeAsyncIterator()
        for expected in ["a\nb\n", "", "xyz"] {
            var rest = try #require(try await lines.next().flatMap { Int($0) })
            var data: [UInt8] = []
            while rest > 0, case let bytes = try await lines.read(upTo: rest), !bytes.isEmpty {
                data += bytes
                rest -= bytes.count
            }
            #expect(data == Array(expected.utf8))
        }
        #expect(try await lines.next() == "end")
        #expect(try await lines.read(upTo: 1) == [])
        #expect(try await lines.next() == nil)
        try await writing.value
        pair.input.close()
    }
}

@Suite(.timeLimit(.minutes(5))) struct OrderedWriterTests {
    @Test func textsAreWrittenInUTF8() async throws {
        let pair = StreamPair.bound(bufferSize: 4)
        try pair.input.open()
        try pair.output.open()
        let writing = Task {
            try await pair.output.writeAll("é, in pieces\n")
            try await onThread { try pair.output.writeAll("by a thread\n") }
            try await pair.output.finish()
        }
        #expect(try await pair.input.readAll(limit: 100) == Array("é, in pieces\nby a thread\n".utf8))
        try await writing.value
        pair.close()
    }

    @Test func messagesOfManyTasksAreNotMixed() async throws {
        let pair = StreamPair.bound(bufferSize: 7)
        try pair.input.open()
        try pair.output.open()
        let writer = OrderedWriter(pair.output)
        let reading = Task { try await pair.input.readAll(limit: 1 << 20) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { try await writer.write(String(repeating: "\(number % 10)", count: 40) + "\n") }
            }
            try await group.waitForAll()
        }
        pair.output.close()
        let lines = String(decoding: try await reading.value, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 50 && lines.allSatisfy { $0.count == 40 && Set($0).count == 1 })
        pair.input.close()
    }

    @Test func aMessageThatWasBegunIsCompleted() async throws {
        let pair = StreamPair.bound(bufferSize: 4)
        try pair.input.open()
        try pair.output.open()
        let writer = OrderedWriter(pair.output)
        let first = Task { try await writer.write("first message\n") }
        #expect(try await pair.input.read(upTo: 2) == Array("fi".utf8))
        let second = Task { try await writer.write("second\n") }
        second.cancel()
        await #expect(throws: StreamError.cancelled) { try await second.value }
        first.cancel()
        var rest: [UInt8] = []
        while rest.count < 12 { rest += try await pair.input.read(upTo: 4) }
        #expect(rest == Array("rst message\n".utf8))
        try await first.value
        pair.input.close()
        await #expect(throws: StreamError.self) { try await writer.write("x") }
        await #expect(throws: StreamError.self) { try await writer.write("y") }
        pair.output.close()
    }
}
