internal import EventLoops

/// Calls at each change of the network, from ``NetworkMonitor/onChange(on:_:)``. Letting it go ends the calls.
public final class NetworkSubscription: Sendable {
    private let listener: ChangeListener
    private let monitor: NetworkMonitor
    private let bell: any DeliverySignal

    init(
        listener: ChangeListener, monitor: NetworkMonitor, target: any DeliveryTarget,
        handler: @escaping @Sendable (NetworkChange) -> Void
    ) {
        self.listener = listener
        self.monitor = monitor
        bell = target.makeSignal {
            let change = listener.take()
            if !change.isEmpty { handler(change) }
        }
        listener.ring(bell)
    }

    deinit { cancel() }

    /// Ends the calls: on the target itself none comes after this returns.
    public func cancel() {
        bell.cancel()
        listener.end()
    }
}
