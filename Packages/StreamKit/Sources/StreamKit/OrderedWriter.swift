internal import EventLoops

/// Writes the messages of several tasks to one stream, one message after the other, in the order of the calls.
///
/// ```swift
/// let writer = OrderedWriter(client.output)
/// async let one: Void = writer.write("first\n")
/// async let two: Void = writer.write("second\n")
/// ```
///
/// A call returns when the stream has accepted its message, so a slow peer slows its producers down. A message is written whole or
/// not at all, unless the stream fails: cancelling a task that waits withdraws its message, and one that is being written is
/// completed. After a failure, every further call throws the same error.
public final class OrderedWriter: Sendable {
    /// The stream. Do not write to it in other ways.
    public let stream: WriteStream

    private let turn = AsyncSemaphore(1)
    private let failure = Locked<StreamError?>(nil)

    /// Makes a writer for an open stream.
    public init(_ stream: WriteStream) {
        self.stream = stream
    }

    /// Writes a message.
    ///
    /// - Throws: The error of the stream; ``StreamError/cancelled`` if the task was cancelled before its message was begun.
    public func write(_ bytes: [UInt8]) async throws(StreamError) {
        do throws(WaitError) {
            try await turn.wait()
        } catch {
            throw .cancelled
        }
        defer { turn.signal() }
        if let failure = failure.withLock({ $0 }) { throw failure }
        // In a task of its own: a write whose task is cancelled ends the stream, since a part of it may have been sent.
        let result = await Task { [stream] () -> Result<Void, StreamError> in
            do throws(StreamError) {
                try await stream.writeAll(bytes)
                return .success(())
            } catch {
                return .failure(error)
            }
        }.value
        guard case .failure(let error) = result else { return }
        failure.withLock { $0 = error }
        throw error
    }

    /// Writes a text in UTF-8. See ``write(_:)-([UInt8])``.
    public func write(_ text: String) async throws(StreamError) {
        try await write(Array(text.utf8))
    }
}
