internal import EventLoops

extension ReadStream {
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
        StreamEventSequence(connection, .reader, wanted)
    }
}

extension WriteStream {
    /// The events of the stream as an asynchronous sequence; see ``ReadStream/events(_:)``.
    public func events(_ wanted: StreamEvents = .all) -> StreamEventSequence {
        StreamEventSequence(connection, .writer, wanted)
    }
}

/// The events of a stream: ``ReadStream/events(_:)`` and ``WriteStream/events(_:)``.
public struct StreamEventSequence: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = StreamEvent
    /// ``StreamError/cancelled``.
    public typealias Failure = StreamError

    private let registration: Registration

    init(_ connection: Connection, _ half: StreamHalf, _ wanted: StreamEvents) {
        registration = Registration(connection, half, wanted)
    }

    /// Waits for the events; one iterator at a time.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let registration: Registration
        /// Events that came together and have not been returned.
        fileprivate var pending: StreamEvents = []

        /// The next event; nil at the end.
        public mutating func next() async throws(StreamError) -> StreamEvent? {
            try await next(isolation: nil)
        }

        /// The next event; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> StreamEvent? {
            do throws(WaitError) {
                if pending.isEmpty { pending = try await registration.events.next() ?? [] }
            } catch {
                throw .cancelled
            }
            guard let next = StreamEvent.allCases.first(where: { pending.contains(StreamEvents($0)) }) else {
                return nil
            }
            pending.remove(StreamEvents(next))
            return next
        }
    }

    /// Begins to wait for events.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(registration: registration)
    }

    /// The client of one half of a stream, for as long as the sequence or an iterator exists.
    fileprivate final class Registration: Sendable {
        /// The events that an iterator has not taken. They are a set, so events that are not taken need no memory.
        let events: Mailbox<StreamEvents>
        private let connection: Connection
        private let half: StreamHalf
        private let client: StreamClient

        init(_ connection: Connection, _ half: StreamHalf, _ wanted: StreamEvents) {
            let events = Mailbox<StreamEvents>(merging: { $0.formUnion($1) }, loop: connection.loop)
            let end = End(events)
            self.events = events
            self.connection = connection
            self.half = half
            client = StreamClient(connection, half: half, wanted: .all, keepsStreamAlive: false) { event in
                if wanted.contains(StreamEvents(event)) { end.events.put(StreamEvents(event)) }
                if event == .endEncountered || event == .errorOccurred { end.events.finish() }
            }
            connection.setClient(client, half)
            client.schedule(on: [.loop(connection.loop)])
        }

        deinit { connection.removeClient(client, half) }
    }

    /// Finishes the mailbox when the client's handler is released: once the stream is closed or has another client.
    private final class End: Sendable {
        let events: Mailbox<StreamEvents>

        init(_ events: Mailbox<StreamEvents>) {
            self.events = events
        }

        deinit { events.finish() }
    }
}
