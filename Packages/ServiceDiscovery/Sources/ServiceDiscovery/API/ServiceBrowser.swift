/// Finds services of one type, and tells when they go.
///
/// ```swift
/// for try await change in ServiceBrowser(try ServiceType("_http._tcp")) {
///     print(change.kind, change.value)            // until the loop is left or the task cancelled
/// }
/// ```
///
/// What is known already comes first. A service is found once, on however many interfaces, and the own ones are found
/// too. What is found was heard of some time ago, and may be gone (see ``ServiceResolver/reconfirm()``). In a domain other
/// than `local`, name servers are asked, and asked again whenever their answer is over, every ten seconds at most. Replaces
/// `CFNetServiceBrowser` and `CFNetServiceBrowserSearchForServices`.
public struct ServiceBrowser: AsyncSequence, Sendable {
    /// Found and removed services.
    public typealias Element = DiscoveryChange<ServiceInstance>
    /// What iterating throws.
    public typealias Failure = ServiceDiscoveryError

    /// What is looked for; the first subtype counts, if there is one.
    public let type: ServiceType
    /// Where; nil for the default domains: `local`, and those that the lists of the search domains in `/etc/resolv.conf` name
    /// for everybody (RFC 6763 §11, `lb`), at most 16.
    public let domain: ServiceDomain?
    /// The only interface looked at in `local`; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a search; it begins with ``start()`` or with iterating.
    public init(
        _ type: ServiceType, domain: ServiceDomain? = nil, interface: String? = nil,
        engine: DiscoveryEngine = .automatic
    ) {
        self.type = type
        self.domain = domain
        self.interface = interface
        self.engine = engine
    }

    /// Begins a search.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<Element> {
        let machine = try BrowseMachine(
            type, in: domain, listed: engine.searchDomains, limit: engine.backend.waitingChanges)
        return DiscoveryFeed(try FeedRunner(machine, backend: engine.backend, interface: interface))
    }

    /// Begins a search.
    public func makeAsyncIterator() -> DiscoveryIterator<Element> {
        DiscoveryIterator(start)
    }
}
