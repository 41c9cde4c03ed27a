// The forms of `write`; see ReadStream+Reading.swift for why blocking and async forms share a name.

extension WriteStream {
    /// Writes what fits, without waiting: nil if nothing does now, 0 if nothing ever will (a full store of fixed size).
    ///
    /// - Throws: why the stream failed; ``StreamError/notOpen``, ``StreamError/closed``, ``StreamError/busy``.
    public func tryWrite(_ bytes: RawSpan) throws(StreamError) -> Int? {
        try connection.tryWrite(bytes)
    }

    /// Writes what fits, without waiting: nil if nothing does now, 0 if nothing ever will.
    public func tryWrite(_ bytes: [UInt8]) throws(StreamError) -> Int? {
        try connection.tryWrite(bytes.span.bytes)
    }

    /// Passes on what a layer took over and the one below had no room for, as TLS may after ``tryWrite(_:)-(RawSpan)``.
    ///
    /// The forms of `write` that wait do this for themselves. After a last `tryWrite` call it until it says true, waiting for
    /// room in between; another write, and asking ``canAcceptBytes``, pass it on too.
    ///
    /// - Returns: false if something is still held.
    /// - Throws: as ``tryWrite(_:)-(RawSpan)``.
    public func tryFlush() throws(StreamError) -> Bool {
        try connection.tryFlush()
    }
}

// MARK: - Async

extension WriteStream {
    /// Writes 1…n bytes from the front of `bytes` and returns how many; the rest is the caller's to offer again.
    ///
    /// Waits, without blocking a thread, until at least one byte is accepted, also while the stream is opening. 0 only if
    /// a store of fixed size is full. Replaces `CFWriteStreamWrite`.
    ///
    /// - Throws: why the stream failed; ``StreamError/cancelled`` and ``StreamError/timedOut``, after which the stream is in
    ///   error; ``StreamError/closed``, ``StreamError/busy``.
    public nonisolated(nonsending) func write(_ bytes: RawSpan) async throws(StreamError) -> Int {
        try await connection.write(bytes)
    }

    /// Writes 1…n bytes from the front of an array and returns how many.
    public nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(StreamError) -> Int {
        try await connection.write(bytes.span.bytes)
    }

    /// Writes every byte.
    ///
    /// - Throws: as `write(_:)`; an unknown part has then been written.
    public nonisolated(nonsending) func writeAll(_ bytes: RawSpan) async throws(StreamError) {
        try await connection.writeAll(bytes)
    }

    /// Writes every byte of an array.
    public nonisolated(nonsending) func writeAll(_ bytes: [UInt8]) async throws(StreamError) {
        try await connection.writeAll(bytes.span.bytes)
    }

    /// Ends the sending direction: the peer sees the end after all that was written (a FIN, a TLS close_notify).
    ///
    /// The stream is then at its end; the other half of a pair goes on.
    public nonisolated(nonsending) func finish() async throws(StreamError) {
        try await connection.finish()
    }
}

// MARK: - Blocking

extension WriteStream {
    /// Writes 1…n bytes from the front of `bytes`, waiting on the calling thread, and returns how many.
    ///
    /// As the async form, with the wait in the system call itself. Replaces `CFWriteStreamWrite`.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func write(_ bytes: RawSpan) throws(StreamError) -> Int {
        try connection.blockingWrite(bytes)
    }

    /// Writes 1…n bytes from the front of an array, waiting on the calling thread, and returns how many.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func write(_ bytes: [UInt8]) throws(StreamError) -> Int {
        try connection.blockingWrite(bytes.span.bytes)
    }

    /// Writes every byte, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func writeAll(_ bytes: RawSpan) throws(StreamError) {
        try connection.blockingWriteAll(bytes)
    }

    /// Writes every byte of an array, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func writeAll(_ bytes: [UInt8]) throws(StreamError) {
        try connection.blockingWriteAll(bytes.span.bytes)
    }

    /// Ends the sending direction, waiting on the calling thread.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func finish() throws(StreamError) {
        try connection.blockingFinish()
    }

    /// Ends the sending direction if that takes no waiting; false if it does: try again later.
    public func tryFinish() throws(StreamError) -> Bool {
        try connection.tryFinish()
    }
}
