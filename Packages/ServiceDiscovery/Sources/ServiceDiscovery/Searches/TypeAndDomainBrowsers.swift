internal import DNSWire

/// Finds the domains in which services can be browsed or published (RFC 6763 §11).
///
/// ```swift
/// for try await change in ServiceDomainBrowser(.browsing) { print(change.value) }      // local. comes first
/// ```
///
/// Needed only by programs that let users choose a domain. Replaces `CFNetServiceBrowserSearchForDomains`.
public struct ServiceDomainBrowser: AsyncSequence, Sendable {
    /// The purposes of a domain.
    public enum Purpose: Hashable, Sendable {
        /// Domains in which to browse for services.
        case browsing
        /// Domains in which to publish services.
        case registration
    }

    /// Whether to find domains for browsing or for publishing.
    public let purpose: Purpose
    /// The domain whose list is read. Nil for the lists of `local` and of the search domains of `/etc/resolv.conf`;
    /// those of them that cannot be read are ignored.
    public let listedIn: ServiceDomain?
    /// The only interface to use in `local`; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a search. It begins with ``start()`` or with iteration.
    public init(
        _ purpose: Purpose, listedIn: ServiceDomain? = nil, interface: String? = nil,
        engine: DiscoveryEngine = .automatic
    ) {
        self.purpose = purpose
        self.listedIn = listedIn
        self.interface = interface
        self.engine = engine
    }

    /// Begins the search. `local` is found at once, unless ``listedIn`` is another domain.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<DiscoveryChange<ServiceDomain>> {
        // RFC 6763 §11: b, db and lb for browsing, r and dr for registration.
        let labels = purpose == .browsing ? ["b", "db", "lb"] : ["r", "dr"]
        let domains = listedIn.map { [$0] } ?? [.local] + engine.searchDomains
        let names = ServiceDomain.lists(labels, in: domains)
        if names.isEmpty { throw ServiceDiscoveryError(.invalidDomain, name: listedIn?.description) }
        let machine = PointerMachine<ServiceDomain>(
            names, optional: listedIn == nil ? names : [], initial: listedIn?.isLocal ?? true ? [.local] : [],
            limit: engine.engine.maximumWaiting
        ) { ServiceDomain(name: $0) }
        return DiscoveryFeed(try SearchDriver(machine, engine: engine.engine, interface: interface))
    }

    /// Begins the search when the first element is requested.
    public func makeAsyncIterator() -> DiscoveryIterator<DiscoveryChange<ServiceDomain>> {
        DiscoveryIterator(start)
    }
}

extension ServiceDomain {
    /// The names whose PTR records list domains (RFC 6763 §11), without those that would be too long.
    static func lists(_ labels: [String], in domains: [ServiceDomain]) -> [DNSName] {
        domains.flatMap { domain in
            labels.compactMap { label in
                DNSName(labels: [label, "_dns-sd", "_udp"].map { Array($0.utf8) } + domain.name.labels)
            }
        }
    }
}

/// Finds the types of all services in a domain (RFC 6763 §9), for tools that list everything.
///
/// ```swift
/// for try await change in ServiceTypeBrowser() { print(change.value) }      // _http._tcp
/// ```
///
/// A type stays known for some time after its last service is gone. Replaces a search for `_services._dns-sd._udp.`
/// with `CFNetServiceBrowserSearchForServices`.
public struct ServiceTypeBrowser: AsyncSequence, Sendable {
    /// The domain to browse; nil for the default domain, `local`.
    public let domain: ServiceDomain?
    /// The only interface to use in `local`; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a search. It begins with ``start()`` or with iteration.
    public init(domain: ServiceDomain? = nil, interface: String? = nil, engine: DiscoveryEngine = .automatic) {
        self.domain = domain
        self.interface = interface
        self.engine = engine
    }

    /// Begins the search.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<DiscoveryChange<ServiceType>> {
        try start(eachInterface: false, isPatient: false)
    }

    /// Begins the search, for each interface or not. If it is patient, name servers that do not answer are asked again, and the
    /// search does not fail.
    package func start(
        eachInterface: Bool, isPatient: Bool
    ) throws(ServiceDiscoveryError) -> DiscoveryFeed<DiscoveryChange<ServiceType>> {
        let domain = domain ?? .local
        guard let name = DNSName(labels: ServiceRecords.enumeration + domain.name.labels) else {
            throw ServiceDiscoveryError(.invalidDomain, name: domain.description)
        }
        let machine = PointerMachine<ServiceType>(
            [name], eachInterface: eachInterface, limit: engine.engine.maximumWaiting
        ) { name in
            let labels = name.labels
            return labels.count > 2 ? ServiceType(labels: labels[..<2]) : nil
        }
        return DiscoveryFeed(
            try SearchDriver(machine, engine: engine.engine, interface: interface, isPatient: isPatient))
    }

    /// Begins the search when the first element is requested.
    public func makeAsyncIterator() -> DiscoveryIterator<DiscoveryChange<ServiceType>> {
        DiscoveryIterator(start)
    }
}
