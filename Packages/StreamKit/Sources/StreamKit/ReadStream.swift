public import EventLoops

/// A one-way flow of bytes that are read: from a file, memory, a connection, or a transport of your own.
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
/// Every member may be called from any thread. One reader at a time: a second gets ``StreamError/busy``. ``close()`` may
/// come at any time from anywhere and ends a waiting call with ``StreamError/closed``. Replaces `CFReadStream`.
public final class ReadStream: Sendable {
    let connection: Connection

    init(_ connection: Connection) {
        self.connection = connection
    }

    deinit { connection.close(.reader) }

    /// Begins to open, and returns at once; ``status`` is then `.opening` or `.open`.
    ///
    /// Nothing needs to wait for the opening: a read does. Opening either half of a pair starts the one connection.
    /// Replaces `CFReadStreamOpen`.
    ///
    /// - Throws: what failed outright (a missing file), or ``StreamError/alreadyOpened``.
    public func open() throws(StreamError) {
        try connection.open(.reader)
        if let client = connection.client(.reader) { client.keepAlive(self) }
    }

    /// Waits until the stream is open.
    ///
    /// - Throws: why it could not be opened.
    public nonisolated(nonsending) func opened() async throws(StreamError) {
        try await connection.opened(.reader)
    }

    /// Waits on the calling thread until the stream is open.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func opened() throws(StreamError) {
        try connection.blockUntilOpened(.reader)
    }

    /// Ends the flow at once and frees what it holds; no event follows. Safe at any time, from any thread, twice.
    ///
    /// The connection of a pair stays for the other half. Replaces `CFReadStreamClose`.
    public func close() {
        connection.close(.reader)
    }

    /// How far the stream's life has come; never waits. Replaces `CFReadStreamGetStatus`.
    public var status: StreamStatus { connection.status(.reader) }

    /// Why the stream failed; nil while it has not. Replaces `CFReadStreamCopyError`.
    public var error: StreamError? { connection.status(.reader) == .error ? connection.error(.reader) : nil }

    /// What opening did, step by step. See ``ConnectionReport``.
    public var report: ConnectionReport { connection.report }

    /// The descriptor to give to `poll` or `epoll` of your own, nil if there is none. It stays the stream's.
    ///
    /// With TLS, bytes may be available though the descriptor has none: ask ``hasBytesAvailable`` first.
    public var descriptor: Int32? {
        connection.isOpen(.reader) ? connection.nativeDescriptor : nil
    }

    /// True if a read would not wait: for bytes, for the end, or for an error. False unless the stream is open.
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
    /// Waits until a read would not wait, and takes nothing: for bytes, for the end, or for what makes a read throw.
    ///
    /// - Throws: why the stream failed; ``StreamError/cancelled``, ``StreamError/closed``, ``StreamError/busy``, and
    ///   ``StreamError/timedOut`` after ``StreamProperty/readLimit``.
    public nonisolated(nonsending) func ready() async throws(StreamError) {
        try await connection.readable()
    }

    /// Waits on the calling thread until a read would not wait, and takes nothing.
    @available(*, noasync, message: "blocks the thread; write 'await'")
    public func ready() throws(StreamError) {
        try connection.blockUntilReadable()
    }

    /// Where a transport built on this stream waits after a try that gave nil. See ``StreamTransport/waitPoint``.
    public var waitPoint: WaitPoint { connection.placeForLayers(.reader) }
}

// MARK: - Events

extension ReadStream {
    /// Names who is told of events; one client per stream, a new one replaces the old, nil removes it.
    ///
    /// Events come where the stream is scheduled (``schedule(on:)``), in any order of setting, scheduling and opening.
    /// Replaces `CFReadStreamSetClient`.
    ///
    /// ```swift
    /// stream.setClient(.all) { stream, event in
    ///     switch event {
    ///     case .hasBytesAvailable: … // one read does not wait
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

    /// Has events told on `target` too; several targets share them, each event is told once.
    ///
    /// A scheduled, open stream is kept alive until closed or unscheduled. Replaces `CFReadStreamScheduleWithRunLoop` and
    /// `CFReadStreamSetDispatchQueue`.
    public func schedule(on target: any DeliveryTarget) {
        connection.schedule(.reader, on: target, stream: self)
    }

    /// Ends the telling on `target`. Harmless if it was not scheduled there, and after close.
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
        value(named: property.name) as? Value ?? property.defaultValue
    }

    /// What the stream is made of, and which properties it therefore honours.
    public var kind: StreamKind { connection.kind }

    /// Sets a property; nil goes back to the default. Replaces `CFReadStreamSetProperty`.
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
