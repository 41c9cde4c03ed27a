/// Events in the order of their arrival.
///
/// Two arrays make the queue: an event is taken from the end of one, which the other one's events enter in reverse once it is empty.
/// Each event is moved once, and nothing remains of those that were taken.
struct EventQueue: Sendable {
    /// The events that were there when the program began to take them, the oldest one last.
    private var leaving: [HTTP2Event] = []
    /// The events that have arrived since, in order.
    private var arriving: [HTTP2Event] = []

    mutating func append(_ event: consuming HTTP2Event) {
        arriving.append(event)
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

    @inline(__always)
    mutating func take() -> HTTP2Event? {
        if leaving.isEmpty {
            while let event = arriving.popLast() { leaving.append(event) }
        }
        return leaving.popLast()
    }

    /// Removes the request on a stream and all that followed on it. Returns false if the program has taken the request.
    mutating func removeRequest(on stream: StreamID) -> Bool {
        let isRequest: (HTTP2Event) -> Bool = { if case .request(stream, _) = $0 { true } else { false } }
        guard leaving.contains(where: isRequest) || arriving.contains(where: isRequest) else { return false }
        remove { event in
            switch event {
            case .request(let id, _), .readable(let id), .trailers(let id, _), .ended(let id), .reset(let id, _):
                id == stream
            case .interim, .response, .sendingStopped, .settings, .room, .goAway, .drained: false
            }
        }
        return true
    }

    /// The number of events.
    var count: Int { leaving.count + arriving.count }

    private mutating func remove(where isRemoved: (HTTP2Event) -> Bool) {
        leaving.removeAll(where: isRemoved)
        arriving.removeAll(where: isRemoved)
    }
}
