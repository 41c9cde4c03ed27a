public import EventLoops

/// What a ``ReadStream`` and a ``WriteStream`` have in common: life cycle, events and properties.
///
/// ```swift
/// func report(_ stream: some StreamHalf) {
///     print(stream.kind, stream.status, stream.error ?? "no error")
/// }
/// ```
///
/// The two streams are the only conforming types.
public protocol StreamHalf: AnyObject, Sendable {
    /// The half of a connection that the stream is.
    var side: StreamSide { get }
}

// MARK: - Life cycle

extension StreamHalf {
    /// Begins to open and returns at once; ``status`` is then `.opening` or `.open`.
    ///
    /// Callers need not wait for the end of opening, since a read or a write does. Opening either half of a pair opens the shared
    /// connection. Replaces `CFReadStreamOpen` and `CFWriteStreamOpen`.
    ///
    /// - Throws: a failure that is known at once, such as that of a missing file; ``StreamError/alreadyOpened``.
    public func open() throws(StreamError) {
        let side = side
        try side.open()
        if let client = side.client { client.keepAlive(self) }
    }

    /// Waits until the stream is open.
    ///
    /// - Throws: the reason why it could not be opened.
    public nonisolated(nonsending) func opened() async throws(StreamError) {
        let call = try HalfCall(side, isTransfer: false)
        _ = try await call.suspend { (wake, _) throws(StreamError) in try call.untilOpened(after: wake) }
    }

    /// Waits on the calling thread until the stream is open.
    @available(*, noasync, message: "blocks the thread; write 'await' in an async function")
    public func opened() throws(StreamError) {
        let call = try HalfCall(side, isTransfer: false)
        _ = try call.block { (wake, _) throws(StreamError) in try call.untilOpened(after: wake) }
    }

    /// Closes the stream at once and releases its resources; no event follows. Idempotent; may be called at any time
    /// from any thread.
    ///
    /// The connection of a pair remains for the other half. Closing a ``WriteStream`` may mean aborting: it does not end the peer's
    /// reading while the other half of a pair is open; use `finish()` for that. Replaces `CFReadStreamClose` and `CFWriteStreamClose`.
    public func close() {
        side.close()
    }

    /// The stage of the stream's life cycle; never waits. Replaces `CFReadStreamGetStatus` and `CFWriteStreamGetStatus`.
    public var status: StreamStatus { side.status }

    /// The failure of the stream; nil if it has not failed. Replaces `CFReadStreamCopyError` and `CFWriteStreamCopyError`.
    public var error: StreamError? { side.error }

    /// The steps of opening the stream. See ``ConnectionReport``.
    public var report: ConnectionReport { side.connection.report }

    /// The descriptor, for the caller's own `poll` or `epoll`; nil if there is none. It remains the stream's.
    ///
    /// With TLS, bytes may be available although the descriptor has none: check ``ReadStream/hasBytesAvailable`` first.
    public var descriptor: Int32? { side.descriptor }

    /// The wait point of a transport built on this stream, after a try that returned nil. See
    /// ``StreamTransport/waitPoint``.
    public var waitPoint: WaitPoint { side.waitPoint }
}

// MARK: - Events

extension StreamHalf {
    /// Sets the client and the events that it receives. A stream has one client: a new one replaces the old one, nil
    /// removes it.
    ///
    /// Events are delivered where the stream is scheduled (``schedule(on:)``). Setting a client, scheduling and opening
    /// may come in any order. Replaces `CFReadStreamSetClient` and `CFWriteStreamSetClient`.
    ///
    /// ```swift
    /// stream.setClient(.all) { stream, event in
    ///     switch event {
    ///     case .hasBytesAvailable: print((try? stream.read(upTo: 4096)) ?? [])     // the first read does not wait
    ///     case .endEncountered, .errorOccurred: stream.close()
    ///     default: break
    ///     }
    /// }
    /// stream.schedule(on: .queue(queue))
    /// try stream.open()
    /// ```
    public func setClient(_ events: StreamEvents, _ client: (@Sendable (Self, StreamEvent) -> Void)?) {
        guard let client, !events.isEmpty else { return side.setClient(nil) }
        let new = StreamClient(side, wanted: events) { [weak self] event in
            if let self { client(self, event) }
        }
        side.setClient(new)
        new.schedule(on: side.targets)
        if status != .notOpen { new.keepAlive(self) }
    }

