/// Watches the TXT record of a service, without connecting to it.
///
/// ```swift
/// for try await record in ServiceMonitor(service) { print(record.string("status") ?? "") }
/// ```
///
/// The record that stands comes first, then each change; of changes that come faster than they are read, the last.
/// Replaces `CFNetServiceMonitor`.
public struct ServiceMonitor: AsyncSequence, Sendable {
    /// What the service tells about itself.
    public typealias Element = TXTRecord
    /// What iterating throws.
    public typealias Failure = ServiceDiscoveryError

    /// Which service.
    public let service: ServiceInstance
    /// The only interface looked at in `local`; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a watch; it begins with ``start()`` or with iterating.
    public init(_ service: ServiceInstance, interface: String? = nil, engine: DiscoveryEngine = .automatic) {
        self.service = service
        self.interface = interface
        self.engine = engine
    }

    /// Begins to watch.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<TXTRecord> {
        return DiscoveryFeed(try FeedRunner(TextMachine(service), backend: engine.backend, interface: interface))
    }

    /// Begins to watch.
    public func makeAsyncIterator() -> DiscoveryIterator<TXTRecord> {
        DiscoveryIterator(start)
    }
}
