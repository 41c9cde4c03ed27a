/// Finds the types of services that there are (RFC 6763 §9): for tools that show everything.
///
/// ```swift
/// for try await change in ServiceTypeBrowser() { print(change.value) }      // _http._tcp
/// ```
///
/// A type stays known for a while after its last service has gone. Replaces searching for
/// `_services._dns-sd._udp.` with `CFNetServiceBrowserSearchForServices`.
public struct ServiceTypeBrowser: AsyncSequence, Sendable {
    /// Found and removed types.
    public typealias Element = DiscoveryChange<ServiceType>
    /// What iterating throws.
    public typealias Failure = ServiceDiscoveryError

    /// Where; nil for the default domain, `local`.
    public let domain: ServiceDomain?
    /// The only interface looked at in `local`; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a search; it begins with ``start()`` or with iterating.
    public init(domain: ServiceDomain? = nil, interface: String? = nil, engine: DiscoveryEngine = .automatic) {
        self.domain = domain
        self.interface = interface
        self.engine = engine
    }

    /// Begins a search.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<Element> {
        let domain = domain ?? .local
        guard let name = DNSName(labels: ServiceRecords.enumeration + domain.name.labels) else {
            throw ServiceDiscoveryError(.invalidDomain, name: domain.description)
        }
        let machine = PointerMachine<ServiceType>([name], limit: engine.backend.waitingChanges) { name in
            let labels = name.labels
            return labels.count > 2 ? ServiceType(labels: labels[..<2]) : nil
        }
        return DiscoveryFeed(try FeedRunner(machine, backend: engine.backend, interface: interface))
    }

    /// Begins a search.
    public func makeAsyncIterator() -> DiscoveryIterator<Element> {
        DiscoveryIterator(start)
    }
}
