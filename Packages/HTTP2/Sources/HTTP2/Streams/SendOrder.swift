/// The streams that want to send, in the order in which they may (RFC 9218 §10).
///
/// Urgent streams precede others. Among streams of the same urgency, the one that asked first sends until it has sent everything,
/// unless its response is incremental: then it goes to the end of its urgency after each frame.
struct SendOrder: Sendable {
    private struct Entry: Sendable {
        var stream: StreamID
        var priority: HTTP2Priority
    }

    /// By urgency, and in order of arrival within an urgency. At most one entry for a stream.
    private var entries: [Entry] = []

    /// Whether no stream wants to send.
    var isEmpty: Bool { entries.isEmpty }

    /// Returns the first stream for which `canSend` is true.
    func first(where canSend: (StreamID) -> Bool) -> StreamID? {
        entries.first { canSend($0.stream) }?.stream
    }

    /// Returns whether no stream that can send precedes this one.
    func isTurn(of stream: StreamID, _ priority: HTTP2Priority, canSend: (StreamID) -> Bool) -> Bool {
        for entry in entries {
            if entry.stream == stream || entry.priority.urgency > priority.urgency { return true }
            if canSend(entry.stream) { return false }
        }
        return true
    }

    /// Adds a stream to those of its urgency: behind them, or before them if it goes on after a frame. Has no effect if it is there.
    mutating func add(_ stream: StreamID, _ priority: HTTP2Priority, goesOn: Bool = false) {
        if entries.contains(where: { $0.stream == stream }) { return }
        let isBefore: (Entry) -> Bool = {
            goesOn && !priority.isIncremental
                ? $0.priority.urgency >= priority.urgency : $0.priority.urgency > priority.urgency
        }
        entries.insert(
            Entry(stream: stream, priority: priority), at: entries.firstIndex(where: isBefore) ?? entries.count)
    }

    mutating func remove(_ stream: StreamID) {
        if let position = entries.firstIndex(where: { $0.stream == stream }) { entries.remove(at: position) }
    }

    /// Moves a stream whose priority has changed.
    mutating func setPriority(_ stream: StreamID, _ priority: HTTP2Priority) {
        guard entries.contains(where: { $0.stream == stream }) else { return }
        remove(stream)
        add(stream, priority)
    }

    /// The streams, the next one first.
    var streams: [StreamID] { entries.map(\.stream) }
}
