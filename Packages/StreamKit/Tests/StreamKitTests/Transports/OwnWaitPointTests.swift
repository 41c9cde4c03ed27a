import EventLoops
import StreamKit
import Testing

/// Streams over transports whose wait point belongs to the stream alone, and over others.
@Suite struct OwnWaitPointTests {
    /// A source that never has bytes.
    private final class Silence: StreamTransport {
        let waitPoint = WaitPoint()
        let ownsWaitPoint: Bool

        init(ownsWaitPoint: Bool) { self.ownsWaitPoint = ownsWaitPoint }

        func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }
        func peek() throws(StreamError) -> Attempt { .wouldBlock(.readable) }
        func writability() throws(StreamError) -> Attempt { .ended }
    }

    @Test(arguments: [false, true])
    func closingEndsAWait(_ ownsWaitPoint: Bool) async throws {
        let transport = Silence(ownsWaitPoint: ownsWaitPoint)
        let stream = ReadStream(transport: transport)
        try stream.open()
        #expect(stream.waitPoint === transport.waitPoint)
        let reading = Task { try await stream.read(upTo: 1) }
        stream.close()
        await #expect(throws: StreamError.closed) { try await reading.value }
        #expect(transport.waitPoint.isClosed(.reader) == ownsWaitPoint)
        #expect(transport.waitPoint.isClosed(.writer) == ownsWaitPoint)
    }

    @Test(arguments: [false, true])
    func onlyOneReadAtATime(_ ownsWaitPoint: Bool) async throws {
        let transport = Silence(ownsWaitPoint: ownsWaitPoint)
        let stream = ReadStream(transport: transport)
        try stream.open()
        async let first = reason(of: stream)
        async let second = reason(of: stream)
        // The second read fails at once; closing ends the first.
        let waiter = Task {
            while stream.status != .reading, !Task.isCancelled { await Task.yield() }
            stream.close()
        }
        let reasons = await [first, second]
        await waiter.value
        #expect(reasons.contains(.closed) && reasons.allSatisfy { $0 == .closed || $0 == .busy })
    }

    private func reason(of stream: ReadStream) async -> StreamError? {
        do throws(StreamError) {
            _ = try await stream.read(upTo: 1)
            return nil
        } catch {
            return error
        }
    }
}
