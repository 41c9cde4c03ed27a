internal import EventLoops

/// A subscription to changes of settings, from ``ProxySettingsMonitor/onChange(on:_:)``. Releasing it ends the calls.
public final class ProxySettingsSubscription: Sendable {
    private let listener: ProxySettingsListener
    private let monitor: ProxySettingsMonitor
    private let signal: any DeliverySignal

    init(
        listener: ProxySettingsListener, monitor: ProxySettingsMonitor, target: any DeliveryTarget,
        handler: @escaping @Sendable (ProxySettingsMonitor) -> Void
    ) {
        self.listener = listener
        self.monitor = monitor
        signal = target.makeSignal {
            if listener.take() { handler(monitor) }
        }
        listener.setSignal(signal)
    }

    deinit { cancel() }

    /// Ends the calls. If it is called on the target itself, no call follows after it returns.
    public func cancel() {
        signal.cancel()
        listener.end()
    }
}
