internal import HTTPMessage
public import StreamKit

/// The server-sent events that arrive on a stream: `ReadStream.serverSentEvents(limit:lastEventID:)`.
public struct ServerSentEvents: AsyncSequence, Sendable {
    let stream: ReadStream
    let parser: ServerSentEventParser

    /// Reads the events; one iterator at a time, since an iterator keeps the bytes after its last event.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let stream: ReadStream
        private var parser: ServerSentEventParser
        private var isBegun = false

        init(stream: ReadStream, parser: ServerSentEventParser) {
            self.stream = stream
            self.parser = parser
        }

        /// As ``next(isolation:)``.
        public mutating func next() async throws(StreamError) -> ServerSentEvent? { try await next(isolation: nil) }

        /// The next event, which has data; nil at the end.
        ///
        /// - Throws: the failure of the stream, `StreamError.cancelled`, `EMSGSIZE` for an event beyond the limit, or `EPROTO` for a response
        ///   that has no events.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> ServerSentEvent?
        {
            while true {
                // One read may have brought thousands of events.
                if stream.waitPoint.loop.isShareSpent { await Task.yield() }
                if let event = try parser.next() { return event }
                try StreamError.checkCancellation()
                let bytes = try await stream.read(upTo: ReadStream.chunkSize)
                if !isBegun {
                    isBegun = true
                    if let response = stream[.httpResponse] { _ = try ServerSentEvents.check(response) }
                }
                if bytes.isEmpty { return nil }
                parser.append(bytes)
            }
        }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(stream: stream, parser: parser)
    }

    /// Whether a response has events: true for a 200 of type `text/event-stream`, false for a 204, which ends a sequence of connections.
    ///
    /// - Throws: `EPROTO` for any other response.
    static func check(_ response: HTTPResponse) throws(StreamError) -> Bool {
        if response.status == .noContent { return false }
        let type = response.fields[.contentType] ?? ""
        let essence = type.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
        guard response.status == .ok, String(decoding: essence, as: UTF8.self).lowercased() == "text/event-stream"
        else {
            throw StreamError(
                posix: 71,  // EPROTO
                Sentence(
                    "events.none", "The response has no server-sent events: its status is %1, its type %2.",
                    "\(response.status)", type.isEmpty ? "missing" : type))
        }
        return true
    }
}

extension ReadStream {
    /// Returns the server-sent events of a response, each as soon as it has arrived.
    ///
    /// ```swift
    /// var request = try HTTPRequest(method: .get, url: url)
    /// try request.fields.set("text/event-stream", for: "Accept")
    /// let stream = try await session.open(request)
    /// for try await event in stream.serverSentEvents() {
    ///     print(event.event ?? "message", event.data)
    /// }
    /// ```
    ///
    /// The sequence ends when the server ends the response, or with a 204. ``HTTPSession/events(from:_:)`` connects again instead.
    /// `StreamProperty.readTimeout` limits the time without bytes; servers send comments to keep a connection.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes of an event; a longer one is the error `EMSGSIZE`.
    ///   - lastEventID: The identifier that the request has sent in `Last-Event-ID`, which is that of events without one.
    public func serverSentEvents(limit: Int = 1 << 20, lastEventID: String? = nil) -> ServerSentEvents {
        ServerSentEvents(
            stream: self, parser: ServerSentEventParser(maximumEventLength: limit, lastEventID: lastEventID))
    }
}
