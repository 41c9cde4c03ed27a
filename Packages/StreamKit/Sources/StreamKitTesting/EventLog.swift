internal import EventLoops
internal import StreamKit

/// The events delivered to a client, in order. Tests wait for an event rather than for time.
final class EventLog: Sendable {
    private let state = Locked<[StreamEvent]>([])

    var events: [StreamEvent] { state.withLock { $0 } }

    func append(_ event: StreamEvent) {
        state.withLock { $0.append(event) }
    }

    func count(of event: StreamEvent) -> Int {
        events.filter { $0 == event }.count
    }

    /// Waits until the given number of events of one kind has been delivered.
    func wait(for event: StreamEvent, times: Int = 1) async {
        while count(of: event) < times { await Task.yield() }
    }
}

extension DeliveryTarget {
    /// Returns once everything on its way to this target through the loop has been delivered.
    func settle() async {
        for _ in 0..<4 {
            await withCheckedContinuation { continuation in EventLoop.shared.execute { continuation.resume() } }
            await withCheckedContinuation { continuation in
                let kept = Locked<(any DeliverySignal)?>(nil)
                let signal = makeSignal { continuation.resume() }
                kept.withLock { $0 = signal }
                signal.signal()
            }
        }
    }
}
