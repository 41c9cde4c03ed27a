/// Events in the order of their arrival.
struct EventQueue: Sendable {
    /// The events, those before `start` taken.
    private var events: [HTTP2Event?] = []
    private var start = 0

    mutating func append(_ event: HTTP2Event) {
        events.append(event)
    }

    /// Appends SETTINGS or GOAWAY in place of an earlier one that the program has not taken, so that repetitions leave nothing behind.
    mutating func replace(with event: HTTP2Event) {
        remove { old in
            switch (old, event) {
            case (.settings, .settings), (.goAway, .goAway): true
            default: false
            }
        }
        append(event)
    }

    mutating func take() -> HTTP2Event? {
        guard start < events.count else { return nil }
        let event = events[start].take()
        start += 1
        if start == events.count {
            events.removeAll(keepingCapacity: true)
            start = 0
        } else if start >= 16, start * 2 >= events.count {
            // Each event is moved once on average, and no more places are empty than there are events, or 16.
            events.removeFirst(start)
            start = 0
        }
        return event
    }

    /// Removes the request on a stream and all that followed on it. Returns false if the program has taken the request.
    mutating func removeRequest(on stream: StreamID) -> Bool {
        let isRequest: (HTTP2Event) -> Bool = { if case .request(stream, _) = $0 { true } else { false } }
        guard events[start...].contains(where: { $0.map(isRequest) ?? false }) else { return false }
        remove { event in
            switch event {
            case .request(let id, _), .readable(let id), .trailers(let id, _), .ended(let id), .reset(let id, _):
                id == stream
            case .interim, .response, .sendingStopped, .settings, .room, .goAway, .drained: false
            }
        }
        return true
    }

    /// The number of places that the events occupy.
    var placeCount: Int { events.count }

    private mutating func remove(where isRemoved: (HTTP2Event) -> Bool) {
        events.removeFirst(start)
        start = 0
        events.removeAll { $0.map(isRemoved) ?? true }
    }
}
