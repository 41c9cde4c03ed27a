internal import EventLoops
internal import ServiceDiscovery

/// A feed that rings when it has something, until it is let go.
final class RunningFeed<Element: Sendable>: Sendable {
    private let feed: DiscoveryFeed<Element>
    private let signal: any DeliverySignal

    init(_ feed: DiscoveryFeed<Element>, ring: @escaping @Sendable () -> Void) {
        self.feed = feed
        signal = feed.onNews(on: DirectTarget(), ring)
    }

    deinit { stop() }

    /// What is there already, or why no more will come.
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
