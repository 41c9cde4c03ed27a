internal import EventLoops
internal import Glibc

/// The connections that a listening socket gets, as they come.
///
/// ```swift
/// await withDiscardingTaskGroup { group in
///     for try await client in listener.accepted { group.addTask { await serve(client) } }
/// }
/// ```
///
/// Ends when the task is cancelled or the socket invalidated. While the process has no descriptor left, it takes nothing
/// and tries again every ``retryPause``; the connections wait in the listener's queue meanwhile.
public struct AcceptedSockets: AsyncSequence, Sendable {
    /// A connected socket.
    public typealias Element = Socket
    /// What the listener failed with.
    public typealias Failure = StreamError

    /// How long accepting rests when there are no descriptors, here and in events.
    public static let retryPause: Duration = .milliseconds(100)

    /// Waits for ``retryPause``. With a timer of the loop, which needs no descriptor: those of the runtime, behind `Task.sleep`,
    /// do, and end the process or never ring when there is none.
    static func rest(on loop: EventLoop) async {
        await withCheckedContinuation { continuation in
            loop.schedule(at: .now + retryPause) { continuation.resume() }
        }
    }

    let listener: Socket

    /// Starts to accept; one iterator at a time.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(listener: listener)
    }

    /// Accepts one connection at a time.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let listener: Socket

        /// The next connection; nil after the end.
        public mutating func next() async throws(StreamError) -> Socket? {
            try await next(isolation: nil)
        }

        /// The next connection; nil after the end.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(StreamError) -> Socket? {
            while true {
                do throws(StreamError) {
                    return try await listener.accept()
                } catch  where error == .cancelled || error == .closed {
                    return nil
                } catch  where AcceptFailure(Int32(truncatingIfNeeded: error.code)) == .scarcity {
                    // Cancelled while resting: the next accept says so.
                    await AcceptedSockets.rest(on: listener.point.loop)
                }
            }
        }
    }
}
