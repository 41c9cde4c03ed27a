public import FoundationEssentials
public import HTTPMessage
public import StreamKit

/// The server-sent events of a URL, over as many connections as they need: `EventSource` of WHATWG HTML §9.2.
///
/// ```swift
/// for try await event in session.events(from: url) {
///     print(event.event ?? "message", event.data)
/// }
/// ```
///
/// When a connection ends or cannot be made, the sequence waits, and then continues after the last event by sending its identifier in
/// `Last-Event-ID`. The pause is the time that the server has sent in `retry:`, up to 10 minutes, or else ``Options/reconnectionTime``. After
/// connections that received nothing, it grows to ``Options/maximumDelay``, with a random part, so that a server that returns is not
/// overrun. Redirects, logins and cookies are those of the session, at each connection.
///
/// The sequence ends when the server responds with 204 (No Content). It fails with `EPROTO` for any other response that is not a 200 of
/// type `text/event-stream`, with `EMSGSIZE` for an event beyond ``Options/maximumEventLength``, and with the errors that another
/// connection cannot repair: refused certificates and settings, and responses that are not HTTP. If the task is cancelled, the
/// sequence fails with `StreamError.cancelled` at once, also during a pause.
///
/// Each iterator has its own connection, which counts for ``HTTPSession/Configuration/maximumConnectionsPerOrigin`` and is closed when
/// the iterator is released. To receive the events of one response only, use `ReadStream.serverSentEvents(limit:lastEventID:)`.
public struct EventSource: AsyncSequence, Sendable {
    /// The options of an ``EventSource``.
    public struct Options: Sendable {
        /// The identifier of the last event that the program knows, such as one that it has saved; nil (default) for none.
        public var lastEventID: String?

        /// The pause before another connection, until the server sends its own in `retry:`. Default 3 s.
        ///
        /// Neither this nor the server's time can be shorter than 0.1 s; the server's can be 10 minutes at most.
        public var reconnectionTime: Duration = .seconds(3)

        /// The longest pause after connections that received nothing, unless the reconnection time is longer. Default 60 s.
        public var maximumDelay: Duration = .seconds(60)

        /// The number of connections in a row that may receive nothing; the sequence fails with the error of the next one. Nil
        /// (default) for any number.
        public var maximumAttempts: Int?

        /// The time without a byte after which a connection is taken for dead. Default 5 minutes; nil for none.
        ///
        /// A server that has no events sends a comment now and then, as HTTPServerKit does every 15 s; of others, a shorter time may
        /// lose events that have no identifier.
        public var idleTimeout: Duration? = .seconds(300)

        /// The maximum number of bytes of an event. Default 1 MiB.
        public var maximumEventLength = 1 << 20

        /// Called before each pause: with its duration, and with the error that ended the connection; nil if the server ended it.
        public var onDisconnect: (@Sendable (_ error: StreamError?, _ pause: Duration) -> Void)?

        /// The defaults stated at each property.
        public init() {}
    }

    let session: HTTPSession
    let request: Result<HTTPRequest, StreamError>
    let options: Options

    /// Reads the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let source: EventSource
        private var machine: EventSourceMachine
        private var stream: ReadStream?

        init(_ source: EventSource) {
            self.source = source
            machine = EventSourceMachine(source.options)
        }

        /// As ``next(isolation:)``.
        public mutating func next() async throws(StreamError) -> ServerSentEvent? { try await next(isolation: nil) }

        /// The next event, which has data; nil after a 204.
        ///
        /// - Throws: the reason why the sequence does not continue.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> ServerSentEvent?
        {
            while true {
                // One read may have brought thousands of events.
                if let stream, stream.waitPoint.loop.isShareSpent { await Task.yield() }
                switch machine.next() {
                case .deliver(let event): return event
                case .connect(let lastEventID):
                    do throws(StreamError) {
                        let opened = try await source.open(after: lastEventID)
                        stream = opened
                        machine.connected(try await opened.response())
                    } catch {
                        machine.disconnected(error, random: .random(in: 0...1))
                    }
                case .read:
                    do throws(StreamError) {
                        try StreamError.checkCancellation()
                        let bytes = try await stream?.read(upTo: ReadStream.chunkSize) ?? []
                        machine.received(bytes, random: .random(in: 0...1))
                    } catch {
                        machine.disconnected(error, random: .random(in: 0...1))
                    }
                case .pause(let pause, let error):
                    stream.take()?.close()
                    source.options.onDisconnect?(error, pause)
                    do { try await source.session.configuration.time.sleep(for: pause) } catch { throw .cancelled }
                case .end(let error):
                    stream.take()?.close()
                    if let error { throw error }
                    return nil
                }
            }
        }
    }

    /// Begins with the first connection at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Sends the request. ``HTTPOptions/totalTimeout`` does not apply, since the response has no end.
    private func open(after lastEventID: String?) async throws(StreamError) -> ReadStream {
        var request = try request.get()
        do throws(HTTPMessageError) {
            if !request.fields.contains(.accept) { try request.fields.set("text/event-stream", for: .accept) }
            if !request.fields.contains(.cacheControl) { try request.fields.set("no-cache", for: .cacheControl) }
            if let lastEventID { try request.fields.set(lastEventID, for: "Last-Event-ID") }
        } catch {
            throw StreamError(error)
        }
        let stream = try await session.open(
            request, body: nil, LoadOptions(timeout: nil, time: session.configuration.time))
        if let limit = options.idleTimeout { try stream.set(.readTimeout, to: limit) }
        return stream
    }
}

extension HTTPSession {
    /// Returns the server-sent events of a URL. The sequence connects again when a connection ends: see ``EventSource``.
    ///
    /// ```swift
    /// var options = EventSource.Options()
    /// options.lastEventID = saved
    /// options.onDisconnect = { error, pause in print(error?.description ?? "the server has ended the stream", pause) }
    /// for try await event in session.events(from: url, options) {
    ///     print(try event.decode(Note.self).title)
    /// }
    /// ```
    public func events(from url: URL, _ options: EventSource.Options = EventSource.Options()) -> EventSource {
        EventSource(session: self, request: Result { () throws(StreamError) in try .get(url) }, options: options)
    }

    /// Returns the server-sent events of a request, which is sent for each connection: see ``events(from:_:)``.
    public func events(
        for request: HTTPRequest, _ options: EventSource.Options = EventSource.Options()
    ) -> EventSource {
        EventSource(session: self, request: .success(request), options: options)
    }
}
