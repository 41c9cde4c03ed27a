internal import EventLoops
internal import ServiceDiscovery

/// A feed that calls back when an element is available. Releasing it ends the search.
final class NotifyingFeed<Element: Sendable>: Sendable {
    private let feed: DiscoveryFeed<Element>
    private let subscription: Subscription

    init(_ feed: DiscoveryFeed<Element>, notify: @escaping @Sendable () -> Void) {
        self.feed = feed
        subscription = feed.observe(on: ImmediateTarget(), notify)
    }

    deinit { stop() }

    /// An element that is already available, or the failure that has ended the feed; nil if there is neither.
    func next() -> Result<Element, ServiceDiscoveryError>? {
        do throws(ServiceDiscoveryError) {
            return try feed.tryNext().map { .success($0) }
        } catch {
            return .failure(error)
        }
    }

    func stop() {
        subscription.cancel()
        feed.stop()
    }
}

/// A delivery target that calls the handler at once, on the thread that signals. For handlers that only forward the
/// signal.
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
