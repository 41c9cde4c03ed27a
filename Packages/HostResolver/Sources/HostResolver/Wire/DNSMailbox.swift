internal import EventLoops

/// What the transmissions of one question have brought, until the question's task looks.
final class DNSMailbox: Sendable {
    /// What came of a transmission.
    enum Event: Sendable {
        case received([UInt8], number: Int)
        case failed(ServerOutcome.Result, number: Int)
    }

    /// Most answers that wait; more are dropped, as the kernel drops datagrams. Only answers to the question come here, so that
    /// the first of them is not displaced by what is forged.
    static let limit = 64

    private let events = Locked<[Event]>([])
    private let point = WaitPoint()

    func post(_ event: Event) {
        events.withLock { events in
            if case .received = event, events.count >= Self.limit { return }
            events.append(event)  // of failures there is one for each transmission
        }
        point.signal(.readable)
    }

    /// What has come since the last call.
    func take() -> [Event] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    /// Suspends until something comes or the time is over.
    nonisolated(nonsending) func wait(until time: ContinuousClock.Instant) async {
        guard point.enter(.reader) == .entered else { return }
        defer { point.leave(.reader) }
        // There is no descriptor, so that the wait cannot fail.
        _ = await point.readerWait(for: .readable, until: Moment(time))
    }
}
