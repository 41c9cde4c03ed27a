public import EventLoops

/// A stream of bytes that is written: to a file, memory, a connection, or a custom transport.
///
/// ```swift
/// let stream = WriteStream(path: "notes.txt", append: true)
/// try stream.open()
/// try await stream.writeAll(Array("one more line\n".utf8))
/// stream.close()
/// ```
///
/// The counterpart of ``ReadStream``, with the same four styles and the same rules for threads. A write that is
/// cancelled or times out has sent an unknown part of its bytes, so the stream fails. Replaces `CFWriteStream`.
public final class WriteStream: Sendable {
    let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    deinit { connection.close(.writer) }

    /// Begins to open and returns at once; see ``ReadStream/open()``. Replaces `CFWriteStreamOpen`.
    public func open() throws(StreamError) {
        try connection.open(.writer)
        if let client = connection.client(.writer) { client.keepAlive(self) }
    }

    /// Waits until the stream is open.
    ///
    /// - Throws: the reason why it could not be opened.
    public nonisolated(nonsending) func opened() async throws(StreamError) {
        try await connection.opened(.writer)
    }

    /// Waits on the calling thread until the stream is open.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func opened() throws(StreamError) {
        try connection.blockUntilOpened(.writer)
    }

    /// Closes the stream at once and releases its resources; no event follows. Idempotent; may be called at any time
    /// from any thread.
    ///
    /// Closing may mean aborting. It therefore does not end the peer's reading while the other half of a pair is open;
    /// use `finish()` for that. Replaces `CFWriteStreamClose`.
    public func close() {
        connection.close(.writer)
    }

    /// The stage of the stream's life cycle; never waits. Replaces `CFWriteStreamGetStatus`.
    public var status: StreamStatus { connection.status(.writer) }

    /// The failure of the stream; nil if it has not failed. Replaces `CFWriteStreamCopyError`.
    public var error: StreamError? { connection.status(.writer) == .error ? connection.error(.writer) : nil }

    /// The steps of opening the stream. See ``ConnectionReport``.
    public var report: ConnectionReport { connection.report }

    /// The descriptor, for the caller's own `poll` or `epoll`; nil if there is none. It remains the stream's.
    public var descriptor: Int32? {
        connection.isOpen(.writer) ? connection.nativeDescriptor : nil
    }

    /// True if a write would not wait: because of room or an error. False unless the stream is open.
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
    /// The wait point of a transport built on this stream, after a try that returned nil. See
    /// ``StreamTransport/waitPoint``.
    public var waitPoint: WaitPoint { connection.pointForLayers(.writer) }
}

// MARK: - Events

extension WriteStream {
    /// Sets the client and the events that it receives; see ``ReadStream/setClient(_:_:)``. Replaces
    /// `CFWriteStreamSetClient`.
    public func setClient(_ events: StreamEvents, _ client: (@Sendable (WriteStream, StreamEvent) -> Void)?) {
        connection.setClient(.writer, wanted: events, stream: self, client)
    }

    /// Adds `target` as a place where events are delivered; see ``ReadStream/schedule(on:)``. Replaces
    /// `CFWriteStreamScheduleWithRunLoop`.
    public func schedule(on target: any DeliveryTarget) {
        connection.schedule(.writer, on: target, stream: self)
    }

    /// Ends delivery on `target`. Replaces `CFWriteStreamUnscheduleFromRunLoop`.
    public func unschedule(from target: any DeliveryTarget) {
        connection.unschedule(.writer, from: target)
    }
}

// MARK: - Properties

extension WriteStream {
    /// The value of a property; nil if it has none, or none yet. A copy. Replaces `CFWriteStreamCopyProperty`.
    @inlinable
    public subscript<Value>(property: StreamProperty<Value>) -> Value? {
        guard let value = value(named: property.name) else { return property.defaultValue }
        return StreamProperty.typed(value) ?? property.defaultValue
    }

    /// The kind of the stream, which determines the properties that it honours.
    public var kind: StreamKind { connection.kind }

    /// Sets a property; nil restores the default. Replaces `CFWriteStreamSetProperty`.
    ///
    /// - Throws: `EINVAL` if the stream's ``kind`` does not honour the property, if it is read-only, or if it must be
    ///   set before opening. Nothing has changed then.
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
