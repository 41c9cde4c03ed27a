public import EventLoops

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
/// - **polling**: ``hasBytesAvailable``, `tryRead(into:)` and ``status`` never wait;
/// - **scheduled**: ``setClient(_:_:)`` and ``schedule(on:)`` call back on a run loop, queue or event loop;
/// - **async**: `try await stream.read(into: &buffer)`, ``chunks(of:)``.
///
/// Every member may be called from any thread. Only one read at a time is allowed: a second one throws
/// ``StreamError/busy``. ``close()`` may be called at any time and ends a waiting call with ``StreamError/closed``.
/// Replaces `CFReadStream`.
public final class ReadStream: Sendable {
    let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    deinit { connection.close(.reader) }

    /// Begins to open and returns at once; ``status`` is then `.opening` or `.open`.
    ///
    /// Callers need not wait for the end of opening, since a read does. Opening either half of a pair opens the shared
    /// connection. Replaces `CFReadStreamOpen`.
    ///
    /// - Throws: a failure that is known at once, such as that of a missing file; ``StreamError/alreadyOpened``.
    public func open() throws(StreamError) {
        try connection.open(.reader)
        if let client = connection.client(.reader) { client.keepAlive(self) }
    }

    /// Waits until the stream is open.
    ///
    /// - Throws: the reason why it could not be opened.
    public nonisolated(nonsending) func opened() async throws(StreamError) {
        try await connection.opened(.reader)
    }

    /// Waits on the calling thread until the stream is open.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func opened() throws(StreamError) {
        try connection.blockUntilOpened(.reader)
    }

    /// Closes the stream at once and releases its resources; no event follows. Idempotent; may be called at any time
    /// from any thread.
    ///
    /// The connection of a pair remains for the other half. Replaces `CFReadStreamClose`.
    public func close() {
        connection.close(.reader)
    }

    /// The stage of the stream's life cycle; never waits. Replaces `CFReadStreamGetStatus`.
    public var status: StreamStatus { connection.status(.reader) }

    /// The failure of the stream; nil if it has not failed. Replaces `CFReadStreamCopyError`.
    public var error: StreamError? { connection.status(.reader) == .error ? connection.error(.reader) : nil }

    /// The steps of opening the stream. See ``ConnectionReport``.
    public var report: ConnectionReport { connection.report }

    /// The descriptor, for the caller's own `poll` or `epoll`; nil if there is none. It remains the stream's.
    ///
    /// With TLS, bytes may be available although the descriptor has none: check ``hasBytesAvailable`` first.
    public var descriptor: Int32? {
        connection.isOpen(.reader) ? connection.nativeDescriptor : nil
    }

    /// True if a read would not wait: because of bytes, the end, or an error. False unless the stream is open.
    ///
    /// Never waits. Replaces `CFReadStreamHasBytesAvailable`.
    public var hasBytesAvailable: Bool {
        guard connection.isOpen(.reader) else { return false }
        do throws(StreamError) {
            if case .wouldBlock = try connection.poll(.reader) { return false }
            return true
        } catch {
            return true
        }
    }
}

// MARK: - Waiting without reading

extension ReadStream {
    /// Waits until a read would not wait, because of bytes, the end, or an error. Consumes nothing.
    ///
    /// - Throws: the failure of the stream; ``StreamError/cancelled``, ``StreamError/closed``, ``StreamError/busy``;
    ///   ``StreamError/timedOut`` after ``StreamProperty/readLimit``.
    public nonisolated(nonsending) func ready() async throws(StreamError) {
        try await connection.readable()
    }

    /// Waits on the calling thread until a read would not wait. Consumes nothing.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func ready() throws(StreamError) {
        try connection.blockUntilReadable()
    }

    /// The wait point of a transport built on this stream, after a try that returned nil. See
    /// ``StreamTransport/waitPoint``.
    public var waitPoint: WaitPoint { connection.pointForLayers(.reader) }
}

// MARK: - Events

extension ReadStream {
    /// Sets the client and the events that it receives. A stream has one client: a new one replaces the old one, nil
    /// removes it.
    ///
    /// Events are delivered where the stream is scheduled (``schedule(on:)``). Setting a client, scheduling and opening
    /// may come in any order. Replaces `CFReadStreamSetClient`.
    ///
    /// ```swift
    /// stream.setClient(.all) { stream, event in
    ///     switch event {
    ///     case .hasBytesAvailable: … // the first read does not wait
    ///     case .endEncountered, .errorOccurred: stream.close()
    ///     default: break
    ///     }
    /// }
    /// stream.schedule(on: .queue(queue))
    /// try stream.open()
    /// ```
    public func setClient(_ events: StreamEvents, _ client: (@Sendable (ReadStream, StreamEvent) -> Void)?) {
        connection.setClient(.reader, wanted: events, stream: self, client)
    }

    /// Adds `target` as a place where events are delivered. With several targets, each event is delivered once, on one
    /// of them.
    ///
    /// A scheduled, open stream is kept alive until it is closed or unscheduled. Replaces
    /// `CFReadStreamScheduleWithRunLoop` and `CFReadStreamSetDispatchQueue`.
    public func schedule(on target: any DeliveryTarget) {
        connection.schedule(.reader, on: target, stream: self)
    }

    /// Ends delivery on `target`. Does nothing if the stream is not scheduled there or is closed.
    ///
    /// Replaces `CFReadStreamUnscheduleFromRunLoop`.
    public func unschedule(from target: any DeliveryTarget) {
        connection.unschedule(.reader, from: target)
    }
}

// MARK: - Properties

extension ReadStream {
    /// The value of a property; nil if it has none, or none yet. A copy. Replaces `CFReadStreamCopyProperty`.
    @inlinable
    public subscript<Value>(property: StreamProperty<Value>) -> Value? {
        guard let value = value(named: property.name) else { return property.defaultValue }
        return StreamProperty.typed(value) ?? property.defaultValue
    }

    /// The kind of the stream, which determines the properties that it honours.
    public var kind: StreamKind { connection.kind }

    /// Sets a property; nil restores the default. Replaces `CFReadStreamSetProperty`.
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
