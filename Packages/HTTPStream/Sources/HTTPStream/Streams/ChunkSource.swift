internal import EventLoops
internal import StreamKit

/// The source of a stream that reads the chunks of an async sequence.
///
/// A task iterates the sequence, from the opening of the stream to its closing, and writes to a bound pair whose other half is read. So the
/// sequence is at most one chunk ahead of the buffer between them.
final class ChunkSource: StreamTransport {
    private enum State: Sendable {
        case unopened
        case running(Task<Void, Never>)
        /// The sequence has ended, with the error that it has thrown. Its last chunks may not have been read.
        case ended(StreamError?)
        case closed
    }

    private let pair: StreamPair
    /// Iterates the sequence, and passes each chunk to the closure.
    private let forEach: @Sendable (([UInt8]) async throws(StreamError) -> Void) async throws -> Void
    private let state = Locked(State.unopened)

    init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks, loop: EventLoop) where Chunks.Element == [UInt8] {
        pair = .bound(loop: loop)
        forEach = { write in
            for try await chunk in chunks { try await write(chunk) }
        }
    }

    var waitPoint: WaitPoint { pair.input.waitPoint }

    func tryOpen() throws(StreamError) -> OpenAttempt {
        try pair.open()
        state.withLock { state in
            guard case .unopened = state else { return }
            state = .running(Task { [self] in await run() })
        }
        return .opened
    }

    private func run() async {
        var failure: StreamError?
        do {
            try await forEach { (chunk) async throws(StreamError) in try await pair.output.writeAll(chunk) }
        } catch {
            failure = error as? StreamError ?? .bodyUnavailable(error)
        }
        state.withLock { if case .running = $0 { $0 = .ended(failure) } }
        pair.output.close()
    }

    func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Attempt {
        guard let count = try pair.input.tryRead(into: &buffer) else { return .wouldBlock(.readable) }
        if count > 0 { return .moved(count) }
        if case .ended(let failure?) = state.withLock({ $0 }) { throw failure }
        return .ended
    }

    func peek() throws(StreamError) -> Attempt {
        // Only a read finds out whether anything comes before the end.
        if case .ended = state.withLock({ $0 }) { return .moved(1) }
        return pair.input.hasBytesAvailable ? .moved(1) : .wouldBlock(.readable)
    }

    func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Attempt { .ended }

    func writability() throws(StreamError) -> Attempt { .ended }

    func close() {
        let task: Task<Void, Never>? = state.withLock { state in
            defer { state = .closed }
            return if case .running(let task) = state { task } else { nil }
        }
        task?.cancel()
        pair.close()
    }
}
