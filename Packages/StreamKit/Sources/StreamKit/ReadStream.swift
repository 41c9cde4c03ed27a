public import EventLoops
public import FoundationEssentials

/// A stream of bytes that is read: from a file, memory, a connection, or a custom transport.
///
/// ```swift
/// let stream = ReadStream(path: "/etc/hostname")
/// try stream.open()
/// for try await chunk in stream.chunks() {
///     print(String(decoding: chunk, as: UTF8.self), terminator: "")
/// }
/// ```
///
/// One object serves four styles, which may alternate on one stream:
///
/// - **blocking**: `try stream.read(into: &buffer)` waits on the calling thread;
/// - **polling**: ``hasBytesAvailable``, `tryRead(into:)` and ``StreamHalf/status`` never wait;
/// - **scheduled**: ``StreamHalf/setClient(_:_:)`` and ``StreamHalf/schedule(on:)`` call back on a run loop, queue or event loop;
/// - **async**: `try await stream.read(into: &buffer)`, ``chunks(of:)``.
///
/// Every member may be called from any thread. Only one read at a time is allowed: a second one throws
/// ``StreamError/busy``. ``StreamHalf/close()`` may be called at any time and ends a waiting call with ``StreamError/closed``.
/// Replaces `CFReadStream`.
public final class ReadStream: StreamHalf {
    let connection: Connection

    /// The reading half of a connection.
    public var side: StreamSide { StreamSide(connection, .reader) }

    /// This stream as the lower transport of a layer, such as the link of HTTP/1.1. Its reads do not wait.
    @_spi(Packages) public var transport: any StreamTransport { connection }

    init(_ connection: Connection) {
        self.connection = connection
    }

    deinit { connection.release(.reader) }

    /// True if a read would not wait: because of bytes, the end, or an error. False unless the stream is open.
    ///
    /// Never waits. Replaces `CFReadStreamHasBytesAvailable`.
    public var hasBytesAvailable: Bool { side.isReady }
}

// MARK: - Waiting without reading

extension ReadStream {
    /// Waits until a read would not wait, because of bytes, the end, or an error. Consumes nothing.
    ///
    /// - Throws: the failure of the stream; ``StreamError/cancelled``, ``StreamError/closed``, ``StreamError/busy``;
    ///   ``StreamError/timedOut`` after ``StreamProperty/readTimeout``.
    public nonisolated(nonsending) func ready() async throws(StreamError) {
        let call = try HalfCall(side, isTransfer: false)
        _ = try await call.suspend(call.untilReady)
    }

    /// Waits on the calling thread until a read would not wait. Consumes nothing.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func ready() throws(StreamError) {
        let call = try HalfCall(side, isTransfer: false)
        if try !call.blockInKernel() { _ = try call.block(call.untilReady) }
    }
}

extension ReadStream {
    /// Waits until a read would not wait, or `isOver` is true. Consumes nothing.
    ///
    /// For a transport that tells more than bytes, such as the head of an HTTP response: the stream's `response()` waits for that, and not
    /// for the body.
    ///
    /// - Parameter isOver: called after each event of the transport, without any lock.
    /// - Throws: as `ready()`.
    @_spi(Packages) public nonisolated(nonsending) func ready(or isOver: () -> Bool) async throws(StreamError) {
        let call = try HalfCall(side, isTransfer: false)
        _ = try await call.suspend { (wake, deadline) throws(StreamError) in
            try call.untilReady(or: isOver, after: wake, deadline)
        }
    }

    /// Waits on the calling thread until a read would not wait, or `isOver` is true. Consumes nothing.
    ///
    /// - Parameter isOver: called after each event of the transport, without any lock.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    @_spi(Packages) public func ready(or isOver: () -> Bool) throws(StreamError) {
        let call = try HalfCall(side, isTransfer: false)
        _ = try call.block { (wake, deadline) throws(StreamError) in
            try call.untilReady(or: isOver, after: wake, deadline)
        }
    }
}

// MARK: - Sources

