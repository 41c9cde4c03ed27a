internal import EventLoops
internal import ServiceDiscovery

/// A feed with a callback for available elements, which ends when it is released.
final class NotifyingFeed<Element: Sendable>: Sendable {
    private let feed: DiscoveryFeed<Element>
    private let signal: any DeliverySignal

    init(_ feed: DiscoveryFeed<Element>, notify: @escaping @Sendable () -> Void) {
        self.feed = feed
        signal = feed.onNews(on: ImmediateTarget(), notify)
    }

    deinit { stop() }

    /// An element that is already available, or the failure that has ended the feed.
    func next() -> Result<Element, ServiceDiscoveryError>? {
        do throws(ServiceDiscoveryError) {
            return try feed.tryNext().map { .success($0) }
        } catch {
            return .failure(error)
        }
    }

    func stop() {
        signal.cancel()
        feed.stop()
    }
}

/// Delivers at once, on the thread that signals. For handlers that only forward the signal.
struct ImmediateTarget: DeliveryTarget {
    private final class Signal: DeliverySignal {
        private let perform: Locked<(@Sendable () -> Void)?>

        init(_ perform: @escaping @Sendable () -> Void) {
            self.perform = Locked(perform)
        }

        func signal() {
            perform.withLock { $0 }?()
        }

        func cancel() {
            let perform = perform.withLock { $0.take() }
            withExtendedLifetime(perform) {}  // released without the lock
        }
    }

    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        Signal(perform)
    }

    func isSame(as other: any DeliveryTarget) -> Bool {
        other is ImmediateTarget
    }
}
