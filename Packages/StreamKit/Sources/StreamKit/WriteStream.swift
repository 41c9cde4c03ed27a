public import EventLoops

/// A one-way flow of bytes that are written: to a file, memory, a connection, or a transport of your own.
///
/// ```swift
/// let stream = WriteStream(path: "notes.txt", append: true)
/// try stream.open()
/// try await stream.writeAll(Array("one more line\n".utf8))
/// stream.close()
/// ```
///
/// The mirror image of ``ReadStream``, with the same four styles and the same rules for threads. A write that gave up
/// waiting (cancelled, timed out) leaves the peer with an unknown part of what was offered: the stream is then in error.
/// Replaces `CFWriteStream`.
public final class WriteStream: Sendable {
    let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    deinit { connection.close(.writer) }

    /// Begins to open, and returns at once; see ``ReadStream/open()``. Replaces `CFWriteStreamOpen`.
    public func open() throws(StreamError) {
        try connection.open(.writer)
        if let client = connection.client(.writer) { client.keepAlive(self) }
    }

    /// Waits until the stream is open.
    ///
    /// - Throws: why it could not be opened.
    public nonisolated(nonsending) func opened() async throws(StreamError) {
        try await connection.opened(.writer)
    }

    /// Waits on the calling thread until the stream is open.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func opened() throws(StreamError) {
        try connection.blockUntilOpened(.writer)
    }

    /// Ends the flow at once and frees what it holds; no event follows. Safe at any time, from any thread, twice.
    ///
    /// It may be used to abort, so it does not end the peer's reading while the other half of a pair is open; that is
    /// what `finish()` is for. Replaces `CFWriteStreamClose`.
    public func close() {
        connection.close(.writer)
    }

    /// How far the stream's life has come; never waits. Replaces `CFWriteStreamGetStatus`.
    public var status: StreamStatus { connection.status(.writer) }

    /// Why the stream failed; nil while it has not. Replaces `CFWriteStreamCopyError`.
    public var error: StreamError? { connection.status(.writer) == .error ? connection.error(.writer) : nil }

    /// What opening did, step by step. See ``ConnectionReport``.
    public var report: ConnectionReport { connection.report }

    /// The descriptor to give to `poll` or `epoll` of your own, nil if there is none. It stays the stream's.
    public var descriptor: Int32? {
        connection.isOpen(.writer) ? connection.nativeDescriptor : nil
    }

    /// True if a write would not wait: for room, or for an error. False unless the stream is open.
    ///
    /// Never waits. Replaces `CFWriteStreamCanAcceptBytes`.
    public var canAcceptBytes: Bool {
        guard connection.isOpen(.writer) else { return false }
        do throws(StreamError) {
            if case .wouldBlock = try connection.poll(.writer) { return false }
            return true
        } catch {
            return true
        }
    }
}

extension WriteStream {
    /// Where a transport built on this stream waits after a try that gave nil. See ``StreamTransport/waitPoint``.
    public var waitPoint: WaitPoint { connection.placeForLayers(.writer) }
}

// MARK: - Events

extension WriteStream {
    /// Names who is told of events; see ``ReadStream/setClient(_:_:)``. Replaces `CFWriteStreamSetClient`.
    public func setClient(_ events: StreamEvents, _ client: (@Sendable (WriteStream, StreamEvent) -> Void)?) {
        connection.setClient(.writer, wanted: events, stream: self, client)
    }

    /// Has events told on `target`; see ``ReadStream/schedule(on:)``. Replaces `CFWriteStreamScheduleWithRunLoop`.
    public func schedule(on target: any DeliveryTarget) {
        connection.schedule(.writer, on: target, stream: self)
    }

    /// Ends the telling on `target`. Replaces `CFWriteStreamUnscheduleFromRunLoop`.
    public func unschedule(from target: any DeliveryTarget) {
        connection.unschedule(.writer, from: target)
    }
}

// MARK: - Properties

extension WriteStream {
    /// The value of a property; nil if it has none, or none yet. A copy. Replaces `CFWriteStreamCopyProperty`.
    @inlinable
    public subscript<Value>(property: StreamProperty<Value>) -> Value? {
        value(named: property.name) as? Value ?? property.defaultValue
    }

    /// What the stream is made of, and which properties it therefore honours.
    public var kind: StreamKind { connection.kind }

    /// Sets a property; nil goes back to the default. Replaces `CFWriteStreamSetProperty`.
    ///
    /// - Throws: `EINVAL` if the stream's ``kind`` does not honour it, if it is only told, or if it is too late. Nothing has
    ///   changed then.
    @inlinable
    public func set<Value>(_ property: StreamProperty<Value>, to value: Value?) throws(StreamError) {
        try setValue(value, for: property.key)
    }

    @usableFromInline
    func value(named name: String) -> (any Sendable)? {
        connection.value(named: name)
    }

    @usableFromInline
    func setValue(_ value: (any Sendable)?, for key: StreamPropertyKey) throws(StreamError) {
        try connection.setValue(value, for: key)
    }
}
