/// What arrives on a stream, piece by piece: ``ReadStream/chunks(of:)``.
public struct ByteChunks: AsyncSequence, Sendable {
    /// One piece, never empty.
    public typealias Element = [UInt8]
    /// Why the stream failed, or ``StreamError/cancelled``.
    public typealias Failure = StreamError

    let stream: ReadStream
    let size: Int

    /// Reads the pieces; one iterator at a time.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let stream: ReadStream
        let size: Int

        /// The next piece, nil at the end.
        public mutating func next() async throws(StreamError) -> [UInt8]? {
            let chunk = try await stream.read(upTo: size)
            return chunk.isEmpty ? nil : chunk
        }

        /// The next piece, nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> [UInt8]? {
            let chunk = try await stream.read(upTo: size)
            return chunk.isEmpty ? nil : chunk
        }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(stream: stream, size: size)
    }
}
