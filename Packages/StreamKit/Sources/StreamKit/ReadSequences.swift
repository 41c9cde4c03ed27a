/// The bytes that arrive on a stream, in chunks: ``ReadStream/chunks(of:)``.
public struct ByteChunks: AsyncSequence, Sendable {
    let stream: ReadStream
    let size: Int

    /// Reads the chunks; one iterator at a time.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let stream: ReadStream
        let size: Int

        /// As ``next(isolation:)``.
        public mutating func next() async throws(StreamError) -> [UInt8]? { try await next(isolation: nil) }

        /// The next chunk, never empty; nil at the end.
        ///
        /// - Throws: the failure of the stream, or ``StreamError/cancelled``.
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

/// The lines of a text that arrives on a stream: ``ReadStream/lines(limit:)``.
public struct TextLines: AsyncSequence, Sendable {
    let stream: ReadStream
    let limit: Int

    /// Reads the lines; one iterator at a time, since an iterator keeps the bytes after its last line.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let stream: ReadStream
        let limit: Int
        private var bytes: [UInt8] = []
        /// The first byte that has not been returned, and the first that has not been searched.
        private var (start, searched) = (0, 0)

        init(stream: ReadStream, limit: Int) {
            self.stream = stream
            self.limit = limit
        }

        /// As ``next(isolation:)``.
        public mutating func next() async throws(StreamError) -> String? { try await next(isolation: nil) }

        /// The next line, without its line ending; nil at the end.
        ///
        /// - Throws: the failure of the stream, ``StreamError/cancelled``, or `EMSGSIZE` for a line beyond the limit.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> String? {
            // One read may have brought thousands of lines.
            if stream.waitPoint.loop.isShareSpent { await Task.yield() }
            while true {
                if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                    defer { (start, searched) = (end + 1, end + 1) }
                    return try line(bytes[start..<end])
                }
                guard bytes.count - start <= limit + 1 else { throw .moreThan(limit) }
                bytes.removeFirst(start)
                (start, searched) = (0, bytes.count)
                let more = try await stream.read(upTo: ReadStream.chunkSize)
                if more.isEmpty {
                    defer { (bytes, searched) = ([], 0) }
                    return bytes.isEmpty ? nil : try line(bytes[...])
                }
                bytes += more
            }
        }

        /// Reads bytes instead of a line: those that follow the last line, at most `limit`. The result is empty only at the end.
        ///
        /// For protocols whose lines announce data, such as a length:
        ///
        /// ```swift
        /// var lines = stream.lines(limit: 1000).makeAsyncIterator()
        /// guard let head = try await lines.next(), var rest = Int(head) else { return }
        /// while rest > 0, case let bytes = try await lines.read(upTo: min(rest, 65536)), !bytes.isEmpty {
        ///     try await file.writeAll(bytes)
        ///     rest -= bytes.count
        /// }
        /// ```
        ///
        /// - Throws: as `ReadStream.read(upTo:)`.
        public mutating func read(upTo limit: Int) async throws(StreamError) -> [UInt8] {
            let kept = bytes[start...].prefix(limit)
            guard kept.isEmpty else {
                defer {
                    start += kept.count
                    searched = start
                }
                return Array(kept)
            }
            return try await stream.read(upTo: limit)
        }

        private func line(_ bytes: ArraySlice<UInt8>) throws(StreamError) -> String {
            let line = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
            guard line.count <= limit else { throw .moreThan(limit) }
            return String(decoding: line, as: UTF8.self)
        }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(stream: stream, limit: limit)
    }
}
