import EventLoops
import StreamKit
import Testing

/// SK-083: the events of a stream as an asynchronous sequence.
@Suite(.timeLimit(.minutes(5))) struct StreamEventSequenceTests {
    // Parity: SK-083
    @Test func readsToTheEnd() async throws {
        let pair = StreamPair.bound(bufferSize: 4)
        try pair.open()
        let writer = Task {
            for _ in 0..<3 { try await pair.output.writeAll(Array("abcd".utf8)) }
            try await pair.output.finish()
        }
        var events: [StreamEvent] = []
        var bytes = 0
        for try await event in pair.input.events() {
            events.append(event)
            if event == .hasBytesAvailable { bytes += try await pair.input.read(upTo: 4).count }
        }
        try await writer.value
        #expect(bytes == 12)
        #expect(events.first == .openCompleted && events.last == .endEncountered)
        #expect(events.dropFirst().dropLast().allSatisfy { $0 == .hasBytesAvailable } && events.count >= 5)
    }

    @Test func theSequenceMayBeginBeforeTheStreamIsOpened() async throws {
        let stream = WriteStream(toMemoryOfCapacity: 2)
        let events = stream.events([.canAcceptBytes, .endEncountered])
        try stream.open()
        var taken: [StreamEvent] = []
        for try await event in events {
            taken.append(event)
            if event == .canAcceptBytes { _ = try await stream.write([1]) }
        }
        #expect(taken == [.canAcceptBytes, .canAcceptBytes, .endEncountered])
    }

    @Test func aFailureIsTheLastEvent() async throws {
        let stream = ReadStream(path: "/no such file")
        let events = stream.events()
        try? stream.open()
        var taken: [StreamEvent] = []
        for try await event in events { taken.append(event) }
        #expect(taken == [.errorOccurred] && stream.error?.isPOSIX(2) == true)
    }

    enum Ending: CaseIterable {
        case closed
        case replaced
        case removed
        case secondSequence
    }

    // Parity: SK-083
    @Test(arguments: Ending.allCases)
    func theSequenceEndsWithItsRegistration(_ ending: Ending) async throws {
        let pair = StreamPair.bound(bufferSize: 4)
        try pair.open()
        var iterator = pair.input.events([.hasBytesAvailable]).makeAsyncIterator()
        var second: StreamEventSequence?
        switch ending {
        case .closed: pair.input.close()
        case .replaced: pair.input.setClient(.all) { _, _ in }
        case .removed: pair.input.setClient([], nil)
        case .secondSequence: second = pair.input.events()
        }
        #expect(try await iterator.next() == nil)
        withExtendedLifetime(second) {}
    }

    /// A released sequence is no client any more, and the client that replaced it stays.
    @Test func aReleasedSequenceRemovesOnlyItself() async throws {
        let pair = StreamPair.bound(bufferSize: 4)
        try pair.open()
        var first: StreamEventSequence? = pair.input.events()
        let second = pair.input.events([.hasBytesAvailable])
        first = nil
        _ = first
        try await pair.output.writeAll([1])
        var iterator = second.makeAsyncIterator()
        #expect(try await iterator.next() == .hasBytesAvailable)
    }

    @Test func theSequenceDoesNotKeepTheStreamAlive() async throws {
        var pair: StreamPair? = StreamPair.bound(bufferSize: 4)
        try pair?.open()
        let peer = try #require(pair?.output)
        let events = try #require(pair?.input.events([.hasBytesAvailable]))
        pair = nil
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next() == nil)
        await #expect(throws: StreamError.self) { try await peer.writeAll([1, 2, 3, 4, 5]) }
    }

    // Parity: SK-083
    @Test func aCancelledTaskStopsWaiting() async throws {
        let pair = StreamPair.bound(bufferSize: 4)
        try pair.open()
        let task = Task {
            for try await event in pair.input.events([.hasBytesAvailable]) { Issue.record("unexpected: \(event)") }
        }
        task.cancel()
        await #expect(throws: StreamError.cancelled) { try await task.value }
    }

    /// It is not cancelled, and its task would end if it took the error for that.
    @Test func aSecondIteratorThatWaitsIsRefused() async throws {
        let pair = StreamPair.bound(bufferSize: 4)
        try pair.open()
        let events = pair.input.events([.hasBytesAvailable])
        let errors = await withTaskGroup(of: StreamError?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var iterator = events.makeAsyncIterator()
                    do throws(StreamError) {
                        _ = try await iterator.next()
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return [first, await group.next() ?? nil]
        }
        #expect(errors == [.busy, .cancelled])
    }

    /// SK-082: the targets can be read.
    // Parity: SK-082
    @Test func targets() {
        let stream = ReadStream(bytes: [1])
        #expect(stream.targets.isEmpty)
        stream.schedule(on: .loop(.shared))
        stream.schedule(on: .loop(.shared))
        #expect(stream.targets.count == 1 && stream.targets[0].isSame(as: .loop(.shared)))
        stream.unschedule(from: .loop(.shared))
        #expect(stream.targets.isEmpty)
    }
}
