internal import StreamKit

/// Ends a wait when the time is up, wherever the conversation waits by then: whoever wakes looks at the clock.
final class FTPAlarm: Sendable {
    let place: Locked<WaitPoint>

    init(_ place: WaitPoint) {
        self.place = Locked(place)
    }

    func ring() {
        place.withLock { $0 }.signal([.readable, .writable])
    }
}
