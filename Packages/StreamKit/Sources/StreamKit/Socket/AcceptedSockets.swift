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
                    try? await Task.sleep(for: AcceptedSockets.retryPause)
                }
            }
        }
    }
}
