internal import EventLoops

/// A subscription to changes of the network, from ``NetworkMonitor/onChange(on:_:)``. Releasing it ends the calls.
public final class NetworkSubscription: Sendable {
    private let listener: ChangeListener
    private let monitor: NetworkMonitor
    private let signal: any DeliverySignal

    init(
        listener: ChangeListener, monitor: NetworkMonitor, target: any DeliveryTarget,
        handler: @escaping @Sendable (NetworkChange) -> Void
    ) {
        self.listener = listener
        self.monitor = monitor
        signal = target.makeSignal {
            let change = listener.take()
            if !change.isEmpty { handler(change) }
        }
        listener.notify(signal)
    }

    deinit { cancel() }

    /// Ends the calls. If this is called on the target itself, no call follows its return.
    public func cancel() {
        signal.cancel()
        listener.end()
    }
}
