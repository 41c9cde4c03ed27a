/// Finds services of one type, and tells when they go.
///
/// ```swift
/// for try await change in ServiceBrowser(try ServiceType("_http._tcp")) {
///     print(change.kind, change.value)            // until the loop is left or the task cancelled
/// }
/// ```
///
/// What is known already comes first. A service is found once, on however many interfaces, and the own ones are found
/// too. What is found was heard of some time ago, and may be gone (see ``ServiceResolver/reconfirm()``). Replaces
/// `CFNetServiceBrowser` and `CFNetServiceBrowserSearchForServices`.
public struct ServiceBrowser: AsyncSequence, Sendable {
    /// Found and removed services.
    public typealias Element = DiscoveryChange<ServiceInstance>
    /// What iterating throws.
    public typealias Failure = ServiceDiscoveryError

    /// What is looked for; the first subtype counts, if there is one.
    public let type: ServiceType
    /// Where; nil for the default domain, `local`.
    public let domain: ServiceDomain?
    /// The only interface looked at; nil for all.
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
        let domain = domain ?? .local
        let subtype = type.subtypes.first.map { [Array($0.utf8), Array("_sub".utf8)] } ?? []
        guard let name = DNSName(labels: subtype + type.labels + domain.name.labels) else {
            throw ServiceDiscoveryError(.invalidDomain, name: domain.description)
        }
        let machine = PointerMachine<ServiceInstance>([name]) { ServiceInstance(fullName: $0) }
        return DiscoveryFeed(try FeedRunner(machine, backend: try engine.backend(for: domain), interface: interface))
    }

    /// Begins a search.
    public func makeAsyncIterator() -> DiscoveryIterator<Element> {
        DiscoveryIterator(start)
    }
}
