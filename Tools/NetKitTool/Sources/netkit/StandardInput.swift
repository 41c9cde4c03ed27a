import Foundation
import NetKit
import Synchronization

/// Standard input, read to its end by a thread that passes it on in pieces.
///
/// It may be a file, which cannot be polled, so the thread uses blocking calls.
final class StandardInput: Sendable {
    private enum Phase {
        /// Waiting for input, since an instant.
        case reading(since: ContinuousClock.Instant)
        case passingOn
        case ended(StreamError?)
    }

    private let phase = Mutex(Phase.reading(since: .now))
    private let (ends, end) = AsyncStream.makeStream(of: Void.self)

    /// Begins to read.
    ///
    /// - Parameters:
    ///   - limit: the greatest number of bytes of a piece.
    ///   - passOn: called on the thread for each piece; an error ends the reading.
    ///   - atEnd: called on the thread at the end of the input.
    init(
        upTo limit: Int, passOn: @escaping @Sendable ([UInt8]) throws(StreamError) -> Void,
        atEnd: @escaping @Sendable () throws(StreamError) -> Void = {}
    ) {
        Thread.detachNewThread { [self] in
            var failure: StreamError?
            do throws(StreamError) {
                var buffer = [UInt8](repeating: 0, count: limit)
                while true {
                    phase.withLock { $0 = .reading(since: .now) }
                    let count = SystemCall.retrying { Foundation.read(STDIN_FILENO, &buffer, limit) }
                    phase.withLock { $0 = .passingOn }
                    if count <= 0 { break }
                    try passOn(Array(buffer[..<count]))
                }
                try atEnd()
            } catch {
                failure = error
            }
            phase.withLock { $0 = .ended(failure) }
            end.finish()
        }
    }

    /// Waits until the input has ended, or a piece could not be passed on. Only one task may wait.
    ///
    /// - Returns: the error of passing on.
    func untilEnd() async -> StreamError? {
        for await _ in ends {}
        return phase.withLock { if case .ended(let failure) = $0 { failure } else { nil } }
    }

    /// Waits as ``untilEnd()``, but not longer than a time in which no input comes.
    func untilIdle(for limit: Duration) async -> StreamError? {
        await withTaskGroup(of: StreamError?.self) { group in
            group.addTask { await self.untilEnd() }
            group.addTask {
                while !Task.isCancelled {
                    let now = ContinuousClock.now
                    let since = self.phase.withLock { if case .reading(let since) = $0 { since } else { now } }
                    if since + limit <= now { break }
                    try? await EventLoop.shared.sleep(until: Moment(since + limit))
                }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
