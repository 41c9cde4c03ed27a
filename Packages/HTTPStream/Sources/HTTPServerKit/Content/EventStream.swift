internal import EventLoops
public import HTTPStream
internal import Synchronization

/// A response of server-sent events. See ``RoutedExchange/events(keepAlive:fields:_:)``.
public final class EventStream: Sendable {
    private let exchange: HTTPServerExchange
    /// An exchange admits one call at a time; events and comments wait for each other here.
    private let turn = AsyncSemaphore(1)
    /// The number of events sent.
    private let count = Atomic<Int>(0)
    /// A comment, which clients ignore.
    private static let comment = Array(":\n\n".utf8)

    init(_ exchange: HTTPServerExchange) {
        self.exchange = exchange
    }

    /// The identifier of the last event that a client that reconnects has received (`Last-Event-ID`); nil for a new client.
    public var lastEventID: String? { exchange.request.fields["Last-Event-ID"] }

    /// Sends an event, from any task. Waits while the client does not receive: at most the server's time limit.
    ///
    /// - Throws: `EINVAL` as `ServerSentEvent.serialized()`; the error of the connection if the client has disconnected.
    public func send(_ event: ServerSentEvent) async throws(StreamError) {
        let bytes = try event.serialized()
        try await send(bytes)
        count.add(1, ordering: .relaxed)
    }

    /// Sends an event with text.
    ///
    /// - Throws: as ``send(_:)-(ServerSentEvent)``.
    public func send(_ data: String) async throws(StreamError) { try await send(ServerSentEvent(data)) }

    private func send(_ bytes: [UInt8]) async throws(StreamError) {
        do throws(WaitError) { try await turn.wait() } catch { throw .cancelled }
        defer { turn.signal() }
        try await exchange.write(bytes)
    }

    /// Sends a comment after each period without an event, until the task is cancelled or the client has disconnected.
    func keepAlive(each period: Duration) async {
        var seen = 0
        while (try? await exchange.loop.sleep(for: period)) != nil {
            let sent = count.load(ordering: .relaxed)
            defer { seen = sent }
            if sent != seen { continue }
            // In a task of its own: cancelling a write in its middle would end the connection.
            let write = Task { try await self.send(EventStream.comment) }
            if case .failure = await write.result { return }
        }
    }
}

extension RoutedExchange {
    /// Responds with server-sent events, until the closure returns or the client disconnects.
    ///
    /// ```swift
    /// router.get("/ticks") { call in
    ///     try await call.events { events in
    ///         for number in 1... {
    ///             try await events.send(ServerSentEvent("\(number)", id: "\(number)"))
    ///             try await Task.sleep(for: .seconds(1))      // throws once the client is gone
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// When the client disconnects, the task of the handler is cancelled, so a closure that waits needs no code for it. When the server
    /// is told to stop, the closure's task is cancelled as well and the response ends, since the client reconnects. The response
    /// is not compressed and may not be stored (`Cache-Control: no-store`).
    ///
    /// The connection is long-lived: beyond `HTTPServer.Configuration.maximumLongLivedConnections` the client receives a 503, after
    /// which an `EventSource` of a browser does not try again by itself.
    ///
    /// - Parameters:
    ///   - keepAlive: The time without an event after which a comment is sent, so that proxies keep the connection; nil for never.
    ///   - fields: Further fields of the response.
    ///   - send: Sends the events. Not called for `HEAD`.
    /// - Throws: the error of the closure; as `HTTPServerExchange.begin(_:length:)` and `HTTPServerExchange.declareLongLived()`.
    public func events(
        keepAlive: Duration? = .seconds(15), fields: HTTPFields = HTTPFields(),
        _ send: @escaping @Sendable (EventStream) async throws -> Void
    ) async throws {
        var response = try HTTPResponse(status: .ok)
        response.fields = fields
        try response.fields.set("text/event-stream", for: .contentType)
        if !fields.contains(.cacheControl) { try response.fields.set("no-store", for: .cacheControl) }
        if request.method == .head { return try await exchange.begin(response) }
        try exchange.declareLongLived()
        try await exchange.begin(response)
        let stream = EventStream(exchange)
        try await withThrowingTaskGroup(of: Bool.self) { [exchange] group in
            defer { group.cancelAll() }
            if let keepAlive {
                group.addTask {
                    await stream.keepAlive(each: keepAlive)
                    return false
                }
            }
            group.addTask {
                await exchange.serverStopping()
                return !Task.isCancelled  // otherwise the error of the closure is the result
            }
            group.addTask {
                try await send(stream)
                return true
            }
            while let isEnd = try await group.next(), !isEnd {}
        }
    }
}
