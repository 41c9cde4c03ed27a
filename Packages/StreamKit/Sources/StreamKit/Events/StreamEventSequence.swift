internal import EventLoops

/// The events of a stream: ``StreamHalf/events(_:)``.
public struct StreamEventSequence: AsyncSequence, Sendable {
    private let registration: Registration

    init(_ side: StreamSide, _ wanted: StreamEvents) {
        registration = Registration(side, wanted)
    }

    /// Waits for the events; one iterator at a time.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let registration: Registration
        /// Events that came together and have not been returned.
        fileprivate var pending: StreamEvents = []

        /// As ``next(isolation:)``.
        public mutating func next() async throws(StreamError) -> StreamEvent? { try await next(isolation: nil) }

        /// The next event; nil at the end.
        ///
        /// - Throws: ``StreamError/cancelled``.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(StreamError) -> StreamEvent? {
            do throws(WaitError) {
                if pending.isEmpty { pending = try await registration.events.next() ?? [] }
            } catch {
                throw error == .busy ? .busy : .cancelled
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
        private let side: StreamSide
        private let client: StreamClient

        init(_ side: StreamSide, _ wanted: StreamEvents) {
            let loop = side.connection.loop
            let events = Mailbox<StreamEvents>(merging: { $0.formUnion($1) }, loop: loop)
            let end = End(events)
            self.events = events
            self.side = side
            client = StreamClient(side, wanted: .all, keepsStreamAlive: false) { event in
                if wanted.contains(StreamEvents(event)) { end.events.put(StreamEvents(event)) }
                if event == .endEncountered || event == .errorOccurred { end.events.finish() }
            }
            side.setClient(client)
            client.schedule(on: [.loop(loop)])
        }

        deinit { side.removeClient(client) }
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