    /// The targets where events are delivered, in the order in which they were added. Replaces `CFReadStreamCopyDispatchQueue` and
    /// `CFWriteStreamCopyDispatchQueue`.
    public var targets: [any DeliveryTarget] { side.targets }

    /// Adds a target where events are delivered. With several targets, each event is delivered once, on one
    /// of them. A dispatch queue does not replace run loops, nor the reverse: unschedule the others to change the target.
    ///
    /// A scheduled, open stream is kept alive until it is closed or unscheduled. Replaces `CFReadStreamScheduleWithRunLoop`,
    /// `CFWriteStreamScheduleWithRunLoop`, `CFReadStreamSetDispatchQueue` and `CFWriteStreamSetDispatchQueue`.
    public func schedule(on target: any DeliveryTarget) {
        guard let client = side.schedule(on: target) else { return }
        client.schedule(on: [target])
        if status != .notOpen { client.keepAlive(self) }
    }

    /// Ends delivery on `target`. Does nothing if the stream is not scheduled there or is closed.
    ///
    /// Replaces `CFReadStreamUnscheduleFromRunLoop` and `CFWriteStreamUnscheduleFromRunLoop`.
    public func unschedule(from target: any DeliveryTarget) {
        side.unschedule(from: target)
    }

    /// The events of the stream as an asynchronous sequence, which makes the sequence the stream's client.
    ///
    /// ```swift
    /// try stream.open()
    /// for try await event in stream.events() {
    ///     switch event {
    ///     case .hasBytesAvailable: process(try await stream.read(upTo: 4096))
    ///     case .errorOccurred: throw stream.error ?? .closed
    ///     default: break
    ///     }
    /// }
    /// ```
    ///
    /// The rules are those of ``setClient(_:_:)``: ``StreamEvent/hasBytesAvailable`` is repeated only after a read. The sequence ends
    /// after ``StreamEvent/endEncountered`` or ``StreamEvent/errorOccurred``, when the stream is closed or released, and when another
    /// client replaces it. It does not keep the stream alive. Releasing the sequence and its iterators removes the client.
    ///
    /// - Parameter wanted: the events that the sequence contains.
    /// - Returns: a sequence for one iterator at a time, which throws only ``StreamError/cancelled``, if its task is cancelled.
    public func events(_ wanted: StreamEvents = .all) -> StreamEventSequence {
        StreamEventSequence(side, wanted)
    }
}

// MARK: - Properties

extension StreamHalf {
    /// The value of a property; nil if it has none, or none yet. A copy. Replaces `CFReadStreamCopyProperty` and
    /// `CFWriteStreamCopyProperty`.
    @inlinable
    public subscript<Value>(property: StreamProperty<Value>) -> Value? {
        guard let value = value(named: property.name) else { return property.defaultValue }
        return StreamProperty.typed(value) ?? property.defaultValue
    }

    /// The kind of the stream, which determines the properties that it honours.
    public var kind: StreamKind { side.connection.streamKind }

    /// Sets a property; nil restores the default. Replaces `CFReadStreamSetProperty` and `CFWriteStreamSetProperty`.
    ///
    /// - Throws: `EINVAL` if the stream's ``kind`` does not honour the property, if it is read-only, or if it must be
    ///   set before opening. Nothing has changed then.
    @inlinable
    public func set<Value>(_ property: StreamProperty<Value>, to value: Value?) throws(StreamError) {
        try setValue(value, for: property.key)
    }

    /// Sets each property of `properties`.
    ///
    /// - Throws: as ``set(_:to:)``. The properties before the one that is refused have been set then.
    public func set(_ properties: StreamProperties) throws(StreamError) {
        try properties.forEach { (key, value) throws(StreamError) in
            try setValue(value, for: key)
        }
    }

    @usableFromInline
    func value(named name: String) -> (any Sendable)? {
        side.connection.value(named: name)
    }

    @usableFromInline
    func setValue(_ value: (any Sendable)?, for key: StreamPropertyKey) throws(StreamError) {
        try side.connection.setValue(value, for: key)
    }
}
