/// Finds the domains in which services can be looked for, or published (RFC 6763 §11).
///
/// ```swift
/// for try await change in ServiceDomainBrowser(.browsing) { print(change.value) }      // local. comes first
/// ```
///
/// Needed only by programs that let people choose a domain. Replaces `CFNetServiceBrowserSearchForDomains`.
public struct ServiceDomainBrowser: AsyncSequence, Sendable {
    /// What the domains are for.
    public enum Purpose: Hashable, Sendable {
        /// Domains to look for services in.
        case browsing
        /// Domains to publish services in.
        case registration
    }

    /// Found and removed domains.
    public typealias Element = DiscoveryChange<ServiceDomain>
    /// What iterating throws.
    public typealias Failure = ServiceDiscoveryError

    /// What the domains are for.
    public let purpose: Purpose
    /// The domain whose list is read, in `local` or by name servers; nil for those of `local` and of the search domains in
    /// `/etc/resolv.conf`, of which those that cannot be asked are left out.
    public let listedIn: ServiceDomain?
    /// The only interface looked at in `local`; nil for all.
    public let interface: String?
    private let engine: DiscoveryEngine

    /// Describes a search; it begins with ``start()`` or with iterating.
    public init(
        _ purpose: Purpose, listedIn: ServiceDomain? = nil, interface: String? = nil,
        engine: DiscoveryEngine = .automatic
    ) {
        self.purpose = purpose
        self.listedIn = listedIn
        self.interface = interface
        self.engine = engine
    }

    /// Begins a search; `local` is found at once, unless the list of another domain is asked for.
    ///
    /// - Throws: ``ServiceDiscoveryError`` if the engine cannot begin.
    public func start() throws(ServiceDiscoveryError) -> DiscoveryFeed<Element> {
        // RFC 6763 §11: b, db and lb for browsing, r and dr for registration.
        let labels = purpose == .browsing ? ["b", "db", "lb"] : ["r", "dr"]
        let domains = listedIn.map { [$0] } ?? [.local] + engine.searchDomains
        let names = ServiceDomain.lists(labels, in: domains)
        if names.isEmpty { throw ServiceDiscoveryError(.invalidDomain, name: listedIn?.description) }
        let machine = PointerMachine<ServiceDomain>(
            names, optional: listedIn == nil ? names : [], initial: listedIn?.isLocal ?? true ? [.local] : [],
            limit: engine.backend.waitingChanges
        ) { ServiceDomain(name: $0) }
        return DiscoveryFeed(try FeedRunner(machine, backend: engine.backend, interface: interface))
    }

    /// Begins a search.
    public func makeAsyncIterator() -> DiscoveryIterator<Element> {
        DiscoveryIterator(start)
    }
}

extension ServiceDomain {
    /// The names whose pointers are lists of domains (RFC 6763 §11); those that would be too long are left out.
    static func lists(_ labels: [String], in domains: [ServiceDomain]) -> [DNSName] {
        domains.flatMap { domain in
            labels.compactMap { label in
                DNSName(labels: [label, "_dns-sd", "_udp"].map { Array($0.utf8) } + domain.name.labels)
            }
        }
    }
}
