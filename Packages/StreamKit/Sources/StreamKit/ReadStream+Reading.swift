internal import EventLoops

// The forms of `read`. Blocking and async forms share a name and differ only in how they wait. `noasync` makes a
// forgotten `await` in a task an error, rather than letting it block a thread of the pool.

extension ReadStream {
    /// Reads available bytes without waiting: nil if there are none yet, 0 at the end.
    ///
    /// - Throws: the failure of the stream; ``StreamError/notOpen``, ``StreamError/closed``, ``StreamError/busy``.
    public func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Int? {
        try connection.tryRead(into: &buffer)
    }

    /// Reads available bytes into an array without waiting: nil if there are none yet, 0 at the end.
    public func tryRead(into buffer: inout [UInt8]) throws(StreamError) -> Int? {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try connection.tryRead(into: &bytes)
    }
}

// MARK: - Async

extension ReadStream {
    /// Reads 1…n bytes into the front of `buffer`. Returns 0 only at the end.
    ///
    /// Waits, without blocking a thread, until at least one byte is available, even while the stream is opening; then
    /// reads the available bytes. A cancelled read consumes nothing, and the stream stays usable. Replaces
    /// `CFReadStreamRead`.
    ///
    /// - Throws: the failure of the stream; ``StreamError/cancelled``, ``StreamError/closed``, ``StreamError/busy``;
    ///   ``StreamError/timedOut`` after ``StreamProperty/readLimit``.
    public nonisolated(nonsending) func read(into buffer: inout MutableRawSpan) async throws(StreamError) -> Int {
        var step = try connection.beginRead(into: &buffer)
        while case .wait(let point, let interest, let deadline) = step {
            let wake = await point.readerWait(for: interest, until: deadline)
            step = try connection.continueRead(after: wake, until: deadline, into: &buffer)
        }
        return step.count
    }

    /// Reads 1…n bytes into the front of an array, which keeps its length. Returns 0 only at the end.
    public nonisolated(nonsending) func read(into buffer: inout [UInt8]) async throws(StreamError) -> Int {
        // Repeats the form above instead of calling it: each additional async call adds memory to a suspended task.
        var step = try beginRead(into: &buffer)
        while case .wait(let point, let interest, let deadline) = step {
            let wake = await point.readerWait(for: interest, until: deadline)
            step = try continueRead(after: wake, until: deadline, into: &buffer)
        }
        return step.count
    }

    @inline(never)
    private func beginRead(into buffer: inout [UInt8]) throws(StreamError) -> Connection.ReadStep {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try connection.beginRead(into: &bytes)
    }

    @inline(never)
    private func continueRead(
        after wake: Wake, until deadline: Moment?, into buffer: inout [UInt8]
    ) throws(StreamError) -> Connection.ReadStep {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try connection.continueRead(after: wake, until: deadline, into: &bytes)
    }

    /// Reads 1…n bytes into the caller's memory. Returns 0 only at the end.
    public nonisolated(nonsending) func read(
        into buffer: UnsafeMutableRawBufferPointer
    ) async throws(StreamError) -> Int {
        var bytes = MutableRawSpan(_unsafeBytes: buffer)
        return try await read(into: &bytes)
    }

    /// Reads at most `limit` bytes into a new array, which is empty only at the end. For actors, whose state cannot be
    /// passed inout.
    public nonisolated(nonsending) func read(upTo limit: Int) async throws(StreamError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = try await read(into: &buffer)
        buffer.removeLast(limit - count)
        return buffer
    }

    /// Reads to the end.
    ///
    /// - Parameter limit: the most bytes to accept.
    /// - Throws: as `read(into:)`; an error with `EMSGSIZE` if there are more bytes than `limit`.
    public nonisolated(nonsending) func readAll(limit: Int) async throws(StreamError) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        while true {
            let count = try await read(into: &buffer)
            if count == 0 { return all }
            if all.count + count > limit { throw .moreThan(limit) }
            all.append(contentsOf: buffer[..<count])
        }
    }

    /// The arriving bytes in chunks of 1…`size` bytes, until the end.
    ///
    /// Each chunk is read on demand, so a slow consumer slows the peer down.
    public func chunks(of size: Int = ReadStream.chunkSize) -> ByteChunks {
        ByteChunks(stream: self, size: max(1, size))
    }

    /// 64 KiB. Larger reads exceed the processor's cache; smaller ones cost more calls.
    public static let chunkSize = 65536
}

// MARK: - Blocking

extension ReadStream {
    /// Reads 1…n bytes into the front of `buffer`, waiting on the calling thread. Returns 0 only at the end.
    ///
    /// As the async form, but waits in the system call. ``close()`` from another thread ends the wait at once. Replaces
    /// `CFReadStreamRead`.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Int {
        try connection.blockingRead(into: &buffer)
    }

    /// Reads 1…n bytes into the front of an array, waiting on the calling thread. Returns 0 only at the end.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func read(into buffer: inout [UInt8]) throws(StreamError) -> Int {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try connection.blockingRead(into: &bytes)
    }

    /// Reads 1…n bytes into the caller's memory, waiting on the calling thread. Returns 0 only at the end.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int {
        var bytes = MutableRawSpan(_unsafeBytes: buffer)
        return try connection.blockingRead(into: &bytes)
    }

    /// Appends 1…n bytes to uninitialized memory, waiting on the calling thread. Returns 0 only at the end.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func read(into buffer: inout OutputRawSpan) throws(StreamError) -> Int {
        try buffer.withUnsafeMutableBytes { (bytes, count) throws(StreamError) in
            let free = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
            var span = MutableRawSpan(_unsafeBytes: free)
            let read = try connection.blockingRead(into: &span)
            count += read
            return read
        }
    }

    /// Reads at most `limit` bytes into a new array, waiting on the calling thread. The array is empty only at the end.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func read(upTo limit: Int) throws(StreamError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = try read(into: &buffer)
        buffer.removeLast(limit - count)
        return buffer
    }

    /// Reads to the end, waiting on the calling thread. See the async form.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func readAll(limit: Int) throws(StreamError) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: ReadStream.chunkSize)
        while true {
            let count = try read(into: &buffer)
            if count == 0 { return all }
            if all.count + count > limit { throw .moreThan(limit) }
            all.append(contentsOf: buffer[..<count])
        }
    }
}

extension StreamError {
    fileprivate static func moreThan(_ limit: Int) -> StreamError {
        StreamError(
            posix: 90,  // EMSGSIZE
            Sentence("read.tooMuch", "The stream holds more than the limit of %1 bytes.", String(limit)))
    }
}

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
