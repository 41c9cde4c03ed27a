// The forms of `write`. See ReadStream+Reading.swift for the names shared by blocking and async forms.

extension WriteStream {
    /// Writes as many bytes as fit without waiting: nil if none fit now, 0 if none ever will (a full destination of
    /// fixed size).
    ///
    /// - Throws: the failure of the stream; ``StreamError/notOpen``, ``StreamError/closed``, ``StreamError/busy``.
    public func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Int? {
        try connection.tryWrite(bytes)
    }

    /// Writes as many bytes of an array as fit without waiting: nil if none fit now, 0 if none ever will.
    public func tryWrite(_ bytes: [UInt8]) throws(StreamError) -> Int? {
        try connection.tryWrite(bytes.span.bytes)
    }

    /// Passes down bytes that a layer, such as TLS, accepted in ``tryWrite(_:)-(RawSpan)`` but had no room for below.
    ///
    /// Writes that wait do this themselves. After the last `tryWrite`, call it until it returns true, waiting for room
    /// in between. Another write and ``canAcceptBytes`` pass bytes down, too.
    ///
    /// - Returns: false if bytes are still held.
    /// - Throws: as ``tryWrite(_:)-(RawSpan)``.
    public func tryFlush() throws(StreamError) -> Bool {
        try connection.tryFlush()
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
        try await connection.write(bytes)
    }

    /// Writes 1…n bytes from the front of an array and returns their number.
    public nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(StreamError) -> Int {
        try await connection.write(bytes.span.bytes)
    }

    /// Writes all bytes.
    ///
    /// - Throws: as `write(_:)`; an unknown part has been written then.
    public nonisolated(nonsending) func writeAll(_ bytes: RawSpan) async throws(StreamError) {
        try await connection.writeAll(bytes)
    }

    /// Writes all bytes of an array.
    public nonisolated(nonsending) func writeAll(_ bytes: [UInt8]) async throws(StreamError) {
        try await connection.writeAll(bytes.span.bytes)
    }

    /// Ends the sending direction: the peer sees the end after all written bytes (a FIN, a TLS close_notify).
    ///
    /// The stream is then at its end; the other half of a pair stays open.
    public nonisolated(nonsending) func finish() async throws(StreamError) {
        try await connection.finish()
    }
}

// MARK: - Blocking

extension WriteStream {
    /// Writes 1…n bytes from the front of `bytes`, waiting on the calling thread, and returns their number.
    ///
    /// As the async form, but waits in the system call. Replaces `CFWriteStreamWrite`.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func write(_ bytes: RawSpan) throws(StreamError) -> Int {
        try connection.blockingWrite(bytes)
    }

    /// Writes 1…n bytes from the front of an array, waiting on the calling thread, and returns their number.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func write(_ bytes: [UInt8]) throws(StreamError) -> Int {
        try connection.blockingWrite(bytes.span.bytes)
    }

    /// Writes all bytes, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func writeAll(_ bytes: RawSpan) throws(StreamError) {
        try connection.blockingWriteAll(bytes)
    }

    /// Writes all bytes of an array, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func writeAll(_ bytes: [UInt8]) throws(StreamError) {
        try connection.blockingWriteAll(bytes.span.bytes)
    }

    /// Ends the sending direction, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func finish() throws(StreamError) {
        try connection.blockingFinish()
    }

    /// Ends the sending direction if that does not wait; false if it would: try again later.
    public func tryFinish() throws(StreamError) -> Bool {
        try connection.tryFinish()
    }
}
