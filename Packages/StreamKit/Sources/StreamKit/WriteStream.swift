public import EventLoops
public import FoundationEssentials

/// A stream of bytes that is written: to a file, memory, a connection, or a custom transport.
///
/// ```swift
/// let stream = WriteStream(path: "notes.txt", append: true)
/// try stream.open()
/// try await stream.writeAll("one more line\n")
/// stream.close()
/// ```
///
/// The counterpart of ``ReadStream``, with the same four styles and the same rules for threads. A write that is
/// cancelled or times out has sent an unknown part of its bytes, so the stream fails. Replaces `CFWriteStream`.
public final class WriteStream: StreamHalf {
    let connection: Connection

    /// The writing half of a connection.
    public var side: StreamSide { StreamSide(connection, .writer) }

    init(_ connection: Connection) {
        self.connection = connection
    }

    deinit { connection.release(.writer) }

    /// True if a write would not wait: because of room or an error. False unless the stream is open.
    ///
    /// Never waits. Replaces `CFWriteStreamCanAcceptBytes`.
    public var canAcceptBytes: Bool { side.isReady }
}

// MARK: - Destinations

extension WriteStream {
    /// Makes a stream that writes to a file. The file is created if necessary, and truncated unless `append` is true.
    ///
    /// A blocking write waits for the disk on the calling thread, without a time limit. In the other styles, one of the threads of
    /// `BlockingThreads.files(of:)` writes, while the next write waits: no write keeps an event loop waiting for the disk. A failure is
    /// reported by the next call, at the latest by `finish()`, and so is a disk that does not answer within 60 s (`ETIMEDOUT`,
    /// `StreamErrorReason.unansweredCall`). Bytes accepted before `close()` are still written.
    ///
    /// If ``StreamProperty/fileOffset`` is set before opening, the file is not truncated, and writing begins at that
    /// offset.
    ///
    /// Replaces `OutputStream(toFileAtPath:append:)`.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - append: whether to write behind what the file has, as ``StreamProperty/appendToFile``.
    ///   - opensOnThread: whether one of those threads opens the file, so that `open()` does not wait for the disk. `opened()` and the
    ///     first write then report a file that cannot be opened, and `ETIMEDOUT` if the disk has not answered within 60 s. A call of the
    ///     thread that has begun goes on after `close()`, and may still create or truncate the file.
    ///   - loop: the event loop of the stream.
    public convenience init(
        path: String, append: Bool = false, opensOnThread: Bool = false, loop: EventLoop = .shared
    ) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.writtenFile, point: point, only: .writer) { (connection) throws(StreamError) in
                let appends = connection.withDetails { $0.properties[.appendToFile] } ?? false
                let offset = connection.takeFileOffset()
                let mode: FileTransport.Mode = appends ? .append : offset == nil ? .truncate : .overwrite
                let open = { @Sendable () throws(StreamError) -> any StreamTransport in
                    try FileTransport.open(path: path, mode: mode, from: offset, point: point)
                }
                if opensOnThread { return .continues(FileOpening(path: path, loop: loop, open)) }
                return .opened(try open())
            })
        if append { connection.withDetails { $0.properties[.appendToFile] = true } }
    }

    /// Makes a stream that writes to a file, from a `file:` URL; nil for any other URL. Replaces
    /// `CFWriteStreamCreateWithFile`.
    public convenience init?(url: URL, append: Bool = false, loop: EventLoop = .shared) {
        guard url.isFileURL else { return nil }
        self.init(path: url.path, append: append, loop: loop)
    }

    /// Makes a stream that writes to memory: without limit (nil), or up to `capacity` bytes, after which it is at its
    /// end.
    ///
    /// ``StreamProperty/dataWritten`` returns the bytes written. Replaces `CFWriteStreamCreateWithAllocatedBuffers` and
    /// `CFWriteStreamCreateWithBuffer`.
    public convenience init(toMemoryOfCapacity capacity: Int?, loop: EventLoop = .shared) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.writtenMemory, point: point, only: .writer) { _ in
                .opened(MemorySink(capacity: capacity, point: point))
            })
    }

    /// Makes a stream over a custom transport.
    public convenience init(transport: any StreamTransport) {
        self.init(Connection(transport: transport, only: .writer))
    }
}

// MARK: - Writing

// See ReadStream.swift for the names that blocking and async forms share.

extension WriteStream {
    /// Writes as many bytes as fit without waiting: nil if none fit now, 0 if none ever will (a full destination of
    /// fixed size).
    ///
    /// - Throws: the failure of the stream; ``StreamError/notOpen``, ``StreamError/closed``, ``StreamError/busy``.
    public func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Int? {
        try WriteCall.tryOnce(connection, bytes).count
    }

