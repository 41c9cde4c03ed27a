internal import EventLoops
internal import StreamKit

/// What a client was told, in order; tests wait for the next event instead of for time.
final class EventLog: Sendable {
    private let state = Locked<[StreamEvent]>([])

    var events: [StreamEvent] { state.withLock { $0 } }

    func append(_ event: StreamEvent) {
        state.withLock { $0.append(event) }
    }

    func count(of event: StreamEvent) -> Int {
        events.filter { $0 == event }.count
    }

    /// Waits until there are that many events of a kind.
    func wait(for event: StreamEvent, times: Int = 1) async {
        while count(of: event) < times { await Task.yield() }
    }
}

extension DeliveryTarget {
    /// Returns when all that was on its way here, by way of the loop, has been delivered.
    func settle() async {
        for _ in 0..<4 {
            await withCheckedContinuation { continuation in EventLoop.shared.execute { continuation.resume() } }
            await withCheckedContinuation { continuation in
                let bell = Locked<(any DeliverySignal)?>(nil)
                let signal = makeSignal { continuation.resume() }
                bell.withLock { $0 = signal }
                signal.signal()
            }
        }
    }
}
