/// The bytes that arrive on a stream, in chunks: ``ReadStream/chunks(of:)``.
public struct ByteChunks: AsyncSequence, Sendable {
    /// A chunk, never empty.
    public typealias Element = [UInt8]
    /// The failure of the stream, or ``StreamError/cancelled``.
    public typealias Failure = StreamError

    let stream: ReadStream
    let size: Int

    /// Reads the chunks; one iterator at a time.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let stream: ReadStream
        let size: Int

        /// The next chunk; nil at the end.
        public mutating func next() async throws(StreamError) -> [UInt8]? {
            let chunk = try await stream.read(upTo: size)
            return chunk.isEmpty ? nil : chunk
        }

        /// The next chunk; nil at the end.
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