extension ReadStream {
    /// Makes a stream of bytes in memory, which opens at once.
    ///
    /// Replaces `CFReadStreamCreateWithBytesNoCopy` and `InputStream(data:)`.
    public convenience init(bytes: [UInt8], loop: EventLoop = .shared) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.readMemory, point: point, only: .reader) { _ in
                .opened(MemorySource(bytes, point: point))
            })
    }

    /// Makes a stream of memory that another module of this package provides, which opens at once.
    package convenience init(memory: any StreamTransport) {
        self.init(Connection(.readMemory, point: memory.waitPoint, only: .reader) { _ in .opened(memory) })
    }

    /// Makes a stream of the bytes of a file. The file is first accessed by `open()`, which fails if it does not exist.
    ///
    /// A blocking read waits for the disk on the calling thread, without a time limit. In the other styles, bytes that are in memory are there
    /// at once, and others are read by one of the threads of `BlockingThreads.files(of:)`: no read keeps an event loop waiting for the
    /// disk. If the disk does not answer within 60 s, the stream fails with `ETIMEDOUT` (`StreamErrorReason.unansweredCall`).
    ///
    /// Replaces `InputStream(fileAtPath:)`.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - opensOnThread: whether one of those threads opens the file, so that `open()` does not wait for the disk. `opened()` and the
    ///     first read then report a file that does not exist, and `ETIMEDOUT` if the disk has not answered within 60 s.
    ///   - loop: the event loop of the stream.
    public convenience init(path: String, opensOnThread: Bool = false, loop: EventLoop = .shared) {
        let point = WaitPoint(loop: loop)
        self.init(
            Connection(.readFile, point: point, only: .reader) { (connection) throws(StreamError) in
                let offset = connection.takeFileOffset()
                let open = { @Sendable () throws(StreamError) -> any StreamTransport in
                    try FileTransport.open(path: path, mode: .read, from: offset, point: point)
                }
                if opensOnThread { return .continues(FileOpening(path: path, loop: loop, open)) }
                return .opened(try open())
            })
    }

    /// Makes a stream of the bytes of a file, from a `file:` URL; nil for any other URL. Replaces
    /// `CFReadStreamCreateWithFile`.
    public convenience init?(url: URL, loop: EventLoop = .shared) {
        guard url.isFileURL else { return nil }
        self.init(path: url.path, loop: loop)
    }

    /// Makes a stream over a custom transport.
    public convenience init(transport: any StreamTransport) {
        self.init(Connection(transport: transport, only: .reader))
    }
}

// MARK: - Reading

// Blocking and async forms share a name and differ only in how they wait. `noasync` makes a
// forgotten `await` in a task an error, rather than letting it block a thread of the pool.

extension ReadStream {
    /// Reads available bytes without waiting: nil if there are none yet, 0 at the end.
    ///
    /// - Throws: the failure of the stream; ``StreamError/notOpen``, ``StreamError/closed``, ``StreamError/busy``.
    public func tryRead(into buffer: inout MutableRawSpan) throws(StreamError) -> Int? {
        try ReadCall.tryOnce(connection, into: &buffer).count
    }

