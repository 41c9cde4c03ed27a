internal import EventLoops
internal import ServiceDiscovery

/// A feed that calls back when an element is available. Releasing it ends the search.
final class NotifyingFeed<Element: Sendable>: Sendable {
    private let feed: DiscoveryFeed<Element>
    private let subscription: Subscription

    init(_ feed: DiscoveryFeed<Element>, notify: @escaping @Sendable () -> Void) {
        self.feed = feed
        subscription = feed.observe(on: .direct, notify)
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

/// Passes an object of the caller through a lock. Retaining and releasing are safe on any thread; its methods are
/// called only on the run loops on which its owner is scheduled.
struct Reference<Object>: @unchecked Sendable {
    let value: Object

    init(_ value: Object) {
        self.value = value
    }
}