    /// Writes as many bytes of an array as fit without waiting: nil if none fit now, 0 if none ever will.
    public func tryWrite(_ bytes: [UInt8]) throws(StreamError) -> Int? {
        try WriteCall.tryOnce(connection, bytes.span.bytes).count
    }

    /// Passes down bytes that a layer, such as TLS, accepted in ``tryWrite(_:)-(RawSpan)`` but had no room for below.
    ///
    /// Writes that wait do this themselves. After the last `tryWrite`, call it until it returns true, waiting for room
    /// in between, or call ``flush()``. Another write and ``canAcceptBytes`` pass bytes down, too.
    ///
    /// - Returns: false if bytes are still held.
    /// - Throws: as ``tryWrite(_:)-(RawSpan)``.
    public func tryFlush() throws(StreamError) -> Bool {
        try connection.tryFlush().count != nil
    }
}

// MARK: - Async

extension WriteStream {
    /// Writes 1…n bytes from the front of `bytes` and returns their number; the caller must offer the rest again.
    ///
    /// Waits, without blocking a thread, until at least one byte is accepted, even while the stream is opening. Returns
    /// 0 only if a destination of fixed size is full. Replaces `CFWriteStreamWrite`.
    ///
    /// - Throws: the failure of the stream; ``StreamError/cancelled`` and ``StreamError/timedOut``, after which the
    ///   stream has failed; ``StreamError/closed``, ``StreamError/busy``.
    public nonisolated(nonsending) func write(_ bytes: RawSpan) async throws(StreamError) -> Int {
        try await WriteCall.suspend(connection, .some, bytes)
    }

    /// Waits until layers, such as TLS, have passed down all bytes that ``tryWrite(_:)-(RawSpan)`` accepted.
    ///
    /// - Throws: as `write(_:)`.
    public nonisolated(nonsending) func flush() async throws(StreamError) {
        _ = try await WriteCall.suspend(connection, .flush)
    }

    /// Writes 1…n bytes from the front of an array and returns their number.
    public nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(StreamError) -> Int {
        try await WriteCall.suspend(connection, .some, bytes.span.bytes)
    }

    /// Writes all bytes.
    ///
    /// - Throws: as `write(_:)`; an unknown part has been written then.
    public nonisolated(nonsending) func writeAll(_ bytes: RawSpan) async throws(StreamError) {
        _ = try await WriteCall.suspend(connection, .all, bytes)
    }

    /// Writes all bytes of an array.
    public nonisolated(nonsending) func writeAll(_ bytes: [UInt8]) async throws(StreamError) {
        _ = try await WriteCall.suspend(connection, .all, bytes.span.bytes)
    }

    /// Writes a text in UTF-8.
    public nonisolated(nonsending) func writeAll(_ text: String) async throws(StreamError) {
        try await writeAll(Array(text.utf8))
    }

    /// Ends the sending direction: the peer sees the end after all written bytes (a FIN, a TLS close_notify).
    ///
    /// The stream is then at its end; the other half of a pair stays open.
    public nonisolated(nonsending) func finish() async throws(StreamError) {
        let call = try HalfCall(side)
        _ = try await call.suspend(call.untilFinished)
    }
}

// MARK: - Blocking

extension WriteStream {
    /// Writes 1…n bytes from the front of `bytes`, waiting on the calling thread, and returns their number.
    ///
    /// As the async form, but waits in the system call. Replaces `CFWriteStreamWrite`.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func write(_ bytes: RawSpan) throws(StreamError) -> Int {
        try WriteCall.block(connection, .some, bytes)
    }

    /// Writes 1…n bytes from the front of an array, waiting on the calling thread, and returns their number.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func write(_ bytes: [UInt8]) throws(StreamError) -> Int {
        try WriteCall.block(connection, .some, bytes.span.bytes)
    }

    /// Writes all bytes, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func writeAll(_ bytes: RawSpan) throws(StreamError) {
        _ = try WriteCall.block(connection, .all, bytes)
    }

    /// Writes all bytes of an array, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func writeAll(_ bytes: [UInt8]) throws(StreamError) {
        _ = try WriteCall.block(connection, .all, bytes.span.bytes)
    }

    /// Writes a text in UTF-8, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func writeAll(_ text: String) throws(StreamError) {
        try writeAll(Array(text.utf8))
    }

    /// Ends the sending direction, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func finish() throws(StreamError) {
        let call = try HalfCall(side)
        _ = try call.block(call.untilFinished)
    }

    /// Ends the sending direction if that does not wait; false if it would: try again later.
    @_spi(Packages) public func tryFinish() throws(StreamError) -> Bool {
        try connection.tryFinish().count != nil
    }
}
