internal import StreamKit

/// Acts for a conversation at times when nobody calls it.
final class FTPAlarm: Sendable {
    let place: Locked<WaitPoint>
    /// Gives a sign of life on the control connection.
    let signal: @Sendable () -> Void

    init(_ place: WaitPoint, signal: @escaping @Sendable () -> Void) {
        self.place = Locked(place)
        self.signal = signal
    }

    /// Ends a wait when the time is up, wherever the conversation waits by then: whoever wakes looks at the clock.
    func ring() {
        place.withLock { $0 }.signal([.readable, .writable])
    }
}