    /// Reads available bytes into an array without waiting: nil if there are none yet, 0 at the end.
    public func tryRead(into buffer: inout [UInt8]) throws(StreamError) -> Int? {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try tryRead(into: &bytes)
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
    ///   ``StreamError/timedOut`` after ``StreamProperty/readTimeout``.
    public nonisolated(nonsending) func read(into buffer: inout MutableRawSpan) async throws(StreamError) -> Int {
        var step = try takeStep(after: nil, until: nil, into: &buffer)
        while case .wait(let point, let interest, let deadline) = step {
            let wake = await point.readerWait(for: interest, until: deadline)
            step = try takeStep(after: wake, until: deadline, into: &buffer)
        }
        return step.count
    }

    /// Reads 1…n bytes into the front of an array, which keeps its length. Returns 0 only at the end.
    @inlinable
    @inline(__always)
    public nonisolated(nonsending) func read(into buffer: inout [UInt8]) async throws(StreamError) -> Int {
        // Repeats the form above instead of calling it, and is inlined: each async call adds memory to a suspended task.
        var step = try takeStep(after: nil, until: nil, into: &buffer)
        while case .wait(let point, let interest, let deadline) = step {
            let wake = await point.readerWait(for: interest, until: deadline)
            step = try takeStep(after: wake, until: deadline, into: &buffer)
        }
        return step.count
    }

    // A step of a task: not inlined, so that its variables do not add to the memory of a suspended task.
    @inline(never)
    private func takeStep(
        after wake: Wake?, until deadline: Moment?, into buffer: inout MutableRawSpan
    ) throws(StreamError) -> CallStep {
        let call = ReadCall()
        if wake == nil, let step = try call.begin(connection, for: buffer.byteCount) { return step }
        return try call.step(connection, after: wake, until: deadline, into: &buffer)
    }

    @usableFromInline
    @inline(never)
    func takeStep(after wake: Wake?, until deadline: Moment?, into buffer: inout [UInt8]) throws(StreamError)
        -> CallStep
    {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        let call = ReadCall()
        if wake == nil, let step = try call.begin(connection, for: bytes.byteCount) { return step }
        return try call.step(connection, after: wake, until: deadline, into: &bytes)
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

    /// The arriving text in lines, until the end.
    ///
    /// ```swift
    /// for try await line in stream.lines() { print(line) }
    /// ```
    ///
    /// A line ends with LF or CR LF, which are not part of it; the last one may have no end. Invalid UTF-8 is replaced by U+FFFD.
    /// Data after a line are read with ``TextLines/AsyncIterator/read(upTo:)``: the iterator may hold their first bytes.
    ///
    /// - Parameter limit: The maximum number of bytes of a line. A longer one ends the sequence with `EMSGSIZE`.
    public func lines(limit: Int = ReadStream.chunkSize) -> TextLines {
        TextLines(stream: self, limit: max(0, limit))
    }

    /// 64 KiB. Larger reads exceed the processor's cache; smaller ones cost more calls.
    public static let chunkSize = 65536
}

// MARK: - Blocking

extension ReadStream {
    /// Reads 1…n bytes into the front of `buffer`, waiting on the calling thread. Returns 0 only at the end.
    ///
    /// As the async form, but waits in the system call. ``StreamHalf/close()`` from another thread ends the wait at once. Replaces
    /// `CFReadStreamRead`.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func read(into buffer: inout MutableRawSpan) throws(StreamError) -> Int {
        try ReadCall.block(connection, into: &buffer)
    }

    /// Reads 1…n bytes into the front of an array, waiting on the calling thread. Returns 0 only at the end.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func read(into buffer: inout [UInt8]) throws(StreamError) -> Int {
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try ReadCall.block(connection, into: &bytes)
    }

    /// Reads 1…n bytes into the caller's memory, waiting on the calling thread. Returns 0 only at the end.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> Int {
        var bytes = MutableRawSpan(_unsafeBytes: buffer)
        return try ReadCall.block(connection, into: &bytes)
    }

    /// Appends 1…n bytes to uninitialized memory, waiting on the calling thread. Returns 0 only at the end.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func read(into buffer: inout OutputRawSpan) throws(StreamError) -> Int {
        try buffer.withUnsafeMutableBytes { (bytes, count) throws(StreamError) in
            let free = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
            var span = MutableRawSpan(_unsafeBytes: free)
            let read = try ReadCall.block(connection, into: &span)
            count += read
            return read
        }
    }

    /// Reads at most `limit` bytes into a new array, waiting on the calling thread. The array is empty only at the end.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func read(upTo limit: Int) throws(StreamError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = try read(into: &buffer)
        buffer.removeLast(limit - count)
        return buffer
    }

    /// Reads to the end, waiting on the calling thread. See the async form.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
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
    static func moreThan(_ limit: Int) -> StreamError {
        StreamError(
            posix: 90,  // EMSGSIZE
            Sentence("read.limitReached", "The stream holds more than the limit of %1 bytes.", String(limit)))
    }
}

extension Connection {
    /// The offset to begin at, removed from the properties: once open, the file itself knows its offset.
    func takeFileOffset() -> UInt64? {
        withDetails { details in
            defer { details.properties[.fileOffset] = nil }
            return details.properties[.fileOffset]
        }
    }
}
