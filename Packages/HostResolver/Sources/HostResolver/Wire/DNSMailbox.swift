internal import EventLoops

/// The results of one question's transmissions, buffered until the question's task reads them.
final class DNSMailbox: Sendable {
    /// A result of a transmission.
    enum Event: Sendable {
        case received([UInt8], number: Int)
        case failed(ServerOutcome.Result, number: Int)
    }

    /// The maximum number of buffered answers. More are dropped, as the kernel drops datagrams. Unrelated datagrams are
    /// dropped before, so forged ones cannot displace an answer.
    static let limit = 64

    private let events = Locked<[Event]>([])
    private let point = WaitPoint()

    func post(_ event: Event) {
        events.withLock { events in
            if case .received = event, events.count >= Self.limit { return }
            events.append(event)  // failures need no limit: there is one per transmission
        }
        point.signal(.readable)
    }

    /// Returns the events since the last call.
    func take() -> [Event] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Suspends until there is an event, or until the given instant.
    nonisolated(nonsending) func wait(until time: ContinuousClock.Instant) async {
        guard point.enter(.reader) == .entered else { return }
        defer { point.leave(.reader) }
        // The wait cannot fail, because there is no descriptor.
        _ = await point.readerWait(for: .readable, until: Moment(time))
    }
}
